"""The world around the service, real but small: OTLP clients, and an OTLP endpoint for verdicts."""

from __future__ import annotations

import asyncio
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from concurrent import futures
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import grpc
import msgspec
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from spanward.app import Service, running
from spanward.config import Config, Endpoint, Receiver
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.specs.loader import load_text
from spanward.specs.spec import Spec

ANY_PORT = Endpoint("127.0.0.1", 0)
ANY_DOOR = Receiver(ANY_PORT)
HERE = Config(grpc=ANY_DOOR, http=ANY_DOOR, admin=ANY_PORT, store=None)
"""Everything on free ports of this machine."""

NEVER_RM = """
name: never-rm
severity: critical
labels: {team: payments}
assert: {never: {tool: {name: rm}}}
"""
TESTS_FIRST = """
name: tests-first
assert: {before: {first: {tool: {name: pytest}}, then: {tool: {name: push}}}}
"""


def specs_of(text: str) -> tuple[Spec, ...]:
    """Compiled specs; a mistake fails the test."""
    problems = Problems()
    specs = load_text(text, "specs.yaml", problems)
    assert not problems.errors, render_all(problems.errors)
    return specs


def settling(seconds: float) -> Config:
    """A configuration whose order-bound results settle soon."""
    return msgspec.structs.replace(HERE, limits=Limits(settle=seconds))


@asynccontextmanager
async def service(text: str, config: Config = HERE, **more: Any) -> AsyncIterator[Service]:
    """A running service with some specs."""
    async with running(config, specs_of(text), **more) as started:
        yield started


class Endpoints:
    """An OTLP/gRPC endpoint that keeps the spans that it is sent."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        self.arrived = threading.Event()
        self.port = 0

    def Export(self, request: ExportTraceServiceRequest, context: object) -> Any:  # noqa: N802
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [(scope.scope.name, span) for span in scope.spans]
        self.arrived.set()
        return ExportTraceServiceResponse()


@contextmanager
def otlp_endpoint() -> Iterator[Endpoints]:
    """A real OTLP/gRPC server for verdict spans."""
    taker = Endpoints()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(taker, server)
    taker.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield taker
    finally:
        server.stop(None).wait()


class Agent:
    """An agent whose spans leave through the SDK's own exporter, each at once."""

    def __init__(self, port: int, session: str = "s1") -> None:
        self._session = session
        self._provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}", insecure=True)
        self._provider.add_span_processor(SimpleSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("agent")

    def calls(self, tool: str, **attributes: Any) -> None:
        """Call a tool; returns when the span was exported."""
        known = {"hangar.session.id": self._session, "gen_ai.tool.name": tool, **attributes}
        with self._tracer.start_as_current_span("tool.call", attributes=known):
            pass

    def close(self) -> None:
        self._provider.shutdown()


def export(port: int, data: bytes, signal: str = "trace", **options: Any) -> Any:
    """Send raw bytes to a service as a plain unary client; the response bytes. Raises RpcError."""
    names = {"trace": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}
    method = f"/opentelemetry.proto.collector.{names[signal]}/Export"
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options.pop("channel", None)) as way:
        return exporting(way, method)(data, timeout=20, **options)


def exporting(way: grpc.Channel, method: str) -> Any:
    """A method of raw bytes over an open channel."""
    return way.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)


def trailers_of(error: Any) -> dict[str, bytes]:
    """The trailing metadata of a call that failed."""
    return dict(error.trailing_metadata())


def page(port: int, path: str, headers: dict[str, str] | None = None) -> str:
    """A page of the admin server."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers or {})
    with urllib.request.urlopen(request) as answer:
        text: str = answer.read().decode()
        return text


def answer(
    port: int, path: str, headers: dict[str, str] | None = None, *, post: bool = False
) -> tuple[int, str]:
    """The status and the text that the admin server answers with, whatever they are."""
    data = b"" if post else None
    url = f"http://127.0.0.1:{port}{path}"
    request = urllib.request.Request(url, data, headers or {})
    try:
        with urllib.request.urlopen(request) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def figures(port: int) -> dict[str, float]:
    """All samples of ``/metrics``, by name and labels as they are written."""
    lines = [line for line in page(port, "/metrics").splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


async def apart(work: Any, *args: Any, **more: Any) -> Any:
    """Do blocking work beside the service's loop."""
    return await asyncio.to_thread(work, *args, **more)


async def at(door: Any, work: Any) -> Any:
    """Do blocking work with a door while it is open, given its port; what the work gives."""
    port = await door.start()
    try:
        return await apart(work, port)
    finally:
        await door.stop(0)


def exposition() -> list[str]:
    """The lines of ``/metrics`` of a service to which nothing was sent."""

    async def story() -> list[str]:
        async with service(NEVER_RM) as running:
            text: str = await apart(page, running.admin_port, "/metrics")
            return text.splitlines()

    return asyncio.run(story())


def span(name: str, number: int = 1, **attributes: str) -> Span:
    """A span of the native dialect, as a client would encode it."""
    made = Span(
        trace_id=(1).to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        name=name,
        start_time_unix_nano=1_700_000_000_000_000_000 + number * 1000,
        end_time_unix_nano=1_700_000_000_000_000_000 + number * 1000 + 500,
    )
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def call(tool: str, number: int = 1, session: str = "s1") -> Span:
    """A native tool call."""
    return span("tool.call", number, hangar__session__id=session, gen_ai__tool__name=tool)


def request(*spans: Span, scope: str = "agent") -> bytes:
    """An export request of some spans."""
    message = ExportTraceServiceRequest()
    by_scope = message.resource_spans.add().scope_spans.add()
    by_scope.scope.name = scope
    by_scope.spans.extend(spans)
    return message.SerializeToString()
