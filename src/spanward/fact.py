"""A fact: what the matchers said of one item, with all that the operators need to know of it.

Facts are the truth that a unit keeps; operator states are only a cache over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, Protocol

import msgspec

from spanward.item import ON_LOG, ON_SPAN
from spanward.verdict import Witness


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One item that some matcher concerns.

    ``true`` and ``unknown`` are the indexes of the matchers that hold or might. ``position`` is
    the seq that order goes by: None where the unit compares by time only. ``notes`` are words kept
    for the reasons, by matcher index. ``homeless`` says that the item is in its session only
    because its trace is. (Semantics, section 6.)
    """

    key: bytes
    session: str
    kind: str
    name: str | None
    trace_id: bytes
    span_id: bytes
    event: int
    digest: bytes
    start_ns: int
    end_ns: int
    seq: int | None
    position: int | None
    turn: int | None
    turn_key: str | None
    job: str | None
    homeless: bool
    true: tuple[int, ...]
    unknown: tuple[int, ...]
    notes: tuple[tuple[int, str], ...] = ()

    def note(self, matcher: int) -> str:
        """The words kept for a matcher; empty when there are none."""
        return next((words for index, words in self.notes if index == matcher), "")


class _Step(Protocol):
    """What a witness is made of: an item, or the fact that was left of it."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def event(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def seq(self) -> int | None: ...
    @property
    def turn(self) -> int | None: ...
    @property
    def start_ns(self) -> int: ...


_EVENTS: Final[dict[int, str | None]] = {ON_SPAN: None, ON_LOG: "log"}


def witness(step: _Step) -> Witness:
    """The reference to a step that outputs give."""
    return Witness(
        trace_id=step.trace_id.hex(),
        span_id=step.span_id.hex(),
        event=_EVENTS.get(step.event, step.event),
        kind=step.kind,
        name=step.name,
        seq=step.seq,
        turn=step.turn,
        time_ns=step.start_ns,
    )


_Tie = tuple[bool, bytes, bytes, int, str, bytes]


def _tie(fact: Fact) -> _Tie:
    """The order of items that position and time leave equal: spans and events before logs."""
    if fact.event == ON_LOG:
        return (True, b"", b"", 0, fact.name or "", fact.digest)
    return (False, fact.trace_id, fact.span_id, fact.event, "", b"")


def in_listing_order(facts: Iterable[Fact]) -> list[Fact]:
    """The facts as witnesses and calls are listed (semantics, section 2, *Listing order*)."""
    listed = list(facts)
    one_session = len({fact.session for fact in listed}) <= 1
    if one_session and all(fact.seq is not None for fact in listed):
        return sorted(listed, key=lambda fact: (fact.seq, *by_time(fact)))
    return sorted(listed, key=by_time)


TimeKey = tuple[int, int, float, _Tie]


def by_time(fact: Fact) -> TimeKey:
    """The key of a fact by time: start, end, seq (without one last), then what breaks ties."""
    return (fact.start_ns, fact.end_ns, inf if fact.seq is None else fact.seq, _tie(fact))
