"""The gRPC door: OTLP traces and logs, and health.

Requests are taken as raw bytes, so that malformed ones can be told from faults of ours; as a
stream of one, so that capacity is looked at before the message is read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from spanward.receive.admission import Admission, Place
from spanward.receive.entrance import Entrance
from spanward.receive.handover import Taker, handed_over
from spanward.receive.senders import Gate, UnknownSender
from spanward.receive.status import RESPONSES, retry_trailers
from spanward.receive.tls import name_of_grpc_peer
from spanward.request import Signal

TRACE_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
LOGS_SERVICE: Final = "opentelemetry.proto.collector.logs.v1.LogsService"

log = logging.getLogger(__name__)

_MIB: Final = 1024 * 1024
_OVERLOADED: Final = "overloaded, try again"
_UNKNOWN: Final = "a valid token is needed, as in authorization: Bearer TOKEN"
_OPTIONS: Final[list[tuple[str, int]]] = [
    ("grpc.so_reuseport", 0),  # else a second process would split sessions, silently
    # What is not read yet waits with its sender, not here. (40 requests of 56 MiB at once, most of
    # them refused: 1,320 MiB with a window that grows, as is usual, 510 MiB with this one.)
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 512 * 1024),
    # Connections that are half open, or say nothing for long, are ended (milliseconds).
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.max_connection_idle_ms", 600_000),
    # Clients may ask themselves whether we are there, as often as the Go SDK does at most.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
]


_Context = grpc.aio.ServicerContext[Any, Any]


class GrpcDoor:
    """Serves an entrance until ``stop``. Lives in one asyncio loop."""

    def __init__(self, entrance: Entrance, admission: Admission, taker: Taker) -> None:
        self._entrance = entrance
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # set at run time
        options = [
            *_OPTIONS,
            ("grpc.max_receive_message_length", entrance.max_message_mib * _MIB),
        ]
        if entrance.max_connection_age is not None:
            options.append(("grpc.max_connection_age_ms", int(entrance.max_connection_age * 1000)))
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers(
            (
                _service(TRACE_SERVICE, _Export("traces", admission, entrance.gate, taker)),
                _service(LOGS_SERVICE, _Export("logs", admission, entrance.gate, taker)),
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self) -> int:
        """Open the door; the port. Raises ``OSError`` when the address cannot be had."""
        try:
            port = self._add_port()
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self._entrance}: is the port in use?") from error
        await self._server.start()
        await self._tell_health(health_pb2.HealthCheckResponse.SERVING)
        return port

    def _add_port(self) -> int:
        certificates = self._entrance.certificates
        if certificates is None:
            return self._server.add_insecure_port(str(self._entrance))
        return self._server.add_secure_port(str(self._entrance), certificates.credentials())

    async def stop(self, grace: float) -> None:
        """Tell that the service goes, take nothing new, and finish what is being read."""
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.stop(grace)

    async def _tell_health(self, status: Any) -> None:
        for service in ("", TRACE_SERVICE, LOGS_SERVICE):
            await self._health.set(service, status)


class _Export:
    """The ``Export`` method of one signal."""

    def __init__(self, signal: Signal, admission: Admission, gate: Gate, taker: Taker) -> None:
        self._signal = signal
        self._admission = admission
        self._gate = gate
        self._taker = taker

    async def export(self, messages: AsyncIterator[bytes], context: _Context) -> bytes:
        sender = await self._sender(context)
        place = await self._admission.enter(sender)
        if place is None:
            await self._refuse(context)
        data = await self._read(messages, place, context)
        answer = await handed_over(self._taker, place, data, self._signal, "grpc", sender=sender)
        if answer.malformed:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, answer.malformed)
        if answer.too_large:  # without RetryInfo: senders drop what they would send in vain
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, answer.too_large)
        if answer.unsaved:
            await self._abort_for_now(context, answer.unsaved)
        if answer.failed:
            await context.abort(grpc.StatusCode.INTERNAL, answer.failed)
        return RESPONSES[self._signal](answer.rejected, answer.reason).SerializeToString()

    async def _sender(self, context: _Context) -> str | None:
        said = dict(context.invocation_metadata() or ())
        authorization = said.get("authorization")
        try:
            return self._gate.sender(
                authorization if isinstance(authorization, str) else None,
                name_of_grpc_peer(context.auth_context()),
            )
        except UnknownSender:
            self._taker.tally.refused["unauthenticated"] += 1
            log.warning("a call by gRPC from %s has no valid token", context.peer())
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, _UNKNOWN)

    async def _refuse(self, context: _Context) -> NoReturn:
        self._taker.tally.refused["overloaded"] += 1
        await self._abort_for_now(context, _OVERLOADED)

    async def _abort_for_now(self, context: _Context, words: str) -> NoReturn:
        """Have the sender try again in a moment."""
        await context.abort(grpc.StatusCode.UNAVAILABLE, words, retry_trailers(words))

    async def _read(self, messages: AsyncIterator[bytes], place: Place, context: _Context) -> bytes:
        """The one message, in its place. Aborts the call when there is not exactly one in time."""
        data = None
        try:
            async with asyncio.timeout(self._admission.reading):
                data = await _only(messages)
        except TimeoutError:
            self._taker.tally.refused["slow"] += 1
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "the message did not arrive")
        finally:
            if data is None:
                place.leave()
        if data is None:
            self._taker.tally.refused["not_one_message"] += 1
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "one message is expected")
        place.holds(len(data))
        return data


async def _only(messages: AsyncIterator[bytes]) -> bytes | None:
    """The message of a stream of one; None when there is none, or as soon as there is a second."""
    only = None
    async for message in messages:
        if only is not None:
            return None
        only = message
    return only


def _service(name: str, export: _Export) -> grpc.GenericRpcHandler[Any, Any]:
    method = grpc.stream_unary_rpc_method_handler(export.export)
    return grpc.method_handlers_generic_handler(name, {"Export": method})
