"""What is said about a unit: results, witnesses, and the verdicts that leave the engine."""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import Any

import msgspec


class Result(StrEnum):
    """The four answers of a spec (semantics, section 5)."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why a verdict was announced when it was (semantics, section 6)."""

    ITEM = "item"
    TURN_END = "turn_end"
    SESSION_END = "session_end"
    IDLE = "idle"
    MERGED = "merged"
    INCOMPLETE = "incomplete"
    EVICTED = "evicted"
    SHUTDOWN = "shutdown"
    END_OF_INPUT = "end_of_input"


class Witness(msgspec.Struct, frozen=True):
    """A step that a verdict points at.

    ``event`` is None for a span, the index of a span event in its span, or ``"log"``. Ids are hex,
    empty where a log record had none. ``time_ns`` is the step's start.
    """

    trace_id: str
    span_id: str
    event: int | str | None
    kind: str
    name: str | None
    seq: int | None
    turn: int | None
    time_ns: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One announcement, in the shape that the JSON outputs have.

    ``turn`` is a number, or for turns known by key the rank; ``session`` is None for a job unit.
    """

    spec: str
    operator: str
    severity: str
    unit: str
    session: str | None
    turn: int | None
    job: str | None
    result: Result
    reason: str
    early: bool
    cause: Cause
    revision: int
    decided_by: Witness | None
    witnesses: tuple[Witness, ...]
    details: list[dict[str, Any]] | None


def as_object(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a JSON object: plain values only, in the order of its fields.

    A number that JSON does not have (NaN, infinity) becomes its name.
    """
    return {
        **{field: getattr(verdict, field) for field in Verdict.__struct_fields__},
        "decided_by": verdict.decided_by and msgspec.structs.asdict(verdict.decided_by),
        "witnesses": [msgspec.structs.asdict(witness) for witness in verdict.witnesses],
        "details": _finite(verdict.details),
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return value


class Announcement(msgspec.Struct, frozen=True):
    """A verdict on its way out, with what the emitters need of its spec.

    ``previous`` is the result that was announced before (None the first time). ``turn_key`` is
    the identity of a turn known by key. ``item_ns`` is the end of the deciding item, None when
    no item decided.
    """

    verdict: Verdict
    sha256: str
    labels: dict[str, str]
    previous: Result | None
    turn_key: str | None
    item_ns: int | None
