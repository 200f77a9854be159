"""Facts for operators, made by hand or drawn at random, and the plain meaning of *precedes*."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spanward.fact import Fact


def fact(number: int, start: int, end: int | None = None, **fields: Any) -> Fact:
    """A fact with a key of its own; its position is its seq."""
    made: dict[str, Any] = {
        "key": b"%d" % number,
        "session": "s",
        "kind": "event",
        "name": None,
        "trace_id": b"t" * 16,
        "span_id": number.to_bytes(8, "big"),
        "event": 0,
        "digest": b"",
        "start_ns": start,
        "end_ns": start if end is None else end,
        "seq": None,
        "turn": None,
        "turn_key": None,
        "job": None,
        "homeless": False,
        "true": (),
        "unknown": (),
    }
    made |= fields
    return Fact(position=fields.get("seq"), **made)


def _made(drawn: list[tuple[int, int, int | None, int | None]]) -> list[Fact]:
    return [
        fact(number, start, start + lasted, seq=seq, turn=turn)
        for number, (start, lasted, seq, turn) in enumerate(drawn, 1)
    ]


SMALL = st.integers(0, 5)
FACTS = st.lists(
    st.tuples(SMALL, st.integers(0, 3), st.none() | SMALL, st.none() | st.integers(-2, 9)),
    max_size=7,
).map(_made)
"""Few facts with few times, so that they overlap, touch and tie; some carry no seq or turn."""


def precedes(a: Fact, b: Fact) -> bool:
    """The order of semantics, section 2."""
    if a.position is not None and b.position is not None:
        return a.position < b.position
    return a.end_ns <= b.start_ns and not a.start_ns == a.end_ns == b.start_ns == b.end_ns
