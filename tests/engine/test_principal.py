"""Whose word an item is: nobody can borrow another sender's name (decision 0016)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.engine.merge import merge
from spanward.item import APPROVAL, EVENT, Item, Report
from spanward.verdict import Cause
from tests.engine.judged import compiled
from tests.engine.test_life import item

PEOPLE_APPROVE: dict[str, Any] = {
    "name": "people-approve",
    "assert": {
        "each": {"tool": {"name": "push"}},
        "requires_prior": {"approval": {"status": "granted"}, "principal": "people"},
    },
}


def approval(by: str | None, end: int = 2, **fields: Any) -> Item:
    """A report of the approval that comes before the push."""
    return item("approval", 1, kind=APPROVAL, end_ns=end, principal=by, **fields)


def judged(*items: Item) -> tuple[str, str]:
    """Result and reason in the end."""
    engine = Engine(compiled([PEOPLE_APPROVE]), Limits(settle=1e6))
    for one in items:
        report = Report(one.trace_id, one.span_id, one.start_ns, one.session, True, (one,))
        assert engine.take([report], 0.0) == []
    (told,) = engine.finish(Cause.SHUTDOWN, 1.0)
    assert not engine.faults
    return str(told.verdict.result), told.verdict.reason


PUSH = item("push", 10, principal="agent")


@pytest.mark.parametrize(
    ("by", "result"), [("people", "pass"), ("agent", "fail"), (None, "unknown")]
)
def test_the_senders_name_decides(by: str | None, result: str) -> None:
    """Where it is not known the spec neither passes nor fails."""
    found, reason = judged(approval(by, status="granted"), PUSH)
    assert found == result
    if by is None:
        assert reason == (
            "cannot tell: principal: not known: no token or certificate says it, or several "
            "senders said it"
        )


@pytest.mark.parametrize("forged_end", [1, 2, 3])
def test_what_one_sender_adds_is_not_anothers_word(forged_end: int) -> None:
    """People asked, the agent adds that it was granted: before, after, or at the same time."""
    reports = [
        approval("people", call_id="c"),
        approval("agent", forged_end, call_id="c", status="granted"),
        PUSH,
    ]
    results = {judged(*order)[0] for order in permutations(reports)}
    assert results <= {"unknown", "fail"}
    assert len(results) == 1


def test_the_same_report_by_another_sender_takes_the_name_away() -> None:
    """A repetition is no amendment, but it is not the first sender's any more."""
    same = [approval(by, status="granted", call_id="c") for by in ("people", "agent")]
    assert merge(same).principal is None
    assert merge([same[0], approval("people", 9, call_id="c")]).principal == "people"
    assert judged(*same, PUSH)[0] == "unknown"


def test_where_can_ask_too() -> None:
    """With all its tests; what is not known is unknown, whatever is asked."""
    for by, expected in (("people-7", True), ("agent", False), (None, None)):
        asks = {"where": {"principal": {"glob": "people-*"}}}
        spec = compiled([{"name": "w", "assert": {"eventually": asks}}])
        (role,) = spec[0].operator.roles
        assert role.matcher.answer(approval(by)) is expected
        why = role.matcher.why(approval(by))
        assert (why is None) == (expected is True)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("later", [-1, 0, 1])
@pytest.mark.parametrize("other_sender", ["agent", None])
def test_nobody_can_unsay_what_another_sender_said(
    other_sender: str | None, order: int, later: int
) -> None:
    """Nor can one without a name. Also of items without a call id.

    These are not kept whole where nobody asks who sent them.
    """
    spec = {
        "name": "not-rejected",
        "assert": {"never": {"event": "rejected", "principal": "people"}},
    }
    other = {"name": "any", "assert": {"count": {"match": {"event": "rejected"}, "max": 9}}}
    engine = Engine(compiled([spec, other]), Limits(settle=0.0))
    said = [
        item("rejected", 5, kind=EVENT, end_ns=10 + end, principal=by)
        for by, end in (("people", 0), (other_sender, later))
    ]
    for one in reversed(said) if order else said:
        engine.take([Report(one.trace_id, one.span_id, 5, "s1", False, (one,))], 0.0)
    last = {told.verdict.spec: told.verdict for told in engine.finish(Cause.SHUTDOWN, 1.0)}
    assert str(last["not-rejected"].result) == "unknown"
    assert str(last["any"].result) == "pass"
    assert engine.counters.matches[1] == 1
