"""Memory: how much of it the process has, from where on room is made, and nothing is taken.

Above the soft limit what is not needed is given back, and sessions are pushed out for as long as
memory grows all the same; above the hard limit nothing is taken, and senders try again later.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")
_BETWEEN: Final = 1.0
"""Seconds between reliefs: a measure must show its effect before the next is taken."""
_COLLECT: Final = 30.0
"""Seconds between collections of garbage, which stop all work for a moment."""


class MemoryLimits:
    """Limits on the ``resident`` bytes of this process; None: there is no such limit."""

    def __init__(
        self,
        soft: int | None = None,
        hard: int | None = None,
        resident: Callable[[], int] | None = None,
    ) -> None:
        self._soft = soft if soft is not None else hard
        self._hard = hard
        self._resident = resident or resident_bytes
        self._grown_to = 0
        self._next_relief = 0.0
        self._next_collection = 0.0

    def full(self) -> bool:
        """Whether nothing may be taken just now."""
        return self._hard is not None and self._resident() > self._hard

    def needs_relief(self, now: float) -> bool:
        """Whether sessions should be pushed out; what garbage there is has gone first.

        ``now`` is seconds of any clock that only grows. What was given back inside the process is
        used again, so memory that does not grow is left alone until it is over the hard limit.
        """
        if self._soft is None or now < self._next_relief:
            return False
        self._next_relief = now + _BETWEEN
        if self._resident() <= self._soft:
            self._grown_to = 0
            return False
        if now >= self._next_collection:
            self._next_collection = now + _COLLECT
            give_back()
        resident = self._resident()
        grows = resident > max(self._grown_to, self._soft)
        self._grown_to = max(self._grown_to, resident)
        return grows or self.full()


def resident_bytes() -> int:
    """The resident memory of this process. Raises ``OSError`` on a system that does not tell."""
    pages = int(_STATM.read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back() -> None:
    """Collect garbage, and give freed memory back to the system, where its C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
