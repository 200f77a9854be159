"""The admin server: ``/metrics``, ``/healthz`` and ``/readyz`` for machines, the rest for people.

``/status`` and ``POST /-/reload`` want the token, if there is one. Without one nobody can reload,
and ``/status`` is there on loopback only. Plain text and JSON only. The Host header must name an
address that the server is meant to be reached by, so that no web page can read it through a
visitor's browser (DNS rebinding).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from spanward.admin.token import Token

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages(msgspec.Struct, frozen=True):
    """What is behind ``/status`` and ``/-/reload``, and who may have it.

    ``status`` gives the JSON; ``reload`` reloads specs, and gives an HTTP status and a text.
    ``local``: only this machine reaches the server.
    """

    status: Callable[[], dict[str, Any]]
    reload: Callable[[], Awaitable[tuple[int, str]]]
    token: Token | None
    local: bool


class AdminServer:
    """Serves on ``host`` and ``port`` (0: any that is free).

    ``ready`` is what ``/readyz`` tells; whoever opens and closes the doors sets it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        allowed_hosts: tuple[str, ...],
        metrics: Collector,
        pages: Pages,
    ) -> None:
        self.ready = False
        self._host = host
        self._port = port
        self._hosts = frozenset(map(str.lower, (*_LOOPBACK, host, *allowed_hosts)))
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(metrics)
        self._pages = pages
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/status", self._tell_status)
        app.router.add_post("/-/reload", self._reload)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> int:
        """Open the door; the port. Raises ``OSError`` when the address cannot be had."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the door."""
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if _host(request) not in self._hosts:
            response: web.StreamResponse = web.Response(status=403, text="unknown host\n")
        else:
            try:
                response = await handler(request)
            except web.HTTPException as refusal:
                response = web.Response(status=refusal.status, text=f"{refusal.reason}\n")
        response.headers.update(_HEADERS)
        return response

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        # Beside the loop: with hundreds of specs it takes longer than a sender should wait.
        body = await asyncio.to_thread(encode, self._registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        if self.ready:
            return web.Response(text="ready\n")
        return web.Response(status=503, text="not ready\n")

    async def _tell_status(self, request: web.Request) -> web.Response:
        if (refusal := self._refusal(request, unless=self._pages.local)) is not None:
            return refusal
        return web.json_response(self._pages.status())

    async def _reload(self, request: web.Request) -> web.Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        status, text = await self._pages.reload()
        return web.Response(status=status, text=f"{text}\n")

    def _refusal(self, request: web.Request, *, unless: bool = False) -> web.Response | None:
        """What is told to somebody who may not; ``unless``: without a token anybody may."""
        token = self._pages.token
        if token is None:
            text = "not without a token: set admin.token_file\n"
            return None if unless else web.Response(status=403, text=text)
        if token.admits(request.headers.get("Authorization", "")):
            return None
        headers = {"WWW-Authenticate": "Bearer"}
        return web.Response(status=401, text="this needs the token\n", headers=headers)


def _host(request: web.Request) -> str:
    """The host that a request names, without its port; empty when it is no host."""
    try:
        return (request.url.host or "").lower()
    except ValueError:
        return ""
