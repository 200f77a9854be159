"""An agent on the Python SDK: ``python agent.py TRANSPORT NAME``.

It makes as many tool calls as each line of its standard input says, and ends with it. The exporter
is told where to send by the environment, as that of any agent is. The calls are spread over the
sessions NAME-0 … NAME-3; each is a turn of its own.
"""

from __future__ import annotations

import sys

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

SESSIONS = 4
EXPORTERS: dict[str, type[SpanExporter]] = {"grpc": GrpcExporter, "http": HttpExporter}


def main() -> None:
    """See the module's docstring."""
    transport, name = sys.argv[1:3]
    provider = TracerProvider()
    # Small batches, so that many are on their way when the service goes.
    provider.add_span_processor(
        BatchSpanProcessor(
            EXPORTERS[transport](), schedule_delay_millis=50, max_export_batch_size=16
        )
    )
    tracer = provider.get_tracer("agent")
    number = 0
    for line in sys.stdin:
        for _ in range(int(line)):
            attributes: dict[str, str | int] = {
                "hangar.session.id": f"{name}-{number % SESSIONS}",
                "hangar.turn": number,
                "gen_ai.tool.name": "work",
            }
            with tracer.start_as_current_span("tool.call", attributes=attributes):
                number += 1
    provider.force_flush(60_000)
    provider.shutdown()


if __name__ == "__main__":
    main()
