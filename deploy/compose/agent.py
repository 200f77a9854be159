"""A sample agent: sessions of a few tool calls, told as the GenAI conventions have it.

Every third session deletes what it must not. Where it sends to is said by the usual ``OTEL_``
variables. ``agent.py 5`` makes five sessions and ends; without a number it goes on.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
import uuid
from typing import Final

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

GOOD: Final = (("read_file", {"path": "README.md"}), ("run_shell", {"command": "make test"}))
BAD: Final = (*GOOD, ("delete_file", {"path": "build/app"}))
PAUSE: Final = 5.0
"""Seconds between two sessions."""


def session(tracer: Tracer, calls: tuple[tuple[str, dict[str, str]], ...]) -> None:
    """One session of an agent: a root span, and one below it for each tool call."""
    shared = {"gen_ai.conversation.id": f"demo-{uuid.uuid4().hex[:8]}"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sample", **shared}
    with tracer.start_as_current_span("invoke_agent sample", attributes=agent):
        for tool, arguments in calls:
            call = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": uuid.uuid4().hex,
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                **shared,
            }
            with tracer.start_as_current_span(f"execute_tool {tool}", attributes=call):
                time.sleep(0.01)  # the tool runs


def main() -> None:
    """Make sessions until they are enough, or until it is told to stop."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("sample-agent")
    numbers = range(int(sys.argv[1])) if len(sys.argv) > 1 else itertools.count()
    try:
        for number in numbers:
            session(tracer, BAD if number % 3 == 2 else GOOD)  # noqa: PLR2004  every third
            if len(sys.argv) == 1:
                time.sleep(PAUSE)
    finally:
        provider.shutdown()


if __name__ == "__main__":
    main()
