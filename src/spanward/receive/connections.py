"""Connections of the HTTP door: not too many, none that only stays.

A connection without a request costs its sender nothing, so there is an end to how many there are,
how long one may take to say what it wants, and how old it gets.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    import ssl

_MOST: Final = 1024
"""Connections at once. Half of the usual limit on open files would be left to nobody else."""
_PATIENCE: Final = 20.0
"""Seconds that a new connection may be without a whole request head."""
_IDLE: Final = 75.0
"""Seconds that it may be so after a request. Exporters come again every 5 s or so. One that comes
just as its connection is closed may lose a batch: so this is no less than servers usually give.
"""
_LOOK: Final = 1.0
"""Seconds between looks at them."""
_HANDSHAKE: Final = 10.0
"""Seconds that a TLS handshake may take."""

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Connections:
    """Serves requests by ``handle``; ``accepting`` is called before each new connection.

    ``max_age`` (seconds, None: no limit) ends a connection after a request, in good order.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        max_age: float | None,
        accepting: Callable[[], None] | None,
        most: int = _MOST,
        patience: float = _PATIENCE,
    ) -> None:
        self._handle = handle
        self._max_age = max_age
        self._accepting = accepting
        self._most = most
        self._patience = patience
        logger = logging.getLogger(f"{__name__}.aiohttp")
        logger.addFilter(_one_line)
        self._server = web.Server(
            self._served,
            access_log=None,
            logger=logger,
            auto_decompress=False,  # we do it, within bounds
            keepalive_timeout=_IDLE,
            lingering_time=2.0,
        )
        self._busy: set[Any] = set()
        self._since: dict[Any, float] = {}
        self._began: dict[Any, float] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def serve(self, host: str, port: int, context: ssl.SSLContext | None) -> asyncio.Server:
        """Open the address. Raises ``OSError`` when it cannot be had."""
        self._sweeper = asyncio.create_task(self._sweep())
        handshake = None if context is None else _HANDSHAKE
        return await asyncio.get_running_loop().create_server(
            self._accept, host, port, ssl=context, ssl_handshake_timeout=handshake
        )

    async def close(self, grace: float) -> None:
        """Let requests finish for some seconds, and end all connections."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        self._server.pre_shutdown()
        await self._server.shutdown(grace)

    def _accept(self) -> asyncio.Protocol:
        if self._accepting is not None:
            self._accepting()
        if len(self._server.connections) >= self._most:
            return _Refused()
        return self._server()

    async def _served(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._busy.add(connection)
        clock = asyncio.get_running_loop().time
        began = self._began.setdefault(connection, clock())
        try:
            response = await self._handle(request)
        finally:
            self._busy.discard(connection)
            self._since[connection] = clock()
        if self._max_age is not None and clock() - began > self._max_age:
            response.force_close()
        return response

    async def _sweep(self) -> None:
        """End what waits too long for a request, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK)
            now, open_ = loop.time(), set(self._server.connections)
            for known in (self._since, self._began):
                for connection in known.keys() - open_:
                    del known[connection]
            for connection in open_ - self._busy:
                most = _IDLE if connection in self._began else self._patience
                if now - self._since.setdefault(connection, now) > most:
                    connection.force_close()


def _one_line(record: logging.LogRecord) -> bool:
    """Have what is no HTTP told in a line: it is a sender's mistake, gRPC to this port mostly."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args = (
            "no HTTP request (gRPC has a port of its own): %s",
            (str(error.message).partition("\n")[0],),
        )
        record.exc_info = None
    return True


class _Refused(asyncio.Protocol):
    """One connection too many: it is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
