"""An outlet: a thread of its own for an emitter, so that a slow one delays nobody else.

What does not go out is tried again, in order, until it does; only so many may wait.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, Protocol

from spanward.saved import Sending
from spanward.verdict import Announcement

log = logging.getLogger(__name__)

MOST_WAITING: Final = 100_000
"""Announcements that may wait for an emitter; what comes beyond is given up and counted."""
_MOST_AT_ONCE: Final = 500
"""Announcements that an emitter is given at once: so many go out, or none."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
"""Seconds between attempts; each pause is twice the one before."""


class NeverTaken(Exception):
    """What an emitter raises for announcements that will not be taken, however often it tries."""


class Emitter(Protocol):
    """Tells the world of verdicts.

    ``emit`` gets announcements in order and the wall time (Unix nanoseconds) at which they were
    made; it returns whether they went out, and may be called again with the same ones when they
    did not, or when it is not known. It raises ``NeverTaken`` when trying again is of no use.
    ``close`` is called once, last.
    """

    @property
    def name(self) -> str: ...
    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool: ...
    def close(self) -> None: ...


class Outlet:
    """Feeds an emitter. ``emitted`` counts announcements by ``success failure dropped``.

    ``failure`` counts every attempt, ``dropped`` what was given up, because more than ``most``
    waited or because it was refused for good. ``pause`` is how many seconds pass before the second
    attempt.
    """

    def __init__(
        self, emitter: Emitter, *, most: int = MOST_WAITING, pause: float = _FIRST_PAUSE
    ) -> None:
        self.name = emitter.name
        self.emitted: Counter[str] = Counter()
        self._emitter = emitter
        self._most = most
        self._first_pause = pause
        self._waiting: deque[Sequence[Sending]] = deque()
        self._count = 0
        self._done: deque[int] = deque()
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self._run, name=f"spanward-{emitter.name}", daemon=True
        )
        self._thread.start()

    def put(self, sendings: Sequence[Sending]) -> None:
        """Have announcements of one moment emitted soon; never waits."""
        with self._changed:
            room = max(0, self._most - self._count)
            taken, given_up = sendings[:room], sendings[room:]
            if given_up:
                self.emitted["dropped"] += len(given_up)
                self._done.extend(one.number for one in given_up)
            self._count += len(taken)
            for first in range(0, len(taken), _MOST_AT_ONCE):
                self._waiting.append(taken[first : first + _MOST_AT_ONCE])
            self._changed.notify()

    def done(self) -> list[int]:
        """The numbers of those that went out, or were given up, since this was last asked."""
        return [self._done.popleft() for _ in range(len(self._done))]

    def close(self, timeout: float) -> int:
        """Try what waits once more, for at most ``timeout`` seconds; how many did not go out."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        return self._count

    def _run(self) -> None:
        pause = self._first_pause
        while (batch := self._next()) is not None:
            last = self._closing
            if self._emit(batch):
                pause = self._first_pause
                self._finish(batch)
            elif last:
                break
            else:
                self._pause(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self._emitter.close()

    def _next(self) -> Sequence[Sending] | None:
        """What is to go out next; it stays first until it did. None when it is time to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return self._waiting[0] if self._waiting else None

    def _finish(self, batch: Sequence[Sending]) -> None:
        with self._changed:
            self._waiting.popleft()
            self._count -= len(batch)
            self._done.extend(one.number for one in batch)

    def _pause(self, seconds: float) -> None:
        """Wait before the next attempt, unless it is the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing, seconds)

    def _emit(self, batch: Sequence[Sending]) -> bool:
        """Whether a batch need not be tried again."""
        try:
            went_out = self._emitter.emit([one.announcement for one in batch], batch[0].at_ns)
        except NeverTaken as refusal:
            self.emitted["dropped"] += len(batch)
            log.error("%d announcements given up: %s", len(batch), refusal)  # noqa: TRY400
            return True
        except OSError as error:  # the other side is away: no defect of ours
            log.error("%s: %s", self.name, error)  # noqa: TRY400
            went_out = False
        except Exception:
            log.exception("the emitter %s failed", self.name)
            went_out = False
        self.emitted["success" if went_out else "failure"] += len(batch)
        if not went_out:
            log.error("%d announcements wait for %s, and are tried again", len(batch), self.name)
        return went_out
