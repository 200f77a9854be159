"""The exchange: how others have the worker's thread go on with other specs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue

from spanward.specs.spec import Spec

_Specs = tuple[Spec, ...]


class Exchange:
    """Specs that are asked for, each with the future of whoever asked.

    ``ask`` may be called from any thread, until the end of ``close``; the rest from the worker's.
    """

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[_Specs, Future[None]]] = SimpleQueue()
        self._closed = False

    def ask(self, specs: Sequence[Spec]) -> Future[None]:
        """Ask for other specs; the future ends when they are judged, or raises why they are not."""
        future: Future[None] = Future()
        self._asked.put((tuple(specs), future))
        if self._closed:
            self.close()
        return future

    def serve(self, turn_to: Callable[[_Specs], None]) -> None:
        """Turn to the specs that were asked for, if any were; what that raises goes to the asker.

        A fault of our own is raised here as well.
        """
        while (asked := self._next()) is not None:
            specs, future = asked
            if not future.set_running_or_notify_cancel():
                continue
            try:
                turn_to(specs)
            except OSError as error:
                future.set_exception(error)
            except Exception as error:
                future.set_exception(error)
                raise
            else:
                future.set_result(None)

    def close(self) -> None:
        """Nobody will turn to anything any more."""
        self._closed = True
        while (asked := self._next()) is not None:
            if asked[1].set_running_or_notify_cancel():
                asked[1].set_exception(OSError("the service is stopping"))

    def _next(self) -> tuple[_Specs, Future[None]] | None:
        try:
            return self._asked.get_nowait()
        except Empty:
            return None
