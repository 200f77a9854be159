"""A relay between a client and the service that keeps what the client sent."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Relay:
    """Passes connections on to a port; ``sent`` is what came from all clients, in order."""

    def __init__(self, to: int) -> None:
        self._to = to
        self.port = 0
        self.sent = bytearray()

    @property
    def heads(self) -> list[str]:
        """The heads of the requests, in small letters."""
        return [
            (b"post " + part.partition(b"\r\n\r\n")[0]).decode("latin-1").lower()
            for part in bytes(self.sent).split(b"POST ")[1:]
        ]

    async def connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Serve one client."""
        far, on = await asyncio.open_connection("127.0.0.1", self._to)
        await asyncio.gather(self._pass(near, on, self.sent), self._pass(far, back, bytearray()))

    async def _pass(
        self, out_of: asyncio.StreamReader, into: asyncio.StreamWriter, kept: bytearray
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await out_of.read(65_536):
                kept += piece
                into.write(piece)
                await into.drain()
        into.close()


@contextmanager
def relay(to: int) -> Iterator[Relay]:
    """A relay to a port of this machine, in a thread of its own."""
    made, opened = Relay(to), threading.Event()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with await asyncio.start_server(made.connected, "127.0.0.1", 0) as server:
            made.port = server.sockets[0].getsockname()[1]
            opened.set()
            await ended.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    assert opened.wait(10)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
