"""Prior items: whether a set holds one that precedes a given item, within a window or without.

The answer is true, false or None: unknown, because for some item that precedes the window cannot
be computed (semantics, section 5, *each*). One more item in the set only improves the answer:
false to unknown to true. Each question costs at most the logarithm of the set or the window.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Protocol

from spanward.operators.leads import Firsts, over_before

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanward.fact import Fact
    from spanward.match.truth import Truth


class Prior(Protocol):
    """A growing set of items."""

    def add(self, fact: Fact) -> None: ...
    def serve(self, fact: Fact) -> Truth: ...


class AnyPrior:
    """No window: any item that precedes serves."""

    def __init__(self) -> None:
        self._firsts = Firsts()

    def add(self, fact: Fact) -> None:
        self._firsts.add(fact)

    def serve(self, fact: Fact) -> Truth:
        return self._firsts.precede(fact)


class SeqPrior:
    """At most ``length`` log positions before."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._positions: list[int] = []
        self._firsts = Firsts()

    def add(self, fact: Fact) -> None:
        self._firsts.add(fact)
        if fact.position is not None:
            insort(self._positions, fact.position)

    def serve(self, fact: Fact) -> Truth:
        if fact.position is None:
            return None if self._firsts.precede(fact) else False
        index = bisect_left(self._positions, fact.position)
        if index and self._positions[index - 1] >= fact.position - self._length:
            return True
        start = (fact.start_ns, fact.end_ns)
        return None if over_before(self._firsts.end0, start) else False


class TurnPrior:
    """At most ``length`` turns before, or in the same turn.

    The firsts of the turns are kept for every aligned block of 1, 2, 4 … turns up to the window's
    length, so that a window is a few blocks, however long it is.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._levels = (length + 1).bit_length()
        self._blocks: dict[tuple[int, int], Firsts] = {}
        self._turnless = Firsts()
        self._all = Firsts()

    def add(self, fact: Fact) -> None:
        self._all.add(fact)
        if fact.turn is None:
            self._turnless.add(fact)
            return
        for level in range(self._levels):
            block = (level, fact.turn >> level)
            self._blocks.setdefault(block, Firsts()).add(fact)

    def serve(self, fact: Fact) -> Truth:
        if fact.turn is None:
            return None if self._all.precede(fact) else False
        window = _aligned_blocks(fact.turn - self._length, fact.turn + 1)
        inside = (self._blocks.get(block) for block in window)
        if any(firsts is not None and firsts.precede(fact) for firsts in inside):
            return True
        return None if self._turnless.precede(fact) else False


def _aligned_blocks(low: int, high: int) -> Iterator[tuple[int, int]]:
    """The fewest aligned blocks (level, index) of 2**level numbers that make up [low, high)."""
    level = 0
    while low < high:
        if low & 1:
            yield level, low
            low += 1
        if high & 1:
            high -= 1
            yield level, high
        low, high, level = low >> 1, high >> 1, level + 1
