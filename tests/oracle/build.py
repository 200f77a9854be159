"""Reports for hand-written expectations, with times that count from zero, and their verdict."""

from __future__ import annotations

from typing import Any

from . import judge

Fields = dict[str, Any]

TRACE = "a" * 32


def report(kind: str, number: int, start: int, end: int | None = None, **more: Any) -> Fields:
    """A report of the record with this number, in trace TRACE and session `s` unless told."""
    made: Fields = {"kind": kind, "trace": TRACE, "span": f"{number:016x}", "session": "s"}
    made |= {"start": start, "end": start if end is None else end}
    return {k: v for k, v in (made | more).items() if v is not None}


def call(number: int, start: int, end: int | None = None, **more: Any) -> Fields:
    """A tool call, named `bash` unless told."""
    return report("tool.call", number, start, end, **_named("bash", more))


def event(name: str, number: int, start: int, **more: Any) -> Fields:
    """The first event of a span of its own."""
    return report("event", number, start, **_named(name, {"event": 0} | more))


def _named(name: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"name": name} | more


def spec(assertion: Fields, **more: Any) -> Fields:
    """A spec named `it`."""
    return {"name": "it", "assert": assertion} | more


def reference(number: int, index: int | str | None = None) -> tuple[str, str, int | str | None]:
    """How a verdict names the record with this number."""
    return (TRACE, f"{number:016x}", index)


def one(assertion: Fields, *reports: Fields, gap: bool = False, **more: Any) -> Fields:
    """The only verdict of one spec."""
    (verdict,) = judge([spec(assertion, **more)], reports, gap=gap)
    return verdict


def result(assertion: Fields, *reports: Fields, **more: Any) -> str:
    """The only verdict's result."""
    return str(one(assertion, *reports, **more)["result"])
