"""Judges cases with the product's engine, and gives its verdicts as cases expect them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.item import EVENT, ON_LOG, ON_SPAN, Attributes, Item, Report
from spanward.specs.loader import load_text
from spanward.specs.spec import Spec
from spanward.verdict import Announcement, Cause, Verdict, Witness

from .case import BASE, Case, by_listing
from .parts import Fields

OFFLINE: Final = Limits(settle=0.0, amend_window=None)
"""The clocks of ``check``: every item is kept, a result stands at once."""
LIVE: Final = Limits(settle=0.0)
"""The clocks of the service, but for the time to settle."""
ROOM_FOR_ONE: Final = 1
"""Sessions that are kept where a case loses the beginning of its unit."""

STANDS: Final = ("session", "turn", "job", "result", "witnesses", "details", "reason")
"""What depends on the set of items only."""
ALL: Final = (*STANDS, "early", "cause", "decided_by", "revision")
"""That, and what depends on the order of arrival."""
LASTING: Final = ("session", "job", "result")
"""What the last announcement of a unit says rightly, even if what it showed has changed since."""
ANNOUNCED: Final = ("early", "revision")
"""What an announcement says of its arrival."""

_ANOTHER: Final = "another"
"""The session whose arrival drops the one of a case with a gap."""
_CLIP: Final = 500
"""Characters that specs see of an input or output (semantics, section 1)."""
_LISTS: Final = ("ops", "diff_files")
_APART: Final = frozenset(
    "trace span event digest start end attributes span_attributes scope resource withheld".split()
)


def compiled(cases: Sequence[Case]) -> tuple[Spec, ...]:
    """The specs of some cases of one file."""
    problems = Problems()
    text = "\n---\n".join(json.dumps(case.spec, ensure_ascii=False) for case in cases)
    specs = load_text(text, "specs.yaml", problems)
    assert not problems.errors, render_all(problems.errors)
    return specs


def reports(specs: Sequence[Spec], told: Iterable[Fields]) -> list[Report]:
    """What a dialect would have made of the items: one report for each."""
    matchers = [role.matcher for spec in specs for role in spec.operator.roles]
    asked = frozenset[str]().union(*(matcher.attributes for matcher in matchers))
    made = []
    for one in told:
        item = _item(one, asked)
        binds = "event" not in one
        made.append(
            Report(item.trace_id, item.span_id, item.start_ns, item.session, binds, (item,))
        )
    return made


def offline(specs: Sequence[Spec], told: Sequence[Report], *, gap: bool = False) -> list[Verdict]:
    """The final verdicts of ``check``; with ``gap``, in sessions that were dropped before."""
    engine = _begun(specs, OFFLINE, told, gap=gap)
    engine.foresee(told, 0.0)
    engine.take(told, 0.0)
    engine.finish(Cause.END_OF_INPUT, 0.0)
    assert not engine.faults, engine.faults
    return engine.report()


def live(
    specs: Sequence[Spec], told: Sequence[Report], *, gap: bool = False
) -> tuple[list[Announcement], list[Verdict]]:
    """What the service announces, item by item and at its shutdown; and the final verdicts."""
    engine = _begun(specs, LIVE, told, gap=gap)
    announced = [one for report in told for one in engine.take([report], 0.0)]
    announced += engine.finish(Cause.SHUTDOWN, 0.0)
    assert not engine.faults, engine.faults
    return [one for one in announced if one.verdict.session != _ANOTHER], engine.report()


def last_of_each(announced: Iterable[Announcement]) -> list[Announcement]:
    """What was announced last of each unit, in the order in which units were first announced."""
    return list({unit_of(one): one for one in announced}.values())


def unit_of(one: Announcement) -> tuple[Any, ...]:
    """What a unit is known by: a turn without a number by its key."""
    verdict = one.verdict
    turn = verdict.turn if one.turn_key is None else one.turn_key
    return (verdict.spec, verdict.session, turn, verdict.job)


def listing(verdict: Verdict) -> tuple[Any, ...]:
    """The order in which the verdicts of one spec are listed."""
    return by_listing(shape(verdict))


def shape(verdict: Verdict) -> Fields:
    """A verdict as a case expects it."""
    decider = verdict.decided_by
    return {
        "session": verdict.session,
        "turn": verdict.turn,
        "job": verdict.job,
        "result": str(verdict.result),
        "early": verdict.early,
        "cause": str(verdict.cause),
        "decided_by": None if decider is None else reference(decider),
        "witnesses": [reference(witness) for witness in verdict.witnesses],
        "revision": verdict.revision,
        "details": verdict.details,
        "reason": verdict.reason,
    }


def reference(witness: Witness) -> tuple[str, str, int | str | None]:
    """A witness as a case refers to it."""
    return (witness.trace_id, witness.span_id, witness.event)


def compared(
    verdicts: Iterable[Verdict], expect: Sequence[Fields], fields: Sequence[str]
) -> tuple[list[Fields], list[Fields]]:
    """What the verdicts say in some fields, and what they should say: all of it and no more.

    A reason that holds the expected words is the expected one.
    """
    said = [shape(verdict) for verdict in verdicts]
    for one, expected in zip(said, expect, strict=False):
        if expected["reason"] in one["reason"]:
            one["reason"] = expected["reason"]
    return only(fields, said), only(fields, expect)


def only(fields: Sequence[str], rows: Iterable[Fields]) -> list[Fields]:
    """The rows with these fields."""
    return [{field: row[field] for field in fields} for row in rows]


def _begun(specs: Sequence[Spec], limits: Limits, told: Sequence[Report], *, gap: bool) -> Engine:
    """An engine; with ``gap``, one that has dropped the session of the reports already."""
    if not gap:
        return Engine(specs, limits)
    room = Limits(settle=limits.settle, amend_window=limits.amend_window, max_open=ROOM_FOR_ONE)
    engine = Engine(specs, room)
    sessions = {report.session for report in told}
    assert len(sessions) == 1, "a gap is told of one session"
    for session in (*sessions, _ANOTHER):
        engine.take([_forgotten(session)], 0.0)
    return engine


def _forgotten(session: str | None) -> Report:
    """A step that is dropped with its session when the next session comes."""
    name = session or ""
    ids = (b"\xff" * 16, name.encode().ljust(8, b"\xff")[:8])
    item = Item(
        kind=EVENT, trace_id=ids[0], span_id=ids[1], event=0, start_ns=BASE, end_ns=BASE,
        session=session, name="forgotten",
    )  # fmt: skip
    return Report(*ids, BASE, session, False, (item,))


def _item(report: Fields, asked: frozenset[str]) -> Item:
    fields: dict[str, Any] = {key: v for key, v in report.items() if key not in _APART}
    for key in _LISTS:
        if key in fields:
            fields[key] = tuple(fields[key])
    for key in ("input", "output"):
        if key in fields:
            fields[key] = fields[key].removesuffix("\n")[:_CLIP]
    event = report.get("event")
    outer = ("span_attributes",) if isinstance(event, int) else ()
    return Item(
        trace_id=bytes.fromhex(report["trace"]),
        span_id=bytes.fromhex(report["span"]),
        event=ON_LOG if event == "log" else ON_SPAN if event is None else event,
        digest=bytes.fromhex(report.get("digest", "")),
        start_ns=report["start"],
        end_ns=max(report["start"], report["end"]),
        attributes=_asked(report, "attributes", asked),
        outer=tuple(_asked(report, key, asked) for key in (*outer, "scope", "resource")),
        withheld=frozenset(report.get("withheld", ())),
        ends=report["kind"] == EVENT and report["name"] == "session.end",
        **fields,
    )


def _asked(report: Fields, key: str, asked: frozenset[str]) -> Attributes:
    attributes: Attributes = report.get(key, {})
    return {name: v for name, v in attributes.items() if name in asked and v is not None}
