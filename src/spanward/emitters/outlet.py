"""An outlet: a thread of its own for an emitter, so that a slow one delays nobody else."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final, Protocol

from spanward.verdict import Announcement

log = logging.getLogger(__name__)

_MOST_WAITING: Final = 10_000
"""Batches that may wait for an emitter; what comes beyond is dropped and counted."""
_ATTEMPTS: Final = 3


class Emitter(Protocol):
    """Tells the world of verdicts.

    ``emit`` gets announcements in order and the wall time (Unix nanoseconds) at which they were
    made; it returns whether they went out, and may be called again with the same ones when they
    did not. ``close`` is called once, last.
    """

    @property
    def name(self) -> str: ...
    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool: ...
    def close(self) -> None: ...


class Outlet:
    """Feeds an emitter. ``emitted`` counts announcements by ``success failure dropped``."""

    def __init__(self, emitter: Emitter) -> None:
        self.name = emitter.name
        self.emitted: Counter[str] = Counter()
        self._emitter = emitter
        self._queue: queue.Queue[tuple[Sequence[Announcement], int] | None] = queue.Queue(
            _MOST_WAITING
        )
        self._thread = threading.Thread(
            target=self._run, name=f"spanward-{emitter.name}", daemon=True
        )
        self._thread.start()

    def put(self, announcements: Sequence[Announcement], at_ns: int) -> None:
        """Have announcements emitted soon; never waits."""
        try:
            self._queue.put_nowait((announcements, at_ns))
        except queue.Full:
            self.emitted["dropped"] += len(announcements)

    def close(self, timeout: float) -> None:
        """Emit what waits, for at most ``timeout`` seconds, and close the emitter."""
        with contextlib.suppress(queue.Full):  # the thread is then alive, which is told
            self._queue.put(None, timeout=timeout)
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.error("the emitter %s did not finish in time: announcements are lost", self.name)

    def _run(self) -> None:
        while (batch := self._queue.get()) is not None:
            self._emit(*batch)
        self._emitter.close()

    def _emit(self, announcements: Sequence[Announcement], at_ns: int) -> None:
        for _ in range(_ATTEMPTS):
            try:
                went_out = self._emitter.emit(announcements, at_ns)
            except Exception:
                log.exception("the emitter %s failed", self.name)
                went_out = False
            if went_out:
                self.emitted["success"] += len(announcements)
                return
        self.emitted["failure"] += len(announcements)
        log.error("%d announcements did not go out through %s", len(announcements), self.name)
