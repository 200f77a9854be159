"""The oracle's items, units and lists, and its generated cases, against the page."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import judge
from .build import TRACE, Fields, call, event, one, reference, report, result, spec
from .sessions import Case, case, cases

TOOL: Fields = {"tool": {}}
STEER: Fields = {"event": "steer"}


def test_one_call_id_is_one_item_where_times_overlap() -> None:
    """A reused id must not hide a call; an overlapping report amends it."""
    at_most_one = {"count": {"match": TOOL, "max": 1}}
    first = call(1, 1, 3, call_id="c")
    assert result(at_most_one, first, call(2, 2, 5, call_id="c")) == "pass"
    assert result(at_most_one, first, call(2, 4, 5, call_id="c")) == "fail"
    bridge = call(3, 2, 5, call_id="c")
    bridged = one(at_most_one, first, call(2, 4, 5, call_id="c"), bridge)
    assert (bridged["result"], bridged["early"], bridged["revision"]) == ("pass", False, 1)
    assert bridged["witnesses"] == [reference(2)]


def test_amendment() -> None:
    """What is present overrides what was absent; the later end, then the greater text, stands."""
    ok = {"never": {"where": {"status": "error", "path": "p"}}}
    early, late = call(1, 1, 2, status="ok", path="p"), call(1, 1, 3, status="error")
    assert result(ok, late, early) == result(ok, early, late) == "fail"
    assert result(ok, late | {"end": 2, "path": "p"}, early) == "pass"


def test_homeless_records_follow_their_trace() -> None:
    """The earliest-started span that carries a session gives it; else the trace id."""
    homeless = call(1, 5, session=None)
    homes = [report("span", 2, 4, session="late"), report("span", 3, 2, session="early")]
    assert one({"never": TOOL}, homeless)["session"] == TRACE
    assert one({"never": TOOL}, homeless, *homes)["session"] == "early"
    of_event = event("x", 4, 0, session="other")
    sessions = [v["session"] for v in judge([spec({"never": TOOL})], [homeless, of_event])]
    assert sessions == [TRACE, "other"]


def test_turns_by_number_and_by_key() -> None:
    """Keys rank by their least start, and count only where no number was sent."""
    keyed = [call(1, 5, turn_key="b"), call(2, 3, turn_key="c"), report("span", 3, 1, turn_key="b")]
    verdicts = judge([spec({"eventually": TOOL}, unit="turn")], keyed)
    assert [(v["turn"], v["witnesses"]) for v in verdicts] == [
        (1, [reference(1)]),
        (2, [reference(2)]),
    ]
    numbered = judge([spec({"eventually": TOOL}, unit="turn")], [*keyed, call(4, 9, turn=7)])
    assert [v["turn"] for v in numbered] == [7]
    named = judge(
        [spec({"eventually": TOOL}, unit="turn", turns=[7, 8])], [*keyed, call(4, 9, turn=7)]
    )
    assert [(v["turn"], v["result"]) for v in named] == [(7, "pass"), (8, "fail")]
    assert result({"never": {"where": {"turn": 1}}}, call(1, 5, turn_key="b")) == "unknown"


def test_units_need_more_than_spans() -> None:
    """A session or job of spans alone is no unit."""
    assert judge([spec({"never": {"path": "*"}})], [report("span", 1, 1, path="p", job="j")]) == []
    job = {"before": {"first": TOOL, "then": STEER}}
    across = [call(1, 1, seq=9, job="j"), event("steer", 2, 2, seq=1, job="j", session="t")]
    verdict = one(job, *across, unit="job")
    assert (verdict["job"], verdict["session"], verdict["result"]) == ("j", None, "pass")


def test_gap() -> None:
    """With a lost beginning only what one more item cannot change stands."""
    reports = [call(1, 1), event("steer", 2, 2)]
    stands = one({"never": TOOL}, *reports, gap=True)
    assert (stands["result"], stands["early"], stands["cause"]) == ("fail", True, "item")
    before: Fields = {"before": {"first": TOOL, "then": STEER}}
    never: Fields = {"never": {"approval": {}}}
    for open_ended in (before, never):
        verdict = one(open_ended, *reports, gap=True)
        assert (verdict["result"], verdict["early"]) == ("unknown", False)
        assert (verdict["cause"], verdict["witnesses"]) == ("incomplete", [])


def test_listing_order_and_ten_witnesses() -> None:
    """By seq when all carry one, else by time; taken before the cut; logs last."""
    calls = [call(n, 20 - n, seq=n) for n in range(1, 13)]
    verdict = one({"never": TOOL}, *calls)
    assert verdict["witnesses"] == [reference(n) for n in range(1, 11)]
    mixed = one({"never": TOOL}, *calls, call(13, 0))
    assert mixed["witnesses"] == [reference(n) for n in (13, 12, 11, 10, 9, 8, 7, 6, 5, 4)]
    log = event("steer", 1, 1, event="log", digest="0" * 32)
    tied = one({"never": STEER}, log, event("steer", 1, 1))
    assert tied["witnesses"] == [reference(1, 0), reference(1, "log")]


def test_span_matcher() -> None:
    """Only an item born of a span has a span name."""
    reports = [report("span", 1, 1, span_name="chat gpt"), event("chat gpt", 2, 2), call(3, 3)]
    assert one({"never": {"span": "chat*"}}, *reports)["witnesses"] == [reference(1)]


@settings(deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_arrival_changes_no_result(made: Case, rng: Random) -> None:
    """Shuffled and doubled reports give the same results, witnesses and details."""
    specs, reports = made
    again = [*reports, *rng.sample(reports, len(reports) // 2)]
    rng.shuffle(again)
    kept = ("spec", "session", "turn", "job", "result", "early", "witnesses", "details")
    for gap in (False, True):
        plain, other = judge(specs, reports, gap=gap), judge(specs, again, gap=gap)
        assert [[v[k] for k in kept] for v in plain] == [[v[k] for k in kept] for v in other]


@pytest.mark.parametrize("seed", range(50))
def test_wire_cases_are_what_the_native_dialect_carries(seed: int) -> None:
    """Nothing withheld, no turn keys, events right after their span, calls only as spans."""
    _, reports = case(seed, wire=True)
    for before, report_ in zip([None, *reports], reports, strict=False):
        index = report_.get("event")
        assert not {"withheld", "turn_key"} & report_.keys()
        assert (index is None) == ("span_name" in report_)
        assert index is None or report_["kind"] == "event"
        if isinstance(index, int):
            assert before is not None
            assert before.get("event", -1) == index - 1 or (index == 0 and "event" not in before)
