"""The life of units under the live clocks: semantics, section 6."""

from __future__ import annotations

from typing import Any

import pytest

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import APPROVAL, EVENT, SPAN, TOOL_CALL, Item, Report
from spanward.match.matcher import Matcher
from spanward.operators.never import Never
from spanward.specs.spec import Spec
from spanward.verdict import Announcement, Cause
from tests.engine.judged import compiled

NEVER: dict[str, Any] = {"name": "never", "assert": {"never": {"tool": {"name": "rm"}}}}
BEFORE: dict[str, Any] = {
    "name": "before",
    "assert": {"before": {"first": {"tool": {"name": "test"}}, "then": {"tool": {"name": "push"}}}},
}
COUNT: dict[str, Any] = {"name": "count", "assert": {"count": {"match": {"tool": {}}, "max": 2}}}
LIVE = Limits(settle=10.0, idle_timeout=100.0, retain=1000.0)


def item(name: str = "ls", at: int = 1, trace: int = 1, **fields: Any) -> Item:
    """A tool call, or an event, at a time; of session s1 unless another is given."""
    kind = fields.pop("kind", TOOL_CALL)
    known = {"session": "s1", "end_ns": at + 1, **fields}
    return Item(
        kind=kind,
        trace_id=trace.to_bytes(16, "big"),
        span_id=at.to_bytes(8, "big"),
        start_ns=at,
        name=name,
        **known,
    )


def reports(*items: Item, binds: bool = True) -> list[Report]:
    """One report for each item."""
    return [
        Report(one.trace_id, one.span_id, one.start_ns, one.session, binds, (one,)) for one in items
    ]


def engine(*specs: dict[str, Any], limits: Limits = LIVE) -> Engine:
    """An engine with some specs."""
    return Engine(compiled(specs), limits)


def told(announced: list[Announcement]) -> list[tuple[Any, ...]]:
    """Announcements in short: spec, session (or turn, or job), result, cause, revision."""
    return [
        (
            one.verdict.spec,
            one.verdict.job or one.verdict.turn or one.verdict.session,
            str(one.verdict.result),
            str(one.verdict.cause),
            one.verdict.revision,
        )
        for one in announced
    ]


def test_an_order_bound_result_waits_and_starts_anew_when_it_changes() -> None:
    """Pushed without a test; the test comes late; only what stood for the settle time is told."""
    judged = engine(BEFORE)
    assert judged.take(reports(item("push", 50)), 0.0) == []
    assert judged.advance(9.9) == []
    assert judged.take(reports(item("test", 5)), 9.9) == []
    assert judged.advance(19.8) == []
    assert told(judged.advance(19.9)) == [("before", "s1", "pass", "item", 0)]
    assert judged.advance(60.0) == []


def test_a_result_that_falls_back_is_not_told() -> None:
    """The violation was amended away before the session ended: told again only at the end."""
    judged = engine(NEVER)
    wrong = item("rm", 1, call_id="c", end_ns=2)
    right = item("ls", 1, call_id="c", end_ns=9)
    assert told(judged.take(reports(wrong), 0.0)) == [("never", "s1", "fail", "item", 0)]
    assert judged.take(reports(right), 1.0) == []
    assert told(judged.advance(200.0)) == [("never", "s1", "pass", "idle", 1)]


def test_a_session_ends_one_settle_time_after_it_said_so_or_after_what_came_then() -> None:
    """An item after the end signal puts the end off; a late one reopens, for one settle time."""
    judged = engine(NEVER, BEFORE)
    judged.take(reports(item("ls", 1), item("session.end", 2, kind=EVENT, ends=True)), 0.0)
    judged.take(reports(item("ls", 3), item("session.end", 4, kind=EVENT, ends=True)), 5.0)
    assert judged.advance(14.9) == []
    assert told(judged.advance(15.0)) == [
        ("never", "s1", "pass", "session_end", 0),
        ("before", "s1", "not_applicable", "session_end", 0),
    ]
    assert (judged.sessions_active, judged.units_open) == (0, 0)
    assert judged.take(reports(item("push", 9)), 20.0) == []
    assert judged.sessions_active == 1
    assert told(judged.advance(30.0)) == [("before", "s1", "fail", "item", 1)]
    assert judged.counters.sessions_closed["ended"] == 2


def test_a_unit_that_ends_before_its_result_settled_is_told_as_not_early() -> None:
    """The session ends in between."""
    judged = engine(BEFORE, limits=Limits(settle=10.0, idle_timeout=3.0))
    judged.take(reports(item("push", 1)), 0.0)
    (one,) = judged.advance(3.0)
    assert told([one]) == [("before", "s1", "fail", "idle", 0)]
    assert not one.verdict.early
    assert judged.advance(20.0) == []


def test_turns_end_when_a_later_one_has_begun_and_settled() -> None:
    """By number; an earlier one that is reopened ends again; the last ends with the session."""
    judged = engine({**COUNT, "unit": "turn"})
    judged.take(reports(item(at=1, turn=1), item(at=2, turn=2)), 0.0)
    assert told(judged.advance(10.0)) == [("count", 1, "pass", "turn_end", 0)]
    late = [item(at=number, turn=1) for number in (3, 4)]
    assert told(judged.take(reports(*late), 12.0)) == [("count", 1, "fail", "item", 1)]
    assert judged.advance(22.0) == []
    assert told(judged.advance(200.0)) == [("count", 2, "pass", "idle", 0)]


def test_turns_known_by_key_end_alike() -> None:
    """The later one by start."""
    judged = engine({**COUNT, "unit": "turn"})
    judged.take(reports(item(at=9, turn_key="b"), item(at=1, turn_key="a")), 0.0)
    assert told(judged.advance(10.0)) == [("count", 1, "pass", "turn_end", 0)]
    judged.take(reports(item(at=11, turn_key="b")), 11.0)
    assert told(judged.advance(200.0)) == [("count", 2, "pass", "idle", 0)]


def test_keys_stop_counting_when_a_number_comes() -> None:
    """What was told of a turn by key is withdrawn; by number it is judged anew."""
    judged = engine({**NEVER, "unit": "turn"})
    judged.take(reports(item("rm", 1, turn_key="k")), 0.0)
    announced = judged.take(reports(item("rm", 2, turn=7)), 1.0)
    assert sorted(told(announced)) == [
        ("never", 1, "unknown", "merged", 1),
        ("never", 7, "fail", "item", 0),
    ]


def test_a_job_ends_by_idleness_and_is_reopened() -> None:
    """Across sessions; after retention its name begins in a gap."""
    judged = engine({**COUNT, "unit": "job"}, {**BEFORE, "unit": "job"})
    judged.take(reports(item(at=1, job="j"), item(at=2, job="j", session="s2")), 0.0)
    judged.take(reports(item(at=3, job="other")), 50.0)
    assert told(judged.advance(100.0)) == [
        ("count", "j", "pass", "idle", 0),
        ("before", "j", "not_applicable", "idle", 0),
    ]
    assert told(judged.take(reports(item(at=4, job="j")), 120.0)) == [
        ("count", "j", "fail", "item", 1)
    ]
    judged.advance(300.0)
    judged.advance(1300.0)
    judged.take(reports(item("push", 9, session="s9", job="j")), 1301.0)
    assert told(judged.finish(Cause.SHUTDOWN, 1302.0)) == [
        ("count", "j", "unknown", "incomplete", 0),
        ("before", "j", "unknown", "incomplete", 0),
    ]


def test_a_trace_that_finds_its_session_takes_its_items_there() -> None:
    """What was told under the trace's name is withdrawn, and told of the session."""
    judged = engine(NEVER, COUNT)
    homeless = [item("rm", at, session=None) for at in (5, 6)]
    hex_name = (1).to_bytes(16, "big").hex()
    judged.take(reports(homeless[0], item("ls", 7, session=None, call_id="c")), 0.0)
    announced = judged.take(reports(item("chat", 1, kind=SPAN)), 1.0)
    assert told(announced) == [
        ("never", hex_name, "unknown", "merged", 1),
        ("never", "s1", "fail", "item", 0),
    ]
    assert told(judged.take(reports(homeless[1]), 2.0)) == [("count", "s1", "fail", "item", 0)]
    assert judged.counters.sessions_closed["merged"] == 1


def test_a_session_that_ended_homeless_ends_where_it_is_found() -> None:
    """The end signal moves with the trace."""
    judged = engine(NEVER)
    ended = item("session.end", 5, session=None, kind=EVENT, ends=True)
    judged.take(reports(item("ls", 4, session=None), ended), 0.0)
    judged.take(reports(item("chat", 1, kind=SPAN)), 1.0)
    assert told(judged.advance(11.0)) == [("never", "s1", "pass", "session_end", 0)]


def test_calls_that_moved_after_the_amend_window_are_all_counted() -> None:
    """A reused call id hides no call; one that overlaps is the same one, told too late."""
    judged = engine(COUNT)
    homeless = [item(at=at, session=None, call_id="c") for at in (1, 2, 400)]
    judged.take(reports(*homeless), 0.0)
    judged.take(reports(item(at=100, trace=2, call_id="c")), 0.0)
    judged.take(reports(item(at=400, trace=2, call_id="c")), 0.0)
    judged.advance(61.0)
    withdrawn, found = judged.take(reports(item("chat", 1, kind=SPAN)), 62.0)
    assert told([withdrawn, found])[1] == ("count", "s1", "fail", "item", 0)
    assert found.verdict.reason == "4 matched, expected at most 2"
    assert judged.counters.absorbed == 1


def test_reports_after_the_amend_window() -> None:
    """Of a known execution: late and ignored; of another one under the same id: a call more."""
    judged = engine(COUNT)
    judged.take(reports(item(at=1, call_id="c")), 0.0)
    judged.take(reports(item(at=1, call_id="c")), 1.0)
    assert judged.counters.fates["duplicate"] == 1
    judged.advance(61.0)
    judged.take(reports(item("rm", 1, call_id="c")), 62.0)
    assert judged.counters.fates["late"] == 1
    more = reports(item(at=50, call_id="c"), item(at=70, call_id="c"))
    assert told(judged.take(more, 63.0)) == [("count", "s1", "fail", "item", 0)]
    assert judged.counters.matches == [3]


def test_an_approval_that_is_sent_again_after_the_window_is_no_second_one() -> None:
    """It has a call id, but is known by its record, as whatever is no call."""
    spec = {"name": "one", "assert": {"count": {"match": {"approval": {}}, "max": 1}}}
    judged = engine(spec)
    judged.take(reports(item("ask", 1, kind=APPROVAL, call_id="c")), 0.0)
    judged.advance(61.0)
    assert judged.take(reports(item("ask", 1, kind=APPROVAL, call_id="c")), 62.0) == []
    assert judged.counters.fates == {"judged": 1, "late": 1}
    assert told(judged.finish(Cause.SHUTDOWN, 63.0)) == [("one", "s1", "pass", "shutdown", 0)]


def test_a_sender_may_not_repeat_itself_for_ever() -> None:
    """Beyond a hundred distinct reports of one execution they are late."""
    judged = engine(COUNT)
    for number in range(105):
        judged.take(reports(item(f"n{number}", 1, call_id="c", end_ns=10 + number)), 0.0)
    assert judged.counters.fates["late"] == 5
    assert judged.counters.fates["amended"] == 99


def test_items_without_a_call_id_are_amended_by_rank() -> None:
    """The same report is a duplicate, a greater one stands, a lesser one is late."""
    judged = engine(NEVER)
    assert told(judged.take(reports(item("rm", 1, end_ns=5)), 0.0)) == [
        ("never", "s1", "fail", "item", 0)
    ]
    judged.take(reports(item("rm", 1, end_ns=5)), 1.0)
    judged.take(reports(item("rm", 1, end_ns=9)), 1.0)
    judged.take(reports(item("rm", 1, end_ns=4)), 1.0)
    counters = judged.counters
    assert counters.fates == {"judged": 1, "duplicate": 1, "amended": 1, "late": 1}


def test_an_item_of_nobody_is_no_item() -> None:
    """A log record with neither trace nor session."""
    judged = engine(NEVER)
    nobody = Item(kind=EVENT, trace_id=b"", span_id=b"", start_ns=1, end_ns=1, name="e")
    judged.take([Report(b"", b"", 1, None, False, (nobody,))], 0.0)
    assert judged.counters.fates["not_an_item"] == 1
    assert judged.sessions_active == 0


def test_quiet_sessions_give_their_states_back_and_lose_nothing() -> None:
    """After half a minute; the next item, the settle time and the end find the facts again."""
    specs = (NEVER, BEFORE, COUNT, {**COUNT, "name": "turns", "unit": "turn"})
    judged = engine(*specs, limits=Limits(settle=40.0, idle_timeout=500.0))
    judged.take(reports(item("push", 5, turn=1), item(at=6, turn=1)), 0.0)
    judged.advance(20.0)
    judged.take(reports(item("chat", 7, kind=SPAN)), 20.0)
    judged.advance(31.0)
    judged.advance(35.0)
    judged.advance(60.0)
    assert told(judged.take(reports(item(at=8, turn=1)), 61.0)) == [
        ("count", "s1", "fail", "item", 0),
        ("turns", 1, "fail", "item", 0),
    ]
    assert told(judged.take(reports(item("rm", 9, turn=1)), 62.0)) == [
        ("never", "s1", "fail", "item", 0)
    ]


@pytest.mark.parametrize("facts", [64, 65])
def test_long_sessions_too(facts: int) -> None:
    """They keep their states, so that an item does not cost more the longer its session is."""
    most = {"name": "most", "assert": {"count": {"match": {"tool": {}}, "max": facts}}}
    judged = engine(most, limits=Limits(settle=40.0, idle_timeout=500.0))
    judged.take(reports(*(item(at=at) for at in range(1, facts + 1))), 0.0)
    judged.advance(31.0)
    assert told(judged.take(reports(item(at=900)), 32.0)) == [("most", "s1", "fail", "item", 0)]


def test_settled_results_survive_the_cold() -> None:
    """An order-bound result that stood long enough is told although its state is gone."""
    judged = engine(BEFORE, limits=Limits(settle=40.0, idle_timeout=500.0))
    judged.take(reports(item("push", 5)), 0.0)
    judged.advance(31.0)
    assert told(judged.advance(40.0)) == [("before", "s1", "fail", "item", 0)]


def test_a_reopened_result_is_not_told_again() -> None:
    """Told at the end, and due to settle after the session was reopened: nothing is new."""
    judged = engine(BEFORE, limits=Limits(settle=10.0, idle_timeout=5.0))
    judged.take(reports(item("push", 1)), 0.0)
    assert told(judged.advance(5.0)) == [("before", "s1", "fail", "idle", 0)]
    judged.take(reports(item("ls", 2)), 6.0)
    assert judged.advance(10.0) == []


def test_what_says_nothing_new_keeps_a_session_alive() -> None:
    """Events that leave no fact: in the latest turn, in an earlier one, with a job, by key."""
    specs = ({**COUNT, "unit": "turn"}, {**NEVER, "name": "job", "unit": "job"})
    judged = engine(*specs)
    events = [
        item("e", 1, kind=EVENT, turn=1),
        item("e", 2, kind=EVENT, turn=1),
        item("e", 3, kind=EVENT, turn=2),
        item("e", 4, kind=EVENT, turn=1),
        item("e", 5, kind=EVENT),
        item("e", 6, kind=EVENT, job="j"),
        item("e", 7, kind=EVENT, session=None, trace=9),
    ]
    judged.take(reports(*events), 0.0)
    judged.take(reports(item("e", 8, kind=EVENT, turn=2)), 90.0)
    assert told(judged.advance(100.0)) == [
        ("count", 1, "pass", "turn_end", 0),
        ("job", "j", "pass", "idle", 0),
    ]
    assert told(judged.advance(190.0)) == [("count", 2, "pass", "idle", 0)]


def test_a_spec_that_the_empty_set_settles_is_told_at_the_first_item() -> None:
    """Of the turns that it judges only."""
    free = {"name": "free", "unit": "turn", "turns": [1],
            "assert": {"count": {"match": {"tool": {}}, "min": 0}}}  # fmt: skip
    judged = engine(free)
    announced = judged.take(reports(item(at=1, turn=2), item(at=2, turn=1)), 0.0)
    assert told(announced) == [("free", 1, "pass", "item", 0)]


def test_a_key_that_is_outranked_is_withdrawn_where_only_some_turns_are_judged() -> None:
    """Told while it was the second turn, which it is no longer."""
    judged = engine({**NEVER, "unit": "turn", "turns": [2]})
    first, second = item(at=5, turn_key="a"), item("rm", 9, turn_key="b")
    assert told(judged.take(reports(first, second), 0.0)) == [("never", 2, "fail", "item", 0)]
    judged.take(reports(item(at=1, turn_key="c"), item("rm", 6, turn_key="a")), 1.0)
    finished = told(judged.finish(Cause.SHUTDOWN, 2.0))
    assert ("never", 3, "unknown", "merged", 1) in finished


def test_a_session_that_was_dropped_and_came_back_takes_nothing_back() -> None:
    """Reports kept from before belong to the session that is gone."""
    judged = engine(NEVER, limits=Limits(max_open=1))
    judged.take(reports(item("ls", 5, session=None, call_id="c")), 0.0)
    judged.take(reports(item("ls", 6, session="other", trace=2)), 1.0)
    judged.take(reports(item("chat", 1, kind=SPAN)), 2.0)
    judged.take(reports(item("ls", 5, session=None, call_id="c")), 3.0)
    judged.advance(61.0)
    judged.advance(64.0)
    assert not judged.faults


def test_kept_reports_of_dropped_and_moved_items_expire_quietly() -> None:
    """Of a trace that is gone, and of an identity that was given up when its trace moved."""
    judged = engine(NEVER, limits=Limits(max_open=1))
    judged.take(reports(item("ls", 5, session=None, call_id="c")), 0.0)
    judged.take(reports(item("ls", 6, session="other", trace=2)), 1.0)
    judged.advance(61.0)
    moved = engine(NEVER)
    moved.take(reports(item("ls", 5, session=None, call_id="c")), 0.0)
    moved.take(reports(item("chat", 1, kind=SPAN)), 1.0)
    moved.advance(62.0)
    assert not judged.faults
    assert not moved.faults


def test_what_was_placed_in_a_dropped_session_is_not_taken_back() -> None:
    """A record that named another session, since evicted, is asked again when its trace moves."""
    judged = engine(NEVER, limits=Limits(max_open=2))
    judged.take(reports(item("chat", 50, kind=SPAN, session="a")), 0.0)
    pending: dict[str, Any] = {"kind": "approval", "call_id": "c"}
    judged.take(reports(item("ls", 5, session=None, **pending), binds=False), 1.0)
    judged.take(reports(item("ls", 5, session="b", **pending, end_ns=9), binds=False), 2.0)
    judged.take(reports(item("ls", 60, session="a", trace=3)), 3.0)
    judged.take(reports(item("ls", 70, session="d", trace=4)), 4.0)
    judged.take(reports(item("chat", 1, kind=SPAN, session="d")), 5.0)
    assert not judged.faults


def test_a_turn_that_ended_with_its_session_does_not_end_again() -> None:
    """Idle before the later turn had settled."""
    judged = engine({**COUNT, "unit": "turn"}, limits=Limits(settle=10.0, idle_timeout=5.0))
    judged.take(reports(item(at=1, turn=1), item(at=2, turn=2)), 0.0)
    assert len(judged.advance(5.0)) == 2
    assert judged.advance(10.0) == []


def test_the_least_recent_session_is_found_past_those_that_are_gone() -> None:
    """Deadlines of dropped and reopened sessions are passed over."""
    judged = engine(NEVER, limits=Limits(max_open=2, idle_timeout=100.0, settle=5.0))
    judged.take(reports(item(at=1, session="a"), item(at=2, session="b")), 0.0)
    ended = item("session.end", 3, kind=EVENT, ends=True, session="a")
    judged.take(reports(ended), 1.0)
    judged.advance(6.0)
    judged.take(reports(item(at=4, session="a")), 7.0)
    judged.take(reports(item(at=5, session="c")), 8.0)
    judged.take(reports(item(at=6, session="d")), 9.0)
    assert judged.counters.sessions_closed == {"ended": 1, "evicted": 2}


def test_the_quietest_session_makes_room() -> None:
    """Ended ones first, then the one that was quiet longest: told as evicted, and known again."""
    judged = engine(NEVER, BEFORE, limits=Limits(max_open=2, idle_timeout=100.0))
    judged.take(reports(item(at=1, session="a"), item("push", 2, session="b")), 0.0)
    judged.take(reports(item(at=3, session="a")), 90.0)
    assert told(judged.take(reports(item(at=4, session="c")), 91.0)) == [
        ("never", "b", "unknown", "evicted", 0),
        ("before", "b", "unknown", "evicted", 0),
    ]
    judged.take(reports(item("rm", 5, session="b")), 92.0)
    assert told(judged.finish(Cause.SHUTDOWN, 93.0))[-1] == (
        "before", "b", "unknown", "incomplete", 0,
    )  # fmt: skip
    assert judged.counters.sessions_closed["evicted"] == 2


def test_ended_sessions_go_first() -> None:
    """Nothing more is to be told of them."""
    judged = engine(NEVER, limits=Limits(max_open=2, idle_timeout=100.0))
    judged.take(reports(item(at=1, session="a")), 0.0)
    judged.take(reports(item(at=2, session="b")), 50.0)
    assert told(judged.advance(100.0)) == [("never", "a", "pass", "idle", 0)]
    assert judged.take(reports(item(at=3, session="c")), 101.0) == []
    judged.take(reports(item(at=4, session="b")), 102.0)
    assert judged.counters.sessions_closed == {"idle": 1}


def test_an_evicted_turn_that_was_final_stays_so() -> None:
    """Only what is open is told as evicted."""
    judged = engine({**COUNT, "unit": "turn"}, limits=Limits(max_open=1, settle=1.0))
    judged.take(reports(item(at=1, turn=1), item(at=2, turn=2)), 0.0)
    judged.advance(1.0)
    announced = judged.take(reports(item(at=3, session="b", turn=1)), 2.0)
    assert told(announced) == [("count", 2, "unknown", "evicted", 0)]


def test_what_was_settled_is_kept_when_a_session_is_evicted() -> None:
    """A violation stays a violation."""
    judged = engine(NEVER, limits=Limits(max_open=1))
    judged.take(reports(item("rm", 1, session="a")), 0.0)
    assert judged.take(reports(item(at=2, session="b")), 1.0) == []


def test_retention_ends_and_the_name_begins_in_a_gap() -> None:
    """A session that returns after it was forgotten is not known to be complete."""
    judged = engine(NEVER, BEFORE, {**BEFORE, "name": "job", "unit": "job"})
    judged.take(reports(item("push", 1, job="j")), 0.0)
    judged.advance(100.0)
    judged.take(reports(item("chat", 2, session="s2", job="j", kind=EVENT)), 990.0)
    judged.advance(1000.0)
    judged.take(reports(item(at=3)), 1001.0)
    finished = told(judged.finish(Cause.SHUTDOWN, 1002.0))
    assert ("never", "s1", "unknown", "incomplete", 0) in finished
    assert ("before", "s1", "unknown", "incomplete", 0) in finished
    assert ("job", "j", "unknown", "incomplete", 1) in finished


def test_a_trace_that_was_dropped_leaves_its_gap_to_its_session() -> None:
    """Bound later, the session is not known to be complete either."""
    judged = engine(BEFORE, limits=Limits(max_open=1))
    judged.take(reports(item("push", 5, session=None)), 0.0)
    judged.take(reports(item(at=6, session="other", trace=2)), 1.0)
    judged.take(reports(item(at=1)), 2.0)
    assert told(judged.finish(Cause.SHUTDOWN, 3.0))[-1][2:4] == ("unknown", "incomplete")


def test_beyond_max_facts_a_violation_is_still_seen() -> None:
    """The session is in a gap; what settles something is kept, the rest is counted."""
    specs = (NEVER, BEFORE, COUNT, {**NEVER, "name": "job", "unit": "job"})
    judged = engine(*specs, limits=Limits(max_facts=2, settle=1000.0))
    judged.take(reports(item("push", 1, job="j"), item(at=2, job="j")), 0.0)
    judged.take(reports(item("test", 3, kind=EVENT)), 0.0)
    assert told(judged.take(reports(item(at=4, job="j")), 1.0)) == [
        ("count", "s1", "fail", "item", 0)
    ]
    judged.take(reports(item(at=5, job="j"), item(at=6, job="j")), 2.0)
    assert judged.counters.facts_dropped == 2
    assert told(judged.take(reports(item("rm", 7, job="j")), 3.0)) == [
        ("never", "s1", "fail", "item", 0),
        ("job", "j", "fail", "item", 0),
    ]
    assert told(judged.finish(Cause.SHUTDOWN, 4.0)) == [
        ("before", "s1", "unknown", "incomplete", 0)
    ]


def test_a_gap_moves_with_a_trace() -> None:
    """A homeless session over its limit makes the session that it is found to be incomplete."""
    judged = engine(NEVER, BEFORE, limits=Limits(max_facts=2))
    named = [item(at=at, trace=2) for at in (20, 21)]
    homeless = [item("test", at, session=None) for at in range(2, 9)]
    judged.take(reports(*named, *homeless), 0.0)
    judged.take(reports(item("chat", 1, kind=SPAN)), 1.0)
    finished = told(judged.finish(Cause.SHUTDOWN, 2.0))
    assert ("before", "s1", "unknown", "incomplete", 0) in finished


def test_an_amended_item_moves_between_jobs_sessions_and_turns() -> None:
    """What no step is left of is withdrawn."""
    judged = engine(
        {**NEVER, "unit": "job"}, {**NEVER, "name": "turn", "unit": "turn"}, NEVER | {"name": "s"}
    )
    judged.take(reports(item("rm", 1, call_id="c", job="j", turn=1)), 0.0)
    announced = judged.take(reports(item("rm", 1, call_id="c", job="k", turn=2, end_ns=9)), 1.0)
    assert sorted(told(announced)) == [
        ("never", "j", "unknown", "merged", 1),
        ("never", "k", "fail", "item", 0),
        ("turn", 1, "unknown", "merged", 1),
        ("turn", 2, "fail", "item", 0),
    ]


def test_an_amendment_of_an_evicted_sessions_item_is_an_item_anew() -> None:
    """What it was before is gone with its session."""
    judged = engine(NEVER, limits=Limits(max_open=1, amend_window=60.0))
    judged.take(reports(item("ls", 1, session="a", call_id="c", kind="approval")), 0.0)
    judged.take(reports(item("ls", 2, session="b")), 1.0)
    moved = item("rm", 1, session="b", call_id="c", end_ns=9, kind="approval")
    judged.take(reports(moved), 2.0)
    assert not judged.faults


def test_a_homeless_report_that_was_merged_moves_its_item() -> None:
    """One report names the session, the other came by its trace: rebinding asks both again."""
    judged = engine(COUNT)
    judged.take(reports(item("chat", 50, kind=SPAN, session="old")), 0.0)
    judged.take(reports(item(at=5, session=None, call_id="c")), 0.0)
    judged.take(reports(item(at=5, session="old", call_id="c", trace=2)), 0.0)
    judged.take(reports(item("chat", 1, kind=SPAN, session="new")), 1.0)
    finished = {one[1]: one[2] for one in told(judged.finish(Cause.SHUTDOWN, 2.0))}
    assert finished == {"old": "pass", "new": "pass"}


class _Broken:
    """A test that cannot answer."""

    key = "broken"
    cheap = False

    def __call__(self, item: Item) -> bool:
        if item.name == "boom":
            raise ZeroDivisionError
        return item.name == "rm"

    def found(self, item: Item) -> str:
        return "nothing"


class _BrokenNever(Never):
    """An operator that cannot explain."""

    def explain(self, state: Any, result: Any, members: Any) -> Any:
        raise ZeroDivisionError


def _spec(operator: Any) -> Spec:
    (plain,) = compiled([NEVER])
    return Spec(**{field: getattr(plain, field) for field in Spec.__struct_fields__}
                | {"operator": operator})  # fmt: skip


def test_a_fault_of_one_record_leaves_the_others_alone() -> None:
    """It is counted and kept for whoever logs it; nothing is raised."""
    judged = Engine([_spec(Never(Matcher("broken", (_Broken(),))))], LIVE)
    announced = judged.take(reports(item("boom", 1), item("rm", 2)), 0.0)
    assert told(announced) == [("never", "s1", "fail", "item", 0)]
    assert judged.counters.errors == 1
    assert isinstance(judged.faults[0], ZeroDivisionError)


def test_a_fault_of_one_unit_leaves_the_others_alone() -> None:
    """Whatever is due is done, as far as it can be."""
    judged = Engine([_spec(_BrokenNever(Matcher("ok", (_Broken(),))))], LIVE)
    judged.take(reports(item("ls", 1), item("ls", 2, session="s2")), 0.0)
    assert judged.advance(200.0) == []
    assert judged.counters.errors == 2


def test_a_turn_named_by_a_spec_is_judged_when_it_is_empty() -> None:
    """At the end of the session; a later item makes it a turn like any other."""
    judged = engine(
        {**COUNT, "unit": "turn", "turns": [2]}, {**COUNT, "name": "all", "unit": "turn"}
    )
    judged.take(reports(item(at=1, turn=1)), 0.0)
    assert told(judged.advance(100.0)) == [
        ("all", 1, "pass", "idle", 0),
        ("count", 2, "pass", "idle", 0),
    ]
    late = [item(at=at, turn=2) for at in (2, 3, 4)]
    assert told(judged.take(reports(*late), 101.0)) == [
        ("count", 2, "fail", "item", 1),
        ("all", 2, "fail", "item", 0),
    ]


def test_an_item_that_moves_is_counted_once() -> None:
    """Its session is found late, or a later report of its record names another one."""
    asked = {"name": "asked", "assert": {"never": {"approval": {}}}}
    judged = engine(NEVER, asked)
    judged.take(reports(item("rm", 1, session=None)), 0.0)
    judged.take(reports(item("rm", 2, session=None, call_id="c")), 0.0)
    judged.take(reports(item("chat", 3, kind=SPAN)), 1.0)
    assert judged.counters.violations == [2, 0]
    assert judged.counters.matches == [2, 0]
    first = item("rm", 4, kind=APPROVAL, call_id="d", trace=2)
    later = item("rm", 4, kind=APPROVAL, call_id="d", trace=2, session="s2", end_ns=9)
    judged.take(reports(first, later), 1.0)
    assert judged.counters.violations == [2, 1]


@pytest.mark.parametrize(
    ("redacts", "got"), [(False, "'s3cret, got caught'"), (True, "a value that is not shown")]
)
def test_values_of_arguments_can_be_kept_out_of_reasons(got: str, *, redacts: bool) -> None:
    """What was expected stands in the spec; what was there instead may be a secret."""
    wanted = {"name": "login", "args": {"token": "x, got y"}}
    spec = {"name": "login", "unit": "session", "assert": {"expected_tools": [wanted]}}
    judged = engine(spec, limits=Limits(redact_values=redacts))
    judged.take(reports(item("login", args={"token": "s3cret, got caught"})), 0.0)
    (told_,) = judged.finish(Cause.SHUTDOWN, 1.0)
    expected = "'x, got y', got " if not redacts else "'x, got "
    assert told_.verdict.reason == f"arg 'token' mismatch: expected {expected}{got}"
    assert told_.verdict.details is not None
    assert told_.verdict.details[0]["unmatched_reason"] == told_.verdict.reason
