"""A real service on loopback: what it announces of the requests that a gRPC client sends it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import grpc.aio
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from spanward.app import running
from spanward.config import Config, Endpoint, Receiver
from spanward.dialects import DIALECTS, Dialect
from spanward.engine.limits import Limits
from spanward.specs.spec import Spec
from spanward.verdict import Announcement

from .keyed import Keyed
from .wire import Request

_IN_MEMORY = Path("/dev/shm")  # noqa: S108  a folder of our own is made in it
"""Where a file costs no wait for a disk; that it is really saved is for other tests to show."""
ANY_PORT = Endpoint("127.0.0.1", 0)
ANY_DOOR = Receiver(ANY_PORT)


class Sink:
    """An emitter that keeps what it is told."""

    name = "sink"

    def __init__(self) -> None:
        self.announced: list[Announcement] = []

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        self.announced += announcements
        return True

    def close(self) -> None:
        """Nothing is left to do."""


def announced(
    specs: Sequence[Spec], requests: Iterable[Request], *, max_open: int = 100_000
) -> list[Announcement]:
    """All that a service announces from its start to its drained end, requests one by one."""
    limits = Limits(settle=0.0, max_open=max_open)
    sink = Sink()
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as folder:
        store = Path(folder) / "spanward.db"
        config = Config(grpc=ANY_DOOR, http=ANY_DOOR, admin=ANY_PORT, limits=limits, store=store)
        asyncio.run(_run(config, specs, requests, sink))
    return sink.announced


async def _run(
    config: Config, specs: Sequence[Spec], requests: Iterable[Request], sink: Sink
) -> None:
    dialects: tuple[Dialect, ...] = (Keyed(), *DIALECTS.values())
    async with (
        running(config, specs, drain=True, dialects=dialects, more_emitters=[sink]) as service,
        grpc.aio.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel,
    ):
        traces, logs = TraceServiceStub(channel), LogsServiceStub(channel)
        for request in requests:
            stub = logs if isinstance(request, ExportLogsServiceRequest) else traces
            answer = await stub.Export(request)
            assert not answer.HasField("partial_success"), answer
