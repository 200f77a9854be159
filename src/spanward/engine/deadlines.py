"""Deadlines: what is due when, in monotonic seconds."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class Deadlines(Generic[T]):
    """A queue by time; equal times come out in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._number = count()

    def set(self, due: float, what: T) -> None:
        """Set a deadline. There is no taking it back: who set it looks again when it is due."""
        heapq.heappush(self._heap, (due, next(self._number), what))

    def take(self, now: float) -> T | None:
        """The earliest deadline that is due, removed; None when none is."""
        if self._heap and self._heap[0][0] <= now:
            return heapq.heappop(self._heap)[2]
        return None
