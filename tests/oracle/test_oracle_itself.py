"""The oracle against expectations read from the page by hand."""

from __future__ import annotations

from typing import Any

import pytest

from .build import Fields, call, event, one, reference, report, result
from .values import argument, equal, fuzzy, passes

TOOL: Fields = {"tool": {}}
STEER: Fields = {"event": "steer"}


def expected(args: Fields | None, *actual: Fields, count: int = 1, **more: Any) -> Fields:
    """The verdict about calls of `subtract` with these arguments, one after the other."""
    entry = {"name": "subtract", "count": count} | ({"args": args} if args is not None else {})
    calls = [call(n, n, name="subtract", args=a) for n, a in enumerate(actual, start=1)]
    return one({"expected_tools": [entry]}, *calls, unit="session", **more)


@pytest.mark.parametrize(
    ("row", "args", "actual", "passing"),
    [
        (1, {"a": 206588}, [{"a": 206588}], True),
        (2, {"a": 206588}, [{"a": 206588.0}], True),
        (3, {"a": 206588}, [{"a": 206000}], False),
        (4, {"a": 206588.0}, [{"a": 206588}], True),
        (5, {"a": {"fuzzy": "206588"}}, [{"a": "206,588"}], True),
        (6, {"a": {"fuzzy": "206588"}}, [{"a": "206 588"}], True),
        (7, {"a": {"fuzzy": "206588"}}, [{"a": 206588.0}], True),
        (8, {"a": {"fuzzy": "206588"}}, [{"a": 205000}], False),
        (9, {"a": {"fuzzy": "14.14%"}}, [{"a": 0.1414}], True),
        (10, {"a": {"fuzzy": "YES"}}, [{"a": "yes"}], True),
        (11, {"a": {"fuzzy": "YES"}}, [{"a": " yes "}], True),
        (12, {"a": {"regex": "^2009.*$"}}, [{"a": "2009 cash flow"}], True),
        (13, {"a": {"regex": "^2009.*$"}}, [{"a": "report 2009 cash flow"}], False),
        (14, {"a": {"regex": "^181001(\\.0+)?$"}}, [{"a": "181001.0"}], True),
        (15, {"a": {"regex": "^181001(\\.0+)?$"}}, [{"a": "181001.5"}], False),
        (16, {"a": 206588}, [{"b": 1}], False),
        (17, {"a": 206588}, [{"a": 206588, "b": "x", "c": "y"}], True),
        (18, {"a": True}, [{"a": True}], True),
        (19, {"a": True}, [{"a": 1}], False),
        (20, {"a": [1, 2]}, [{"a": [1, 2]}], True),
        (21, {"a": [1, 2]}, [{"a": [1.0, 2.0]}], True),
        (22, {"a": {"mode": "fast"}}, [{"a": {"mode": "fast"}}], True),
        (23, {"a": {"fuzzy": "206588"}}, [{"a": 1}, {"a": "206588"}], True),
    ],
)
def test_acceptance_matrix(row: int, args: Fields, actual: list[Fields], passing: bool) -> None:
    """Each row of the seed's acceptance matrix."""
    verdict = expected(args, *actual)
    assert verdict["result"] == ("pass" if passing else "fail")
    assert (verdict["details"][0]["matched_call_index"] == -1) is not passing


def test_literal_equality() -> None:
    """Numbers by exact value, booleans only booleans, at every depth."""
    assert not equal(2**53, float(2**53 + 2)) and not equal(2**53 + 1, float(2**53))
    assert not equal([True], [1]) and equal({"a": [1]}, {"a": [1.0]}) and not equal(10**400, 1e308)
    assert equal(None, None) and not equal(None, 0) and not equal(float("nan"), float("nan"))


def test_fuzzy_numbers() -> None:
    """Thousands, percent and limits of what is a number."""
    assert fuzzy("206588", " 206\u202f588 ") and fuzzy("1 206 588.50", 1206588.5)
    assert not fuzzy("206588", "20 65 88") and not fuzzy("5550100", "555 0100")
    assert not fuzzy("9007199254740993", 9007199254740992) and fuzzy("1e3", "1,000")
    assert not fuzzy("nan", "inf") and fuzzy("NaN", "nan") and not fuzzy("1e401", "10e400")
    assert fuzzy("None", None) and argument({"regex": "None|True"}, True) and fuzzy("0.1", ".1")


@pytest.mark.parametrize(
    ("test", "value", "passing"),
    [
        (None, None, True),
        ({"not": None}, None, False),
        ({"not": None}, 0, True),
        ({"not": "x"}, None, False),
        ({"in": [1, None]}, None, True),
        ({"not": {"in": [1]}}, 2, True),
        ({"not": {"not": 1}}, None, False),
        ({"gt": 1, "lt": 3}, 2.5, True),
        ({"gt": 0}, True, False),
        ({"gt": 0}, "1", False),
        (1, True, False),
        ([1, 2], [1.0, 2], True),
        ({"contains": 1}, [True, 1.0], True),
        ({"contains": "b"}, "abc", True),
        ({"glob": "b*"}, "abc", False),
        ({"regex": "b"}, "abc", True),
    ],
)
def test_where(test: Any, value: Any, passing: bool) -> None:
    """Tests of a field; a missing value matches only null."""
    assert passes(test, value) is passing


def test_never_and_eventually_settle_at_the_first_match() -> None:
    """The verdict names the item that decided it, and stays."""
    reports = [call(1, 1), event("steer", 2, 5), event("steer", 3, 3)]
    never = one({"never": STEER}, *reports)
    assert (never["result"], never["early"], never["cause"]) == ("fail", True, "item")
    assert never["decided_by"] == reference(2, 0) and never["revision"] == 0
    assert never["witnesses"] == [reference(3, 0), reference(2, 0)]
    eventually = one({"eventually": STEER}, *reports)
    assert eventually["witnesses"] == [reference(3, 0)]
    assert one({"never": {"approval": {}}}, *reports)["cause"] == "end_of_input"


def test_count() -> None:
    """A range; early only when more items cannot change it."""
    two = [call(1, 1), call(2, 2)]
    assert one({"count": {"match": TOOL, "max": 1}}, *two)["decided_by"] == reference(2)
    assert one({"count": {"match": TOOL, "min": 2}}, *two)["early"]
    within = one({"count": {"match": TOOL, "min": 1, "max": 2}}, *two)
    assert (within["result"], within["early"], len(within["witnesses"])) == ("pass", False, 2)
    empty = one({"count": {"match": STEER, "min": 0}}, report("span", 7, 0), *two)
    assert empty["decided_by"] == reference(1)


def test_before_by_time() -> None:
    """First must have finished before then starts; four equal times are no order."""
    before = {"before": {"first": TOOL, "then": STEER}}
    assert result(before, call(1, 1)) == "not_applicable"
    assert result(before, event("steer", 1, 1)) == "fail"
    assert result(before, call(1, 1, 4), event("steer", 2, 4)) == "pass"
    assert result(before, call(1, 1, 5), event("steer", 2, 4)) == "fail"
    assert result(before, call(1, 4), event("steer", 2, 4)) == "fail"


def test_before_by_seq_and_mixed() -> None:
    """Those with a seq compare by seq, and by time against those without."""
    before = {"before": {"first": TOOL, "then": STEER}}
    assert result(before, call(1, 9, seq=1), event("steer", 2, 1, seq=2)) == "pass"
    assert result(before, call(1, 1, seq=2), event("steer", 2, 9, seq=2)) == "fail"
    late = event("steer", 3, 2)
    assert result(before, call(1, 9, seq=1), event("steer", 2, 1, seq=2), late) == "fail"
    clauses = one(before, call(1, 3, seq=1), call(2, 1), event("steer", 3, 2, seq=9))
    assert clauses["witnesses"] == [reference(2), reference(3, 0)]


def test_a_late_item_overturns_an_order() -> None:
    """A revision is announced when an earlier position arrives later."""
    before = {"before": {"first": TOOL, "then": STEER}}
    reports = [event("steer", 1, 1, seq=5), call(2, 2, seq=3), event("steer", 3, 3, seq=1)]
    verdict = one(before, *reports)
    assert (verdict["result"], verdict["revision"]) == ("fail", 2)
    assert verdict["decided_by"] == reference(3, 0)
    assert one(before, *reports[:2])["decided_by"] == reference(2)


def test_order_is_of_first_occurrences() -> None:
    """A first step that comes again later does no harm; a second that came first does."""
    order = {"order": [TOOL, STEER]}
    good = [call(1, 1), event("steer", 2, 2), call(3, 3)]
    assert one(order, *good)["witnesses"] == [reference(1), reference(2, 0)]
    assert result(order, event("steer", 4, 0), *good) == "fail"
    only_first = one(order, call(1, 1))
    assert (only_first["result"], only_first["early"]) == ("fail", False)


def test_each_needs_a_prior_one_in_the_window() -> None:
    """A window of N log positions includes N and not N + 1; without a seq it is unknown."""
    each = {"each": STEER, "requires_prior": TOOL, "within": {"seq": 2}}
    assert result(each, call(1, 1, seq=1), event("steer", 2, 2, seq=3)) == "pass"
    failed = one(each, call(1, 1, seq=1), event("steer", 2, 2, seq=4))
    assert (failed["result"], failed["early"]) == ("fail", True)
    unknown = one(each, call(1, 1), event("steer", 2, 2, seq=4))
    assert (unknown["result"], unknown["witnesses"]) == ("unknown", [reference(2, 0)])
    worse = one(each, call(1, 1), event("steer", 2, 2, seq=4), event("steer", 3, 0))
    assert (worse["result"], worse["witnesses"]) == ("fail", [reference(3, 0)])
    assert result({"each": TOOL, "requires_prior": TOOL}, call(1, 1)) == "fail"


def test_paths() -> None:
    """A change without a path fails `all`, and is a path for `any`."""
    every = {"all": {"paths": {"from": ["file.change", "diff.files"]}, "match": ["src/*", "*.md"]}}
    some = {"any": every["all"]}
    assert result(every, call(1, 1)) == result(some, call(1, 1)) == "not_applicable"
    good = event("file.change", 1, 1, path="src/x/y")
    assert (result(every, good), result(some, good)) == ("pass", "pass")
    outside = event("file.change", 2, 2)
    assert one(every, good, outside)["witnesses"] == [reference(2, 0)]
    assert result(some, outside) == "fail"
    assert result(every, good, call(3, 3, diff_files=["a.md", "z"])) == "fail"
    hidden = event("file.change", 4, 4, withheld=["path"])
    assert one(every, good, hidden)["witnesses"] == [reference(4, 0)]
    assert (result(every, hidden), result(some, hidden)) == ("unknown", "unknown")


def test_withheld_columns_are_unknown() -> None:
    """Both readings must agree; an unknown item is the witness."""
    hidden = call(1, 1, withheld=["ops"])
    push = {"tool": {"ops": "git.push"}}
    verdict = one({"never": push}, hidden)
    assert (verdict["result"], verdict["witnesses"]) == ("unknown", [reference(1)])
    assert result({"never": push}, hidden, call(2, 2, ops=["git.push"])) == "fail"
    assert result({"never": {"approval": {"ops": "git.push"}}}, hidden) == "pass"
    assert result({"never": push}, hidden, call(1, 1, 2, ops=["test"])) == "pass"
    assert result({"count": {"match": push, "max": 1}}, hidden) == "pass"


def test_expected_tools_reasons() -> None:
    """Each reason, the last candidate, and an index among all calls."""
    reason = [expected({"a": 1, "b": 2}, {"a": 1}), expected({"a": 1}, {"a": "x"}, {"a": "y"})]
    assert [v["details"][0]["unmatched_reason"] for v in reason] == [
        "arg 'b' missing",
        "arg 'a' mismatch: expected 1, got 'y'",
    ]
    short = expected({"a": {"fuzzy": "1"}}, {"a": 1}, count=2)["details"][0]
    assert short["unmatched_reason"] == "expected 2 matching call(s), got 1"
    none = one({"expected_tools": ["x"]}, call(1, 1), unit="session")["details"][0]
    assert none["unmatched_reason"] == "no call to 'x' found"
    third = [call(1, 1), call(2, 2), call(3, 0, name="read_file")]
    found = one({"expected_tools": ["read"]}, call(4, 9, name="read"), *third, unit="session")
    assert found["details"][0]["matched_call_index"] == 0 and found["early"]
    hidden = call(1, 1, withheld=["args"])
    entry = {"name": "bash", "args": {"k": 1}}
    unknown = one({"expected_tools": [entry]}, hidden, unit="session")
    assert unknown["result"] == "unknown"
    assert unknown["details"][0]["unmatched_reason"] == "arg 'k' not captured"
