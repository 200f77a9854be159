"""The HTTP door: OTLP traces and logs, protobuf or JSON, plain or gzip.

Who sends and whether there is room is looked at before a body is read. Source of paths, codes and
bodies: OTLP specification, *OTLP/HTTP*.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from spanward.receive.connections import Connections
from spanward.receive.gunzip import Gunzip, NotGzipError
from spanward.receive.handover import Taker, handed_over
from spanward.receive.senders import UnknownSender
from spanward.receive.status import RESPONSES, RETRY_SECONDS, as_json, status_message
from spanward.receive.tls import name_of_peer

if TYPE_CHECKING:
    from spanward.receive.admission import Admission, Place
    from spanward.receive.entrance import Entrance
    from spanward.request import Answer, Encoding, Signal

log = logging.getLogger(__name__)

_PATHS: Final[dict[str, Signal]] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_TYPES: Final[dict[str, Encoding]] = {
    "application/x-protobuf": "protobuf",
    "application/json": "json",
}
_MEDIA: Final = {encoding: media for media, encoding in _TYPES.items()}
_CODINGS: Final = ("", "identity", "gzip")
_MIB: Final = 1024 * 1024
_MALFORMED, _OVERLOADED, _TOO_LARGE, _INTERNAL, _UNAUTHENTICATED, _TIMEOUT = 3, 14, 8, 13, 16, 4
"""Codes of ``google.rpc``, for the bodies of errors."""


class Refusal(Exception):
    """What a sender is told instead of "ok": a status of HTTP, a code of google.rpc, and words."""

    def __init__(self, status: int, code: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status = status
        self.code = code
        self.words = words
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class HttpDoor:
    """Serves an entrance until ``stop``. Lives in one asyncio loop."""

    def __init__(self, entrance: Entrance, admission: Admission, taker: Taker) -> None:
        self._entrance = entrance
        self._largest = entrance.max_message_mib * _MIB
        self._admission = admission
        self._taker = taker
        certificates = entrance.certificates
        self._connections = Connections(
            self._handle,
            max_age=entrance.max_connection_age,
            accepting=None if certificates is None else certificates.refresh,
        )
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Open the door; the port. Raises ``OSError`` when the address cannot be had."""
        certificates = self._entrance.certificates
        context = None if certificates is None else certificates.context()
        self._server = await self._connections.serve(
            self._entrance.host, self._entrance.port, context
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace: float) -> None:
        """Take nothing new, and finish what is being read."""
        if self._server is not None:
            self._server.close()
        await self._connections.close(grace)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._taken(request)
        except Refusal as refusal:
            response = _refused(request, refusal)
            response.force_close()  # what is left of its body is not worth reading
            return response

    async def _taken(self, request: web.BaseRequest) -> web.Response:
        signal = _PATHS.get(request.path)
        if signal is None:
            raise Refusal(404, 5, "there are /v1/traces and /v1/logs")
        if request.method != "POST":
            raise Refusal(405, 12, "telemetry is sent by POST", Allow="POST")
        sender = self._sender(request)
        encoding = _TYPES.get(request.content_type)
        if encoding is None:
            words = f"the Content-Type must be one of {', '.join(_TYPES)}"
            raise self._refusal("unsupported", 415, _MALFORMED, words)
        coding = request.headers.get("Content-Encoding", "").strip().lower()
        if coding not in _CODINGS:
            raise self._refusal("unsupported", 415, _MALFORMED, "no content encoding but gzip")
        place = await self._admission.enter(sender)
        if place is None:
            raise self._for_now("overloaded", "overloaded, try again")
        data = await self._read(request, place, zipped=coding == "gzip")
        answer = await handed_over(
            self._taker, place, data, signal, "http", encoding=encoding, sender=sender
        )
        _raise_for(answer)
        message = RESPONSES[signal](answer.rejected, answer.reason)
        body = message.SerializeToString() if encoding == "protobuf" else as_json(message)
        return web.Response(body=body, content_type=_MEDIA[encoding])

    def _sender(self, request: web.BaseRequest) -> str | None:
        transport = request.transport
        peer = None if transport is None else transport.get_extra_info("peercert")
        try:
            authorization = request.headers.get("Authorization")
            return self._entrance.gate.sender(authorization, name_of_peer(peer))
        except UnknownSender:
            log.warning("a request by HTTP from %s has no valid token", request.remote)
            raise self._refusal(
                "unauthenticated",
                401,
                _UNAUTHENTICATED,
                "a valid token is needed, as in Authorization: Bearer TOKEN",
                WWW_Authenticate="Bearer",
            ) from None

    async def _read(self, request: web.BaseRequest, place: Place, *, zipped: bool) -> bytes:
        """The body, in its place."""
        data = None
        try:
            async with asyncio.timeout(self._admission.reading):
                data = await self._body(request, zipped=zipped)
        except TimeoutError:
            raise self._refusal("slow", 408, _TIMEOUT, "the body did not arrive") from None
        except NotGzipError as mistake:
            raise self._refusal("gzip", 400, _MALFORMED, str(mistake)) from None
        except (ConnectionError, HttpProcessingError, ClientPayloadError):
            raise self._refusal("malformed_body", 400, _MALFORMED, "the body is broken") from None
        finally:
            if data is None:
                place.leave()
        place.holds(len(data))
        return data

    async def _body(self, request: web.BaseRequest, *, zipped: bool) -> bytes:
        """All of a body, unpacked; its limit is that of what is unpacked."""
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        gunzip, body, packed = Gunzip() if zipped else None, bytearray(), 0
        async for piece in request.content.iter_any():
            packed += len(piece)
            body += piece if gunzip is None else gunzip.feed(piece, self._largest - len(body))
            if max(len(body), packed) > self._largest:
                words = f"at most {self._largest // _MIB} MiB, unpacked"
                raise self._refusal("too_large", 413, _TOO_LARGE, words)
        if gunzip is not None:
            gunzip.end()
        return bytes(body)

    def _refusal(self, reason: str, status: int, code: int, words: str, **headers: str) -> Refusal:
        self._taker.tally.refused[reason] += 1
        return Refusal(status, code, words, **headers)

    def _for_now(self, reason: str, words: str) -> Refusal:
        self._taker.tally.refused[reason] += 1
        return _retry(words)


def _retry(words: str) -> Refusal:
    return Refusal(503, _OVERLOADED, words, Retry_After=str(RETRY_SECONDS))


def _raise_for(answer: Answer) -> None:
    if answer.malformed:
        raise Refusal(400, _MALFORMED, answer.malformed)
    if answer.too_large:
        raise Refusal(413, _TOO_LARGE, answer.too_large)
    if answer.unsaved:
        raise _retry(answer.unsaved)
    if answer.failed:
        raise Refusal(500, _INTERNAL, answer.failed)


def _refused(request: web.BaseRequest, refusal: Refusal) -> web.Response:
    """The answer to a refused request: a ``google.rpc.Status`` in the request's own encoding."""
    encoding = _TYPES.get(request.content_type, "json")
    message = status_message(refusal.code, refusal.words)
    body = message.SerializeToString() if encoding == "protobuf" else as_json(message)
    return web.Response(
        body=body,
        status=refusal.status,
        content_type=_MEDIA[encoding],
        headers=refusal.headers,
    )
