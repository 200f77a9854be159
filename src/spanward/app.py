"""The service put together: what starts and stops in which order.

Start: emitters, worker, admin, door; ready only when the door is open. Stop: not ready, the door
closes, what was admitted is judged, announcements go out, the admin server last; all of it within
the drain timeout. What is left behind then is said.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

import spanward
from spanward.admin.metrics import ServiceMetrics
from spanward.admin.server import AdminServer, Pages
from spanward.admin.status import Status
from spanward.admin.token import Token
from spanward.config import DEFAULT_SPECS, Config, Endpoint
from spanward.dialects import DIALECTS, Dialect
from spanward.emitters.alertmanager import AlertmanagerPush
from spanward.emitters.jsonl import JsonLines
from spanward.emitters.outlet import Emitter, Outlet
from spanward.emitters.spans import VerdictSpans, exporter
from spanward.receive.admission import Admission
from spanward.receive.grpc import GrpcDoor
from spanward.reload import Reloader, Watch
from spanward.specs.spec import Spec
from spanward.stores import Store
from spanward.stores.memory import MemoryStore
from spanward.stores.sqlite import SqliteStore
from spanward.worker import Worker

log = logging.getLogger(__name__)

_MIB: Final = 1024 * 1024
_OK, _MISTAKEN, _NOT_NOW = 200, 422, 503
"""HTTP: reloaded; mistakes in the specs; the store cannot save just now."""
_LOOK: Final = 2.0
"""Seconds between looks at spec files that are watched."""
_LEAST: Final = 0.5
"""Seconds that each step of a stop has in any case, however long the ones before took."""


class Service(msgspec.Struct, frozen=True):
    """A running service: where it can be reached, its worker, and whom to ask for a reload."""

    grpc_port: int
    admin_port: int
    worker: Worker
    watch: Watch


@asynccontextmanager
async def running(
    config: Config,
    specs: Sequence[Spec],
    *,
    reading: bytes = b"",
    drain: bool = False,
    dialects: Iterable[Dialect] = tuple(DIALECTS.values()),
    more_emitters: Iterable[Emitter] = (),
    store: Store | None = None,
) -> AsyncIterator[Service]:
    """A service that runs for the time of the context, and stops in good order.

    ``reading`` is the digest of the files that the specs are from. ``drain`` makes every open
    result final on the way out. Without ``store`` it is the one that the configuration names.
    Raises ``OSError`` when an address
    cannot be had or a file cannot be written; nothing runs then.
    """
    token = None if config.token_file is None else Token(config.token_file)
    store = store or open_store(config)
    outlets = [Outlet(emitter) for emitter in (*_emitters(config), *more_emitters)]
    worker = Worker(specs, config.limits, dialects, store, outlets)
    admission = Admission(
        config.max_requests, config.max_queue_mib * _MIB, config.max_message_mib * _MIB
    )
    door = GrpcDoor(str(config.grpc), config.max_message_mib, admission, worker)
    since = time.monotonic()
    reloader = Reloader(config.specs or (DEFAULT_SPECS,), worker, time.time, reading)
    watch = Watch(reloader, _LOOK if config.watch else None)
    status = Status(worker, reloader.figures, lambda: time.monotonic() - since)
    admin = AdminServer(
        config.admin.host,
        config.admin.port,
        config.allowed_hosts,
        ServiceMetrics(
            spanward.__version__, worker, reloader.figures, outlets, config.max_requests
        ),
        Pages(status.tell, partial(_reload, reloader), token, config.admin.is_loopback),
    )
    worker.start()
    watching = asyncio.create_task(watch.run())
    try:
        _warn_of_exposure(config)
        admin_port = await admin.start()
        grpc_port = await door.start()
        status.endpoints = {
            "otlp_grpc": str(Endpoint(config.grpc.host, grpc_port)),
            "admin": str(Endpoint(config.admin.host, admin_port)),
        }
        admin.ready = True
        yield Service(grpc_port, admin_port, worker, watch)
    finally:
        admin.ready = False
        watching.cancel()
        await _stop(door, worker, outlets, drain=drain, within=config.drain_timeout)
        await admin.stop()


async def _reload(reloader: Reloader) -> tuple[int, str]:
    """Reload for somebody who asks by HTTP: the status and the text of the answer."""
    outcome = await reloader.reload()
    text = f"{outcome.words}\n{outcome.shown}".rstrip()
    if outcome.good:
        return _OK, text
    return _MISTAKEN if outcome.shown else _NOT_NOW, text


async def _stop(
    door: GrpcDoor,
    worker: Worker,
    outlets: Sequence[Outlet],
    *,
    drain: bool,
    within: float,
) -> None:
    """Close the door, then what is behind it, beside the loop: the admin pages still answer."""
    deadline = time.monotonic() + within

    def left() -> float:
        return max(0.0, deadline - time.monotonic())

    # Half: an open health watch or a silent sender must not use up the emitters' time.
    await door.stop(within / 2)
    finished = await asyncio.to_thread(worker.stop, drain=drain, timeout=max(left(), _LEAST))
    if not finished:
        log.error("the worker did not finish in time: what it was judging was not acknowledged")
    until = max(left(), _LEAST)
    waiting = await asyncio.gather(*(asyncio.to_thread(each.close, until) for each in outlets))
    for outlet, number in zip(outlets, waiting, strict=True):
        if number:
            log.error("%d announcements did not go out through %s", number, outlet.name)
    if finished:
        await asyncio.to_thread(worker.close)


def open_store(config: Config) -> Store:
    """The store that is configured. Raises ``OSError`` when it cannot be had."""
    if config.store is None:
        return MemoryStore()
    return SqliteStore(config.store, time.strftime("unreadable-%Y%m%dT%H%M%SZ", time.gmtime()))


def _emitters(config: Config) -> list[Emitter]:
    emitters: list[Emitter] = []
    if config.spans is not None:
        to = exporter(config.spans.endpoint, config.spans.protocol)
        results = frozenset(config.spans.results)
        emitters.append(VerdictSpans(to, results, spanward.__version__))
    if config.alertmanager is not None:
        push = config.alertmanager
        emitters.append(AlertmanagerPush(push.url, push.resolve_after, time.time))
    if config.jsonl == "-":
        emitters.append(JsonLines(sys.stdout.buffer, keep_open=True))
    elif config.jsonl is not None:
        out = Path(config.jsonl).open("ab")  # noqa: SIM115  the emitter closes it
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
