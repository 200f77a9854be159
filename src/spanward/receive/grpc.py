"""The gRPC door: OTLP traces and logs, and health.

Requests are taken as raw bytes, so that malformed ones can be told from faults of ours; as a
stream of one, so that capacity is looked at before the message is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NoReturn, Protocol

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from spanward.receive.admission import Admission, Place
from spanward.receive.status import logs_response, retry_trailers, traces_response
from spanward.request import Answer, Request, Signal, Tally

TRACE_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
LOGS_SERVICE: Final = "opentelemetry.proto.collector.logs.v1.LogsService"

_MIB: Final = 1024 * 1024
_OVERLOADED: Final = "overloaded, try again"


_Context = grpc.aio.ServicerContext[Any, Any]


class Taker(Protocol):
    """What the door hands requests to: the worker."""

    tally: Tally

    def offer(self, request: Request) -> None: ...


class GrpcDoor:
    """Serves ``endpoint`` (host:port; port 0: any) until ``stop``. Lives in one asyncio loop."""

    def __init__(
        self, endpoint: str, max_message_mib: int, admission: Admission, taker: Taker
    ) -> None:
        self._endpoint = endpoint
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # set at run time
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", max_message_mib * _MIB),
                ("grpc.so_reuseport", 0),  # else a second process would split sessions, silently
            )
        )
        self._server.add_generic_rpc_handlers(
            (
                _service(TRACE_SERVICE, _Export("traces", traces_response, admission, taker)),
                _service(LOGS_SERVICE, _Export("logs", logs_response, admission, taker)),
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self) -> int:
        """Open the door; the port. Raises ``OSError`` when the address cannot be had."""
        try:
            port = self._server.add_insecure_port(self._endpoint)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self._endpoint}: is the port in use?") from error
        await self._server.start()
        await self._tell_health(health_pb2.HealthCheckResponse.SERVING)
        return port

    async def stop(self, grace: float) -> None:
        """Tell that the service goes, take nothing new, and finish what is being read."""
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.stop(grace)

    async def _tell_health(self, status: Any) -> None:
        for service in ("", TRACE_SERVICE, LOGS_SERVICE):
            await self._health.set(service, status)


class _Export:
    """The ``Export`` method of one signal."""

    def __init__(
        self,
        signal: Signal,
        respond: Callable[[int, str], bytes],
        admission: Admission,
        taker: Taker,
    ) -> None:
        self._signal = signal
        self._respond = respond
        self._admission = admission
        self._taker = taker

    async def export(self, messages: AsyncIterator[bytes], context: _Context) -> bytes:
        place = await self._admission.enter()
        if place is None:
            await self._refuse(context)
        data = await self._read(messages, place, context)
        answer = await self._judged(data, place)
        if answer.malformed:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, answer.malformed)
        if answer.unsaved:
            await self._abort_for_now(context, answer.unsaved)
        if answer.failed:
            await context.abort(grpc.StatusCode.INTERNAL, answer.failed)
        return self._respond(answer.rejected, answer.reason)

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

    async def _judged(self, data: bytes, place: Place) -> Answer:
        loop = asyncio.get_running_loop()
        judged: asyncio.Future[Answer] = loop.create_future()

        def settle(answer: Answer) -> None:
            place.leave()  # only now: the worker held the bytes, even of a caller who has gone
            if not judged.done():
                judged.set_result(answer)

        def answer_from_worker(answer: Answer) -> None:
            loop.call_soon_threadsafe(settle, answer)

        self._taker.offer(Request(self._signal, data, answer_from_worker))
        return await judged


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
