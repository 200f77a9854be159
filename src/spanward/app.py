"""The service put together: what starts and stops in which order.

Start: emitters, worker, admin, doors; ready only when the doors are open. Stop: not ready, the
doors close, what was admitted is judged, announcements go out, the admin server last; all of it
within the drain timeout. What is left behind then is said.
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
from typing import Final, Protocol

import msgspec

import spanward
from spanward.admin.metrics import ServiceMetrics
from spanward.admin.server import AdminServer, Pages
from spanward.admin.status import Status
from spanward.admin.token import Token
from spanward.config import DEFAULT_SPECS, Config, Endpoint, Receiver
from spanward.dialects import DIALECTS, Dialect
from spanward.emitters.alertmanager import AlertmanagerPush
from spanward.emitters.jsonl import JsonLines
from spanward.emitters.outlet import Emitter, Outlet
from spanward.emitters.spans import VerdictSpans, exporter
from spanward.memory import MemoryLimits
from spanward.receive.admission import Admission
from spanward.receive.entrance import Entrance
from spanward.receive.grpc import GrpcDoor
from spanward.receive.http import HttpDoor
from spanward.receive.senders import Gate, Tokens
from spanward.receive.tls import Certificates
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


class Door(Protocol):
    """What lets telemetry in: ``start`` gives its port, ``stop`` finishes what is being read."""

    async def start(self) -> int: ...
    async def stop(self, grace: float) -> None: ...


class Service(msgspec.Struct, frozen=True):
    """A running service: where it can be reached, its worker, and whom to ask for a reload."""

    grpc_port: int
    http_port: int
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
    Raises ``OSError`` when an address cannot be had or a file cannot be written; nothing runs then.
    """
    entrances = _entrance(config.grpc), _entrance(config.http)
    token = None if config.token_file is None else Token(config.token_file)
    store = store or open_store(config)
    outlets = [Outlet(emitter) for emitter in (*_emitters(config), *more_emitters)]
    memory = _memory(config)
    worker = Worker(specs, config.limits, dialects, store, outlets, memory)
    doors = _doors(config, entrances, worker, memory)
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
        grpc_port, http_port = [await door.start() for door in doors]
        status.endpoints = {
            "otlp_grpc": str(Endpoint(config.grpc.endpoint.host, grpc_port)),
            "otlp_http": str(Endpoint(config.http.endpoint.host, http_port)),
            "admin": str(Endpoint(config.admin.host, admin_port)),
        }
        admin.ready = True
        yield Service(grpc_port, http_port, admin_port, worker, watch)
    finally:
        admin.ready = False
        watching.cancel()
        await _stop(doors, worker, outlets, drain=drain, within=config.drain_timeout)
        await admin.stop()


async def _reload(reloader: Reloader) -> tuple[int, str]:
    """Reload for somebody who asks by HTTP: the status and the text of the answer."""
    outcome = await reloader.reload()
    text = f"{outcome.words}\n{outcome.shown}".rstrip()
    if outcome.good:
        return _OK, text
    return _MISTAKEN if outcome.shown else _NOT_NOW, text


async def _stop(
    doors: Sequence[Door],
    worker: Worker,
    outlets: Sequence[Outlet],
    *,
    drain: bool,
    within: float,
) -> None:
    """Close the doors, then what is behind them, beside the loop: the admin pages still answer."""
    deadline = time.monotonic() + within

    def left() -> float:
        return max(0.0, deadline - time.monotonic())

    # Half: an open health watch or a silent sender must not use up the emitters' time.
    await asyncio.gather(*(door.stop(within / 2) for door in doors))
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


def _entrance(receiver: Receiver) -> Entrance:
    """What a door needs to know. Raises ``OSError`` for files that are of no use."""
    tokens, tls = receiver.bearer_token_file, receiver.tls
    return Entrance(
        host=receiver.endpoint.host,
        port=receiver.endpoint.port,
        max_message_mib=receiver.max_message_mib,
        gate=Gate(None if tokens is None else Tokens(tokens)),
        certificates=None if tls is None else Certificates(tls),
        max_connection_age=receiver.max_connection_age,
    )


def _memory(config: Config) -> MemoryLimits:
    soft, hard = (
        None if mib is None else mib * _MIB
        for mib in (config.memory.soft_mib, config.memory.hard_mib)
    )
    limits = MemoryLimits(soft, hard)
    limits.full()  # so that a system that does not tell is told of now
    return limits


def _doors(
    config: Config, entrances: tuple[Entrance, Entrance], worker: Worker, memory: MemoryLimits
) -> tuple[Door, Door]:
    """The doors for telemetry, which share their room."""
    grpc, http = entrances
    largest = max(grpc.max_message_mib, http.max_message_mib) * _MIB
    admission = Admission(
        config.max_requests, config.max_queue_mib * _MIB, largest, full=memory.full
    )
    return GrpcDoor(grpc, admission, worker), HttpDoor(http, admission, worker)


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
    for name, receiver in (("OTLP/gRPC", config.grpc), ("OTLP/HTTP", config.http)):
        known = receiver.bearer_token_file is not None or (
            receiver.tls is not None and receiver.tls.client_ca is not None
        )
        if not receiver.endpoint.is_loopback and not known:
            log.warning(
                "the %s endpoint %s can be reached from other machines, %s: "
                "anybody who reaches it can send spans",
                name,
                receiver.endpoint,
                "without TLS" if receiver.tls is None else "and asks nobody for a name",
            )
    if not config.admin.is_loopback:
        log.warning(
            "the admin endpoint %s can be reached from other machines, without TLS: "
            "anybody who reaches it can read verdicts",
            config.admin,
        )
