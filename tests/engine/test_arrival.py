"""Live clocks change when things are told, never what is true in the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec import structs

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.operators.never import Never
from spanward.operators.operator import Explanation
from spanward.verdict import Announcement, Cause, Result
from tests.engine.arriving import RARELY, arriving, known, last_told, true_of
from tests.engine.judged import Fields, as_reports, compiled, shape
from tests.oracle.build import call, event, report
from tests.oracle.judge import judge

BLOCK = 60


@pytest.mark.parametrize("first", range(0, 1500, BLOCK))
def test_quiet_ended_and_reopened_sessions_come_to_the_oracles_verdicts(first: int) -> None:
    """Seconds and minutes pass between reports; units end, states are given back, all returns."""
    for seed, rng, specs, loaded, reports, come in arriving(first, BLOCK):
        limits = Limits(
            settle=rng.choice([0.0, 5.0]),
            idle_timeout=rng.choice([RARELY, 60.0, 20.0]),
            retain=RARELY,
            amend_window=RARELY,
        )
        engine, now = Engine(loaded, limits), 0.0
        announced: list[Announcement] = []
        for one in as_reports(loaded, come):
            announced += engine.take([one], now)
            now += rng.choice([0.0, 1.0, 7.0, 31.0, 70.0])
            announced += engine.advance(now)
        announced += engine.finish(Cause.SHUTDOWN, now)
        assert not engine.faults, f"seed {seed}"
        final = [shape(verdict) for verdict in engine.report()]
        assert true_of(final) == true_of(judge(specs, reports)), f"seed {seed}"
        stands = Counter((str(one["spec"]), str(one["result"])) for one in final)
        assert known(last_told(announced)) == known(stands), f"seed {seed}"


RM: Fields = {"never": {"tool": {"name": "rm"}}}


def _engine(*specs: Fields, **limits: Any) -> tuple[Engine, Any]:
    """An engine, and how it takes reports."""
    loaded = compiled([{"name": f"n{number}"} | one for number, one in enumerate(specs)])
    engine = Engine(loaded, Limits(**limits))

    def take(now: float, *reports: Fields) -> list[tuple[Any, ...]]:
        return _short(engine.take(as_reports(loaded, reports), now))

    return engine, take


def _short(announced: list[Announcement]) -> list[tuple[Any, ...]]:
    """Spec, turn or job or session, result, cause, revision."""
    told = [one.verdict for one in announced]
    return [
        (
            one.spec,
            one.turn or one.job or one.session,
            str(one.result),
            str(one.cause),
            one.revision,
        )
        for one in told
    ]


def test_a_fact_that_concerns_two_specs_counts_once_in_each_after_quiet() -> None:
    """States that are made anew from the facts hold the newest already."""
    count = {"count": {"match": {"tool": {}}, "max": 1}}
    of_kind = {"count": {"match": {"tool": {"kind": "shell"}}, "max": 1}}
    engine, take = _engine({"assert": count}, {"assert": of_kind})
    take(0.0, event("hello", 1, 1))
    engine.advance(31.0)
    assert take(40.0, call(2, 5, tool_kind="shell")) == []
    assert _short(engine.finish(Cause.SHUTDOWN, 41.0)) == [
        ("n0", "s", "pass", "shutdown", 0),
        ("n1", "s", "pass", "shutdown", 0),
    ]


def test_an_amendment_of_a_quiet_session_and_what_comes_after_it_are_both_counted() -> None:
    """One spec is folded anew at once, another when the next fact comes."""
    count = {"count": {"match": {"tool": {}, "output": "x"}, "max": 1}}
    engine, take = _engine({"assert": count}, {"assert": {"eventually": {"tool": {}}}})
    assert take(0.0, call(1, 1, call_id="c")) == [("n1", "s", "pass", "item", 0)]
    engine.advance(31.0)
    assert take(40.0, call(1, 1, 3, call_id="c", output="x")) == []
    assert take(41.0, call(2, 5, output="x")) == [("n0", "s", "fail", "item", 0)]


def test_a_turn_stays_whose_only_fact_is_amended_away() -> None:
    """Another item is in it, although it concerns no spec."""
    engine, take = _engine({"assert": RM, "unit": "turn"})
    take(0.0, call(1, 1, 5, turn=1, call_id="c"), event("hello", 2, 2, turn=1))
    take(1.0, call(1, 1, 6, turn=2, call_id="c"))
    assert _short(engine.finish(Cause.SHUTDOWN, 2.0)) == [
        ("n0", 1, "pass", "shutdown", 0),
        ("n0", 2, "pass", "shutdown", 0),
    ]


def test_a_session_stays_whose_homeless_items_turn_out_to_be_of_another() -> None:
    """An item that names it is in it, although it concerns no spec."""
    engine, take = _engine({"assert": RM})
    take(0.0, report("span", 9, 5, 8), call(1, 6, session=None))
    take(1.0, event("hello", 2, 7, trace="b" * 32))
    take(2.0, report("span", 8, 1, 9, session="s2"))
    assert _short(engine.finish(Cause.SHUTDOWN, 3.0)) == [
        ("n0", "s", "pass", "shutdown", 0),
        ("n0", "s2", "pass", "shutdown", 0),
    ]


@pytest.mark.parametrize("unit", ["session", "job"])
def test_facts_without_room_leave_a_gap_in_a_unit_that_begins_after_them(unit: str) -> None:
    """Plain spans come first; the second finds no room, and a unit begins with the event."""
    count = {"count": {"match": {"span": "x"}, "max": 1}}
    engine, take = _engine({"assert": count, "unit": unit}, max_facts=1)
    for number in (1, 2):
        take(0.0, report("span", number, number, span_name="x", job="j"))
    take(1.0, event("e", 3, 3, job="j"))
    ((_, _, result, cause, _),) = _short(engine.finish(Cause.SHUTDOWN, 2.0))
    assert (result, cause) == ("unknown", "incomplete")


def test_a_named_turn_that_was_judged_empty_is_the_turn_that_takes_its_number() -> None:
    """A session whose turns are known by key ended with one turn, and goes on with a second."""
    second = {"assert": {"eventually": {"tool": {}}}, "unit": "turn", "turns": [2]}
    engine, take = _engine(second, idle_timeout=20.0)
    take(0.0, call(1, 1, turn_key="a"))
    assert _short(engine.advance(20.0)) == [("n0", 2, "fail", "idle", 0)]
    take(30.0, call(2, 5, turn_key="b"))
    engine.finish(Cause.SHUTDOWN, 31.0)
    assert [(one.turn, str(one.result)) for one in engine.report()] == [(2, "pass")]


def test_a_plain_span_reopens_an_ended_unit_as_any_item_does() -> None:
    """The result that it changes is told at the end, the order that it changes once it settled."""
    some = {"count": {"match": {"span": "x"}, "min": 1, "max": 5}}
    order = {"before": {"first": {"span": "x"}, "then": {"span": "y"}}}
    engine, take = _engine({"assert": some}, {"assert": order}, idle_timeout=20.0, settle=5.0)
    take(0.0, event("e", 1, 1))
    assert _short(engine.advance(20.0)) == [
        ("n0", "s", "fail", "idle", 0),
        ("n1", "s", "not_applicable", "idle", 0),
    ]
    take(30.0, report("span", 2, 2, 3, span_name="x"), report("span", 3, 5, 6, span_name="y"))
    assert _short(engine.advance(35.0)) == [("n1", "s", "pass", "item", 1)]
    assert _short(engine.advance(50.0)) == [("n0", "s", "pass", "idle", 1)]


class _Mute(Never):
    """An operator that cannot explain itself."""

    def explain(self, state: int, result: Result, members: Any) -> Explanation:
        raise ZeroDivisionError


def test_a_fault_at_the_end_of_a_session_keeps_no_room_for_ever() -> None:
    """Its session makes room for others as any session does, and nothing is raised."""
    (loaded,) = compiled([{"name": "n", "assert": RM}])
    mute = structs.replace(loaded, operator=_Mute(loaded.operator.roles[0].matcher))
    engine = Engine([mute], Limits(max_open=1, idle_timeout=10.0))
    engine.take(as_reports([mute], [call(1, 1)]), 0.0)
    engine.advance(10.0)
    assert [type(fault) for fault in engine.faults] == [ZeroDivisionError]
    engine.faults.clear()
    for number, name in ((2, "t"), (3, "u")):
        engine.take(as_reports([mute], [event("e", number, number, session=name)]), 10.0 + number)
    assert [fault for fault in engine.faults if not isinstance(fault, ZeroDivisionError)] == []


def test_what_an_engine_has_seen_is_counted() -> None:
    """By kind and by spec; what is open, and what is kept whole."""
    engine, take = _engine({"assert": RM}, {"assert": RM, "unit": "turn"}, idle_timeout=50.0)
    take(
        0.0, call(1, 1, name="rm", turn=1, call_id="c"), call(1, 1, name="rm", turn=1, call_id="c")
    )
    take(1.0, call(1, 1, 9, name="rm", turn=1, call_id="c"), event("e", 2, 2, session="t"))
    take(2.0, report("event", 3, 3, event="log", digest="01", trace="", session=None))
    seen = engine.counters
    assert seen.items == {"tool.call": 3, "event": 2}
    assert seen.fates == {"judged": 2, "duplicate": 1, "amended": 1, "not_an_item": 1}
    assert (seen.matches, seen.violations) == ([1, 1], [1, 1])
    assert (engine.sessions_active, engine.units_open, engine.totals()) == (2, 3, (1, 1))
    engine.advance(51.0)
    assert (engine.sessions_active, engine.units_open) == (0, 0)
    assert (seen.sessions_opened, seen.sessions_closed) == (2, {"idle": 2})
    engine.advance(70.0)
    assert engine.totals() == (0, 0)
    assert seen.errors == seen.facts_dropped == 0


def test_a_fault_in_one_verdict_at_the_end_is_its_own_affair() -> None:
    """The sessions after it are ended and told; what the store cannot read is no such fault."""
    mute_spec, plain = compiled([{"name": "a-mute", "assert": RM}, {"name": "plain", "assert": RM}])
    matcher = mute_spec.operator.roles[0].matcher
    mute = structs.replace(mute_spec, operator=_Mute(matcher), turns=None, unit="turn")
    engine = Engine([mute, plain], Limits())
    engine.take(as_reports([mute, plain], [call(1, 1, session="s1", turn=1)]), 0.0)
    engine.take(as_reports([mute, plain], [call(2, 2, session="s2")]), 0.0)
    told = engine.finish(Cause.SHUTDOWN, 1.0)
    assert {(one.verdict.spec, one.verdict.session) for one in told} == {
        ("plain", "s1"),
        ("plain", "s2"),
    }
    assert [type(fault) for fault in engine.faults] == [ZeroDivisionError]

    class Blind(Never):
        def explain(self, state: int, result: Result, members: Any) -> Explanation:
            raise OSError("input/output error")

    engine = Engine([structs.replace(plain, operator=Blind(matcher))], Limits())
    engine.take(as_reports([plain], [call(1, 1)]), 0.0)
    with pytest.raises(OSError, match="input/output"):
        engine.finish(Cause.SHUTDOWN, 1.0)
