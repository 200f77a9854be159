"""*A leads B*: some A is over before every B (semantics, section 2).

A set is known by its firsts, apart for the items that carry a position and those that do not. So
the relation costs the same however many items there are, and in whatever order they arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.fact import by_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.fact import Fact

Times = tuple[int, int]
"""Either (end, start) or (start, end), in nanoseconds, as each name says."""


class Firsts:
    """The least keys of a set of facts; None where the set has no such fact.

    ``position`` is the least position; ``end`` and ``start`` are the least (end, start) and
    (start, end), of the facts with a position (1) and of those without (0).
    """

    __slots__ = ("end0", "end1", "position", "start0", "start1")

    def __init__(self) -> None:
        self.position: int | None = None
        self.end0: Times | None = None
        self.end1: Times | None = None
        self.start0: Times | None = None
        self.start1: Times | None = None

    def add(self, fact: Fact) -> None:
        """Take one fact more into account."""
        end = (fact.end_ns, fact.start_ns)
        start = (fact.start_ns, fact.end_ns)
        if fact.position is None:
            self.end0 = end if self.end0 is None or end < self.end0 else self.end0
            self.start0 = start if self.start0 is None or start < self.start0 else self.start0
            return
        self.end1 = end if self.end1 is None or end < self.end1 else self.end1
        self.start1 = start if self.start1 is None or start < self.start1 else self.start1
        if self.position is None or fact.position < self.position:
            self.position = fact.position

    @property
    def empty(self) -> bool:
        """Whether no fact was added."""
        return self.end0 is None and self.end1 is None

    @property
    def end(self) -> Times | None:
        """The least (end, start) of all."""
        return _least(self.end0, self.end1)

    @property
    def start(self) -> Times | None:
        """The least (start, end) of all."""
        return _least(self.start0, self.start1)

    def precede(self, fact: Fact) -> bool:
        """Whether one of the set precedes a fact."""
        start = (fact.start_ns, fact.end_ns)
        if fact.position is None:
            return over_before(self.end, start)
        if self.position is not None and self.position < fact.position:
            return True
        return over_before(self.end0, start)


def _least(one: Times | None, other: Times | None) -> Times | None:
    if one is None or other is None:
        return one or other
    return min(one, other)


def over_before(end: Times | None, start: Times | None) -> bool:
    """Whether something with this (end, start) finished before that (start, end) began.

    False when either is None, and when all four times are equal.
    """
    if end is None or start is None or end[0] > start[0]:
        return False
    return not end[0] == end[1] == start[0] == start[1]


def leads(a: Firsts, b: Firsts) -> bool:
    """Whether A leads B: false when A is empty, true when only B is."""
    if b.empty:
        return not a.empty
    return _untimed_leads(a, b) or _placed_leads(a, b)


def _untimed_leads(a: Firsts, b: Firsts) -> bool:
    return over_before(a.end0, b.start)


def _placed_leads(a: Firsts, b: Firsts) -> bool:
    if a.position is None:
        return False
    by_position = b.position is None or a.position < b.position
    return by_position and (b.start0 is None or over_before(a.end1, b.start0))


def firsts_of(facts: Iterable[Fact]) -> Firsts:
    """The firsts of some facts."""
    firsts = Firsts()
    for fact in facts:
        firsts.add(fact)
    return firsts


def compared(a: list[Fact], b: list[Fact]) -> list[Fact]:
    """The facts that decide whether A leads B, for the witnesses.

    The pair of the clause that holds; when none does, all that were compared. When one of the two
    is empty, the firsts of the other.
    """
    a0, a1 = _apart(a)
    b0, b1 = _apart(b)
    if not a:
        return _first_position(b1) + _first_start(b0)
    if not b:
        return _first_position(a1) + _first_end(a0)
    untimed = _first_end(a0) + _first_start(b) if a0 else []
    placed = _compared_by_place(a1, b0, b1) if a1 else []
    firsts_a, firsts_b = firsts_of(a), firsts_of(b)
    if _untimed_leads(firsts_a, firsts_b):
        return untimed
    if _placed_leads(firsts_a, firsts_b):
        return placed
    return untimed + placed


def _compared_by_place(a1: list[Fact], b0: list[Fact], b1: list[Fact]) -> list[Fact]:
    by_position = _first_position(a1) + _first_position(b1) if b1 else []
    by_times = _first_end(a1) + _first_start(b0) if b0 else []
    return by_position + by_times


def overlap(facts: list[Fact]) -> bool:
    """Whether two of the facts, compared by time, overlap: neither finished before the other."""
    return any(
        (one.position is None or other.position is None)
        and not _over(one, other)
        and not _over(other, one)
        for index, one in enumerate(facts)
        for other in facts[index + 1 :]
    )


def _over(one: Fact, other: Fact) -> bool:
    return over_before((one.end_ns, one.start_ns), (other.start_ns, other.end_ns))


def _apart(facts: list[Fact]) -> tuple[list[Fact], list[Fact]]:
    without = [fact for fact in facts if fact.position is None]
    return without, [fact for fact in facts if fact.position is not None]


def _first_position(placed: list[Fact]) -> list[Fact]:
    return sorted(placed, key=lambda fact: (fact.position, by_time(fact)))[:1]


def _first_end(facts: list[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.end_ns, fact.start_ns, by_time(fact)))[:1]


def _first_start(facts: list[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.start_ns, fact.end_ns, by_time(fact)))[:1]
