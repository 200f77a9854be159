"""The gRPC door: OTLP traces and logs, and health.

Requests are taken as raw bytes, so that malformed ones can be told from faults of ours; as a
stream of one, so that capacity is looked at before the message is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from spanward.receive.status import logs_response, retry_trailers, traces_response
from spanward.worker import Answer, Request, Signal

if TYPE_CHECKING:
    from spanward.worker import Tally

TRACE_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
LOGS_SERVICE: Final = "opentelemetry.proto.collector.logs.v1.LogsService"

_MIB: Final = 1024 * 1024
_OVERLOADED: Final = "overloaded, try again"


class Taker(Protocol):
    """What the door hands requests to: the worker."""

    tally: Tally

    @property
    def has_room(self) -> bool: ...
    def offer(self, request: Request) -> None: ...


class GrpcDoor:
    """Serves ``endpoint`` (host:port; port 0: any) until ``stop``. Lives in one asyncio loop."""

    def __init__(self, endpoint: str, max_message_mib: int, taker: Taker) -> None:
        self._endpoint = endpoint
        self._taker = taker
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # set at run time
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", max_message_mib * _MIB),
                ("grpc.so_reuseport", 0),  # else a second process would split sessions, silently
            )
        )
        self._server.add_generic_rpc_handlers(
            (
                _service(TRACE_SERVICE, _Export("traces", traces_response, taker)),
                _service(LOGS_SERVICE, _Export("logs", logs_response, taker)),
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

    def __init__(self, signal: Signal, respond: Callable[[int, str], bytes], taker: Taker) -> None:
        self._signal = signal
        self._respond = respond
        self._taker = taker

    async def export(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext[Any, Any]
    ) -> bytes:
        if not self._taker.has_room:
            await self._refuse(context)
        received = [message async for message in messages]
        if len(received) != 1:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "one message is expected")
        answer = await self._judged(received[0])
        if answer.malformed:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, answer.malformed)
        if answer.failed:
            await context.abort(grpc.StatusCode.INTERNAL, answer.failed)
        return self._respond(answer.rejected, answer.reason)

    async def _refuse(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._taker.tally.refused["overloaded"] += 1
        trailers = retry_trailers(_OVERLOADED)
        await context.abort(grpc.StatusCode.UNAVAILABLE, _OVERLOADED, trailers)

    async def _judged(self, data: bytes) -> Answer:
        loop = asyncio.get_running_loop()
        judged: asyncio.Future[Answer] = loop.create_future()

        def settle(answer: Answer) -> None:
            if not judged.done():  # the caller may have gone
                judged.set_result(answer)

        def answer_from_worker(answer: Answer) -> None:
            loop.call_soon_threadsafe(settle, answer)

        self._taker.offer(Request(self._signal, data, answer_from_worker))
        return await judged


def _service(name: str, export: _Export) -> grpc.GenericRpcHandler[Any, Any]:
    method = grpc.stream_unary_rpc_method_handler(export.export)
    return grpc.method_handlers_generic_handler(name, {"Export": method})
