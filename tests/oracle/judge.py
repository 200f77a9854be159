"""The oracle: verdicts of specs over reports, every prefix judged anew (sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .items import Item, Prepared, Reference, Report, items_of, prepare
from .matching import asked_attributes
from .operators import ORDER_BOUND, Outcome, judged, operator_of
from .selection import details
from .units import Unit, members, units_of

Spec = Mapping[str, Any]
Verdict = dict[str, Any]
MOST_WITNESSES = 10


def judge(specs: Sequence[Spec], reports: Sequence[Report], *, gap: bool = False) -> list[Verdict]:
    """One verdict for each unit and spec, sorted by (spec, session, turn, job), None first.

    `reports` are in order of arrival; every trace's session is known beforehand; settle is 0.
    With `gap`, the beginning of every unit is taken to be lost.
    """
    if not reports:
        return []
    asked = frozenset(asked_attributes([spec["assert"] for spec in specs]))
    prepared = prepare(reports, asked)
    prefixes = [items_of(prepared[:n]) for n in range(1, len(prepared) + 1)]
    verdicts = [
        _verdict(spec, unit, turn, prefixes, gap)
        for spec in specs
        for unit, turn in units_of(spec, prefixes[-1]).items()
    ]
    return sorted(verdicts, key=_place)


def final_items(specs: Sequence[Spec], reports: Sequence[Report]) -> list[Item]:
    """The distinct items that the reports make, for whoever wants to count or look."""
    asked = frozenset(asked_attributes([spec["assert"] for spec in specs]))
    prepared: list[Prepared] = prepare(reports, asked)
    return items_of(prepared)


def _verdict(
    spec: Spec, unit: Unit, turn: int | None, prefixes: Sequence[Sequence[Item]], gap: bool
) -> Verdict:
    asserted = spec["assert"]
    operator = operator_of(asserted)
    history = [_settled(spec, unit, items, gap) for items in prefixes]
    last = members(spec, unit, prefixes[-1]) or []
    outcome = judged(asserted, last, by_time=unit.job is not None)
    if history[-1] is not None and history[-1] != outcome.result:
        raise AssertionError(f"{history[-1]} was settled, the result is {outcome.result}")
    early = history[-1] is not None
    enough = operator == "count" and "max" not in asserted["count"] and outcome.result == "pass"
    stands = enough or (outcome.settled is not None and operator not in ORDER_BOUND)
    incomplete = gap and not early and not stands
    if incomplete:
        outcome = Outcome("unknown")
    return {
        "spec": spec["name"],
        "operator": operator,
        "unit": spec.get("unit", "session"),
        "session": unit.session,
        "turn": turn,
        "job": unit.job,
        "result": outcome.result,
        "early": early,
        "cause": "item" if early else "incomplete" if incomplete else "end_of_input",
        "decided_by": _decider(history, prefixes) if early else None,
        "witnesses": [item.reference for item in outcome.witnesses[:MOST_WITNESSES]],
        "details": details(asserted[operator], last) if operator == "expected_tools" else None,
        "revision": _revision(history, outcome.result),
    }


def _settled(spec: Spec, unit: Unit, items: Sequence[Item], gap: bool) -> str | None:
    """The result that stands after a prefix, or None while it is open."""
    if gap and operator_of(spec["assert"]) in ORDER_BOUND:
        return None
    found = members(spec, unit, items)
    if found is None:
        return None
    return judged(spec["assert"], found, by_time=unit.job is not None).settled


def _decider(history: Sequence[str | None], prefixes: Sequence[Sequence[Item]]) -> Reference:
    """The item on whose arrival the last uninterrupted run of the final result began."""
    place = len(history) - 1
    while place > 0 and history[place - 1] == history[-1]:
        place -= 1
    (item,) = [item for item in prefixes[place] if place in item.places]
    return item.reference


def _revision(history: Sequence[str | None], final: str) -> int:
    announced: list[str] = []
    for result in [*history, final]:
        if result is not None and announced[-1:] != [result]:
            announced.append(result)
    return len(announced) - 1


def _place(verdict: Verdict) -> tuple[Any, ...]:
    session, turn, job = verdict["session"], verdict["turn"], verdict["job"]
    return (
        verdict["spec"],
        (session is not None, session or ""),
        (turn is not None, turn or 0),
        (job is not None, job or ""),
    )
