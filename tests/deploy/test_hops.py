"""Telemetry by way of a real hop: another OTLP agent (rotel) in the place of a Collector.

It sends a signal to one place only, so what is shown of a tee is each of its ways, not the copying.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanward.config import Endpoint, Receiver, SpanEmitter
from tests.deploy.tools import tool
from tests.service.world import (
    HERE,
    NEVER_RM,
    apart,
    call,
    export,
    figures,
    otlp_endpoint,
    request,
    service,
    span,
)

FAILED = (
    'spanward_verdicts_total{operator="never",result="fail",severity="critical",spec="never-rm"}'
)
SPANS = 'spanward_spans_received_total{transport="grpc"}'
LOGS = 'spanward_log_records_received_total{transport="grpc"}'
OURS = "spanward_own_verdicts_total"
PATIENCE = 20.0


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Hop(msgspec.Struct, frozen=True):
    """A running hop: where it listens."""

    grpc: int
    http: int


@contextmanager
def hop(to: int) -> Iterator[Hop]:
    """An OTLP agent that hands on what it gets to a port, by gRPC, in small batches."""
    ports = Hop(free_port(), free_port())
    words = [
        *(tool("rotel"), "start", "--exporter", "otlp", "--otlp-exporter-protocol", "grpc"),
        *("--otlp-exporter-endpoint", f"http://127.0.0.1:{to}", "--batch-timeout", "100ms"),
        *("--otlp-grpc-endpoint", f"127.0.0.1:{ports.grpc}"),
        *("--otlp-http-endpoint", f"127.0.0.1:{ports.http}"),
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for port in (ports.grpc, ports.http):
            _listens(port)
        yield ports
    finally:
        process.terminate()
        process.wait(timeout=30)


def _listens(port: int) -> None:
    """Wait for a port to be open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens on {port}"
            time.sleep(0.05)
        else:
            return


async def until(admin: int, name: str, least: float) -> dict[str, float]:
    """Wait for a figure of ``/metrics``; all of them then."""
    async with asyncio.timeout(PATIENCE):
        while (found := await apart(figures, admin)).get(name, 0.0) < least:  # noqa: ASYNC110  a page
            await asyncio.sleep(0.05)
    return found


def send(way: str, ports: Hop, data: bytes, signal: str = "trace") -> None:
    """Send to a hop by gRPC or by HTTP."""
    if way == "grpc":
        export(ports.grpc, data, signal)
        return
    path = {"trace": "traces", "logs": "logs"}[signal]
    address = f"http://127.0.0.1:{ports.http}/v1/{path}"
    kind = {"Content-Type": "application/x-protobuf"}
    urllib.request.urlopen(urllib.request.Request(address, data, kind), timeout=10).close()


@pytest.mark.parametrize("way", ["grpc", "http"])
def test_a_violation_and_its_verdict_go_by_way_of_hops(way: str) -> None:
    """Agent, hop, spanward, hop, backend: the verdict is in the agent's trace."""

    async def story() -> None:
        with otlp_endpoint() as backend, hop(backend.port) as behind:
            emitter = SpanEmitter(f"http://127.0.0.1:{behind.grpc}")
            async with service(NEVER_RM, msgspec.structs.replace(HERE, spans=emitter)) as running:
                with hop(running.grpc_port) as before:
                    agents = call("rm", 1)
                    await apart(send, way, before, request(agents))
                    assert await apart(backend.arrived.wait, PATIENCE)
                    found = await apart(figures, running.admin_port)
            ((_, verdict),) = backend.spans
            assert verdict.name == "spanward.verdict"
            assert (verdict.trace_id, verdict.parent_span_id) == (agents.trace_id, agents.span_id)
            assert (found[FAILED], found[SPANS]) == (1, 1)

    asyncio.run(story())


@pytest.mark.parametrize("way", ["grpc", "http"])
def test_logs_come_too(way: str) -> None:
    """Some runtimes tell of arguments and approvals in logs only."""
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = "something"
    record.time_unix_nano = 1_700_000_000_000_000_000

    async def story() -> None:
        async with service(NEVER_RM) as running:
            with hop(running.grpc_port) as before:
                await apart(send, way, before, message.SerializeToString(), "logs")
                await until(running.admin_port, LOGS, 1)

    asyncio.run(story())


def test_what_is_sent_while_spanward_is_away_arrives_later() -> None:
    """The hop keeps it and tries again."""

    async def story() -> None:
        port = free_port()
        with hop(port) as before:
            for number in (1, 2, 3):
                await apart(send, "grpc", before, request(call("rm", number, f"s{number}")))
            await asyncio.sleep(1)  # it tries in vain
            config = msgspec.structs.replace(HERE, grpc=Receiver(Endpoint("127.0.0.1", port)))
            async with service(NEVER_RM, config) as running:
                found = await until(running.admin_port, FAILED, 3)
                assert found[FAILED] == 3

    asyncio.run(story())


def test_verdicts_that_come_back_are_dropped() -> None:
    """A hop that sends everything to spanward, its own verdicts too, makes no circle."""

    async def story() -> None:
        port = free_port()
        with hop(port) as circle:
            emitter = SpanEmitter(f"http://127.0.0.1:{circle.grpc}")
            config = msgspec.structs.replace(
                HERE, grpc=Receiver(Endpoint("127.0.0.1", port)), spans=emitter
            )
            async with service(NEVER_RM, config) as running:
                await apart(send, "grpc", circle, request(call("rm")))
                await until(running.admin_port, OURS, 1)
                await asyncio.sleep(1)
                found = await apart(figures, running.admin_port)
                assert (found[FAILED], found[OURS], found[SPANS]) == (1, 1, 2)

    asyncio.run(story())


def test_the_session_must_stay_on_the_record() -> None:
    """Why ``balance.yaml`` groups by a copy: an id in the resource alone is no session's."""
    kept, moved = ExportTraceServiceRequest(), ExportTraceServiceRequest()
    kept.ParseFromString(request(call("rm", 1, "one")))
    without = span("tool.call", 2, gen_ai__tool__name="rm")
    without.trace_id = (2).to_bytes(16, "big")
    moved.ParseFromString(request(without))
    for message, key in ((kept, "spanward.key"), (moved, "gen_ai.conversation.id")):
        resource = message.resource_spans[0].resource
        resource.attributes.add(key=key).value.string_value = "one"

    async def story() -> None:
        async with service(NEVER_RM) as running:
            for message in (kept, moved):
                await apart(export, running.grpc_port, message.SerializeToString())
            found = await apart(figures, running.admin_port)
            assert found[FAILED] == 2, "the first is of session one, the second of its own trace"

    asyncio.run(story())
