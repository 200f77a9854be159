"""The service put together: what starts and stops in which order.

Start: emitters, worker, admin, door; ready only when the door is open. Stop: not ready, the door
closes, what was admitted is judged, announcements go out, the admin server last.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

import spanward
from spanward.admin.metrics import ServiceMetrics
from spanward.admin.server import AdminServer
from spanward.config import Config
from spanward.dialects import DIALECTS, Dialect
from spanward.emitters.jsonl import JsonLines
from spanward.emitters.outlet import Emitter, Outlet
from spanward.emitters.spans import VerdictSpans, exporter
from spanward.emitters.tally import VerdictTally
from spanward.receive.grpc import GrpcDoor
from spanward.specs.spec import Spec
from spanward.stores.memory import MemoryStore
from spanward.verdict import Announcement
from spanward.worker import Worker

log = logging.getLogger(__name__)

_MIB = 1024 * 1024


class Service(msgspec.Struct, frozen=True):
    """A running service: where it can be reached, and its worker."""

    grpc_port: int
    admin_port: int
    worker: Worker


@asynccontextmanager
async def running(
    config: Config,
    specs: Sequence[Spec],
    *,
    drain: bool = False,
    dialects: Iterable[Dialect] = tuple(DIALECTS.values()),
    more_emitters: Iterable[Emitter] = (),
) -> AsyncIterator[Service]:
    """A service that runs for the time of the context, and stops in good order.

    ``drain`` makes every open result final on the way out. Raises ``OSError`` when an address
    cannot be had or a file cannot be written; nothing runs then.
    """
    outlets = [Outlet(emitter) for emitter in (*_emitters(config), *more_emitters)]
    tally = VerdictTally(spec.name for spec in specs)

    def announce(
        announcements: Sequence[Announcement], violated: Sequence[str], at_ns: int
    ) -> None:
        tally.take(announcements, violated, at_ns)
        if announcements:
            for outlet in outlets:
                outlet.put(announcements, at_ns)

    store = MemoryStore()
    worker = Worker(
        specs,
        config.limits,
        dialects,
        store,
        announce,
        most_requests=config.max_requests,
        most_bytes=config.max_queue_mib * _MIB,
    )
    worker.tally.evaluation_seconds = tally.evaluation.observe
    door = GrpcDoor(str(config.grpc), config.max_message_mib, worker)
    admin = AdminServer(
        config.admin.host,
        config.admin.port,
        config.allowed_hosts,
        ServiceMetrics(spanward.__version__, specs, worker, tally, outlets),
        _status(specs, worker),
    )
    worker.start()
    try:
        _warn_of_exposure(config)
        admin_port = await admin.start()
        grpc_port = await door.start()
        admin.ready = True
        yield Service(grpc_port, admin_port, worker)
    finally:
        admin.ready = False
        await door.stop(config.drain_timeout)
        worker.stop(drain=drain)
        store.close()
        for outlet in outlets:
            outlet.close(config.drain_timeout)
        await admin.stop()


def _emitters(config: Config) -> list[Emitter]:
    emitters: list[Emitter] = []
    if config.spans is not None:
        to = exporter(config.spans.endpoint, config.spans.protocol)
        results = frozenset(config.spans.results)
        emitters.append(VerdictSpans(to, results, spanward.__version__))
    if config.jsonl == "-":
        emitters.append(JsonLines(sys.stdout, keep_open=True))
    elif config.jsonl is not None:
        out = Path(config.jsonl).open("a", encoding="utf-8")  # noqa: SIM115  the emitter closes it
        emitters.append(JsonLines(out, keep_open=False))
    return emitters


def _warn_of_exposure(config: Config) -> None:
    for name, endpoint in (("OTLP", config.grpc), ("admin", config.admin)):
        if not endpoint.is_loopback:
            log.warning(
                "the %s endpoint %s can be reached from other machines, without TLS: "
                "anybody who reaches it can send spans or read verdicts",
                name,
                endpoint,
            )


def _status(specs: Sequence[Spec], worker: Worker) -> Callable[[], dict[str, Any]]:
    started = time.monotonic()
    described = [
        {
            "name": spec.name,
            "operator": spec.operator_name,
            "unit": spec.unit,
            "severity": spec.severity,
            "sha256": spec.sha256,
        }
        for spec in specs
    ]

    def status() -> dict[str, Any]:
        return {
            "version": spanward.__version__,
            "uptime_seconds": round(time.monotonic() - started, 3),
            "specs": described,
            "sessions_active": worker.gauges.sessions_active,
            "units_open": worker.gauges.units_open,
            "queue_length": worker.queue_length,
        }

    return status
