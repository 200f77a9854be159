"""Operators as state machines: their results against the page, in whatever order facts come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanward.fact import Fact, in_listing_order
from spanward.operators.leads import firsts_of, leads
from spanward.operators.operator import Explanation, Member, Operator
from spanward.verdict import Result
from tests.match.compiled import spec

from .facts import FACTS, fact, precedes

PASS, FAIL, NOT_APPLICABLE, UNKNOWN = (
    Result.PASS,
    Result.FAIL,
    Result.NOT_APPLICABLE,
    Result.UNKNOWN,
)
A, B, C = "{event: a}", "{event: b}", "{event: c}"
_IN_A, _IN_B, _IN_C = 1, 2, 4

Counted = Sequence[tuple[Fact, int]]
"""Facts, and the matchers (bits) that hold for each."""

FOLDED = st.tuples(FACTS, st.lists(st.integers(0, 7), min_size=7, max_size=7)).map(
    lambda drawn: list(zip(drawn[0], drawn[1], strict=False))
)


@cache
def _operator(assertion: str) -> Operator:
    return spec(assertion, "unit: session\n").operator


def _roles(operator: Operator, matchers: int) -> int:
    """The roles of a fact for which some of the distinct matchers hold."""
    distinct = list(dict.fromkeys(role.matcher.source for role in operator.roles))
    if operator.traits.name == "each":  # its first role is what it requires
        distinct.reverse()
    return sum(
        1 << number
        for number, role in enumerate(operator.roles)
        if matchers >> distinct.index(role.matcher.source) & 1
    )


def _state(operator: Operator, counted: Counted) -> Any:
    state = operator.start()
    for each, matchers in counted:
        roles = _roles(operator, matchers)
        if roles:
            state = operator.fold(state, roles, each)
    return state


def _explained(operator: Operator, counted: Counted) -> tuple[Result | None, Explanation]:
    state = _state(operator, counted)
    result = operator.outcome(state, complete=True)
    assert result is not None
    members = [Member(each, _roles(operator, matchers), ()) for each, matchers in counted]
    having = [member for member in members if member.roles]
    return result, operator.explain(state, result, having)


def _of(counted: Counted, bit: int) -> list[Fact]:
    return [each for each, matchers in counted if matchers & bit]


def _never(counted: Counted) -> Result:
    return FAIL if _of(counted, _IN_A) else PASS


def _eventually(counted: Counted) -> Result:
    return PASS if _of(counted, _IN_A) else FAIL


def _count(least: int, most: float) -> Callable[[Counted], Result]:
    return lambda counted: PASS if least <= len(_of(counted, _IN_A)) <= most else FAIL


def _before(counted: Counted) -> Result:
    a, b = _of(counted, _IN_A), _of(counted, _IN_B)
    if not b:
        return NOT_APPLICABLE
    return PASS if a and leads(firsts_of(a), firsts_of(b)) else FAIL


def _order(counted: Counted) -> Result:
    steps = [_of(counted, bit) for bit in (_IN_A, _IN_B, _IN_C)]
    pairs = list(pairwise(steps))
    good = all(steps) and all(leads(firsts_of(a), firsts_of(b)) for a, b in pairs)
    return PASS if good else FAIL


def _each(inside: Callable[[Fact, Fact], bool | None]) -> Callable[[Counted], Result]:
    def result(counted: Counted) -> Result:
        needy, prior = _of(counted, _IN_A), _of(counted, _IN_B)
        if not needy:
            return NOT_APPLICABLE
        served = [[inside(a, b) for a in prior if precedes(a, b)] for b in needy]
        if any(True not in answers and None not in answers for answers in served):
            return FAIL
        return UNKNOWN if any(True not in answers for answers in served) else PASS

    return result


def _in_seq(a: Fact, b: Fact) -> bool | None:
    return None if None in (a.seq, b.seq) else (b.seq or 0) - (a.seq or 0) <= 2


def _in_turns(a: Fact, b: Fact) -> bool | None:
    return None if None in (a.turn, b.turn) else 0 <= (b.turn or 0) - (a.turn or 0) <= 1


MEANINGS: list[tuple[str, Callable[[Counted], Result]]] = [
    (f"never: {A}", _never),
    (f"eventually: {A}", _eventually),
    (f"count: {{match: {A}, min: 2}}", _count(2, 99)),
    (f"count: {{match: {A}, max: 2}}", _count(0, 2)),
    (f"count: {{match: {A}, min: 1, max: 3}}", _count(1, 3)),
    (f"before: {{first: {A}, then: {B}}}", _before),
    (f"order: [{A}, {B}, {C}]", _order),
    (f"{{each: {A}, requires_prior: {B}}}", _each(lambda a, b: True)),
    (f"{{each: {A}, requires_prior: {B}, within: {{seq: 2}}}}", _each(_in_seq)),
    (f"{{each: {A}, requires_prior: {B}, within: {{turns: 1}}}}", _each(_in_turns)),
]
ORDER_FREE = [assertion for assertion, _ in MEANINGS[:5]]


@pytest.mark.parametrize(("assertion", "meaning"), MEANINGS)
@given(counted=FOLDED, seed=st.integers(0, 99))
@settings(max_examples=50)
def test_the_result_is_what_the_page_says_in_any_order(
    assertion: str, meaning: Callable[[Counted], Result], counted: Counted, seed: int
) -> None:
    """A function of the set of facts."""
    operator = _operator(assertion)
    expected = meaning(counted)
    shuffled = Random(seed).sample(counted, len(counted))
    for order in (counted, shuffled):
        assert operator.outcome(_state(operator, order), complete=True) is expected
    one, other = _explained(operator, counted), _explained(operator, shuffled)
    assert one == other


@pytest.mark.parametrize(("assertion", "meaning"), MEANINGS)
@given(counted=FOLDED)
@settings(max_examples=40)
def test_what_is_settled_early_is_the_result_of_what_there_is(
    assertion: str, meaning: Callable[[Counted], Result], counted: Counted
) -> None:
    """And an order-free operator's early result is final: no fact more can change it."""
    operator = _operator(assertion)
    settled = None
    for length in range(len(counted) + 1):
        early = operator.outcome(_state(operator, counted[:length]), complete=False)
        assert early in (None, meaning(counted[:length]))
        if assertion in ORDER_FREE and settled is not None:
            assert early is settled
        settled = early


@pytest.mark.parametrize(
    ("assertion", "counted", "early"),
    [
        (f"never: {A}", [], None),
        (f"never: {A}", [(fact(1, 1), 1)], FAIL),
        (f"eventually: {A}", [(fact(1, 1), 1)], PASS),
        (f"count: {{match: {A}, min: 0, max: 1}}", [], None),
        (f"count: {{match: {A}, min: 0}}", [], PASS),
        (f"count: {{match: {A}, min: 1}}", [(fact(1, 1), 1)], PASS),
        (f"count: {{match: {A}, min: 1, max: 1}}", [(fact(1, 1), 1)], None),
        (f"count: {{match: {A}, max: 0}}", [(fact(1, 1), 1)], FAIL),
        (f"before: {{first: {A}, then: {B}}}", [(fact(1, 1), 1)], None),
        (f"before: {{first: {A}, then: {B}}}", [(fact(1, 1), 2)], FAIL),
        (f"before: {{first: {A}, then: {B}}}", [(fact(1, 1), 1), (fact(2, 2), 2)], PASS),
        (f"order: [{A}, {B}]", [(fact(1, 1), 1)], None),
        (f"order: [{A}, {B}]", [(fact(1, 1), 2)], FAIL),
        (f"order: [{A}, {B}]", [(fact(1, 1), 1), (fact(2, 2), 2)], PASS),
        (f"{{each: {A}, requires_prior: {B}}}", [(fact(1, 1), 1)], FAIL),
        (f"{{each: {A}, requires_prior: {B}}}", [(fact(1, 1), 2), (fact(2, 2), 1)], None),
        (
            f"{{each: {A}, requires_prior: {B}, within: {{seq: 1}}}}",
            [(fact(1, 1), 2), (fact(2, 2), 1)],
            None,
        ),
    ],
)
def test_what_settles_early(assertion: str, counted: Counted, early: Result | None) -> None:
    """The last column of the page's table."""
    operator = _operator(assertion)
    assert operator.outcome(_state(operator, counted), complete=False) is early


def test_an_unknown_item_never_settles_early_and_a_later_fail_outranks_it() -> None:
    """Each: the window of the first cannot be computed, the second has no prior item at all."""
    operator = _operator(f"{{each: {A}, requires_prior: {B}, within: {{seq: 1}}}}")
    counted = [(fact(1, 1, seq=1), 2), (fact(2, 2), 1)]
    assert operator.outcome(_state(operator, counted), complete=True) is UNKNOWN
    counted.append((fact(3, 0, seq=1), 1))
    assert operator.outcome(_state(operator, counted), complete=False) is FAIL


def test_an_item_does_not_serve_itself() -> None:
    """Even if it matches both."""
    operator = _operator(f"{{each: {A}, requires_prior: {B}}}")
    for alone in (fact(1, 1), fact(1, 1, 5), fact(1, 1, seq=3)):
        assert operator.outcome(_state(operator, [(alone, 3)]), complete=True) is FAIL


@pytest.mark.parametrize(
    ("assertion", "counted", "reason", "witnesses"),
    [
        (f"never: {A}", [], "no forbidden item occurred", []),
        (f"never: {A}", [(fact(1, 9), 1), (fact(2, 3), 1)], "a forbidden item occurred", [2, 1]),
        (f"eventually: {A}", [], "no required item occurred", []),
        (f"eventually: {A}", [(fact(1, 9), 1), (fact(2, 3), 1)], "a required item occurred", [2]),
        (f"count: {{match: {A}, min: 1}}", [], "0 matched, expected at least 1", []),
        (f"count: {{match: {A}, max: 1}}", [(fact(1, 1), 1)], "1 matched, expected at most 1", [1]),
        (
            f"count: {{match: {A}, min: 1, max: 2}}",
            [(fact(3, 3), 1), (fact(2, 2), 1), (fact(1, 1), 1)],
            "3 matched, expected 1 to 2",
            [1, 2, 3],
        ),
        (f"before: {{first: {A}, then: {B}}}", [(fact(1, 1), 1)], "no 'then' item occurred", []),
        (
            f"before: {{first: {A}, then: {B}}}",
            [(fact(1, 1), 2), (fact(2, 0, seq=4), 2)],
            "no 'first' item occurred before 'then'",
            [2, 1],
        ),
        (
            f"before: {{first: {A}, then: {B}}}",
            [(fact(1, 1), 1), (fact(2, 2), 2), (fact(3, 3), 1)],
            "'first' precedes 'then'",
            [1, 2],
        ),
        (
            f"before: {{first: {A}, then: {B}}}",
            [(fact(1, 1, 5), 1), (fact(2, 2, 9), 2)],
            "'first' overlaps 'then'",
            [1, 2],
        ),
        (
            f"before: {{first: {A}, then: {B}}}",
            [(fact(1, 7), 1), (fact(2, 2), 2)],
            "'first' does not precede 'then'",
            [2, 1],
        ),
        (f"order: [{A}, {B}]", [(fact(1, 1), 1)], "step 2 did not occur", [1]),
        (f"order: [{A}, {B}, {C}]", [(fact(1, 1), 4)], "step 1 did not occur", [1]),
        (
            f"order: [{A}, {B}]",
            [(fact(1, 1), 1), (fact(2, 2), 2)],
            "all occurred, in order",
            [1, 2],
        ),
        (
            f"order: [{A}, {B}, {C}]",
            [(fact(1, 1), 1), (fact(2, 2, 5), 2), (fact(3, 3), 4)],
            "step 2 overlaps step 3",
            [1, 2, 3],
        ),
        (
            f"order: [{A}, {B}]",
            [(fact(1, 1, seq=9), 1), (fact(2, 2, seq=3), 2)],
            "step 1 does not precede step 2",
            [2, 1],
        ),
        (
            f"{{each: {A}, requires_prior: {B}}}",
            [(fact(1, 1), 2)],
            "no item that requires a prior one occurred",
            [],
        ),
        (
            f"{{each: {A}, requires_prior: {B}}}",
            [(fact(1, 1), 2), (fact(2, 2), 1)],
            "every item had the prior one that it requires",
            [],
        ),
        (
            f"{{each: {A}, requires_prior: {B}}}",
            [(fact(1, 5), 2), (fact(2, 2), 1), (fact(3, 1), 1), (fact(4, 6), 1)],
            "an item lacks the prior one that it requires",
            [3, 2],
        ),
        (
            f"{{each: {A}, requires_prior: {B}}}",
            [(fact(1, 1, 5), 2), (fact(2, 2), 1)],
            "an item lacks the prior one that it requires: one overlaps it",
            [2],
        ),
        (
            f"{{each: {A}, requires_prior: {B}, within: {{turns: 1}}}}",
            [(fact(1, 1), 2), (fact(2, 9, turn=1), 1), (fact(3, 5), 1)],
            "the window cannot be computed: a seq or turn is missing",
            [3, 2],
        ),
    ],
)
def test_the_reason_and_what_is_shown(
    assertion: str, counted: Counted, reason: str, witnesses: list[int]
) -> None:
    """In words, with the items that decide, in listing order."""
    _, explanation = _explained(_operator(assertion), counted)
    assert explanation.reason == reason
    assert [int(each.key) for each in explanation.witnesses] == witnesses


PATHS = "{paths: {from: [file.change, diff.files]}, match: ['src/*', '*.md']}"
_HAS, _WANTED = 1, 2


@pytest.mark.parametrize(
    ("assertion", "counted", "early", "result", "reason"),
    [
        (f"all: {PATHS}", [], None, NOT_APPLICABLE, "no paths"),
        (f"any: {PATHS}", [], None, NOT_APPLICABLE, "no paths"),
        (f"all: {PATHS}", [_HAS], None, PASS, "every path matches one of the globs"),
        (f"any: {PATHS}", [_HAS], None, FAIL, "no path matches any of the globs"),
        (f"all: {PATHS}", [_HAS, 3, _HAS], FAIL, FAIL, "a path matches none of the globs"),
        (f"any: {PATHS}", [_HAS, 3, 3], PASS, PASS, "a path matches one of the globs"),
    ],
)
def test_paths(
    assertion: str, counted: list[int], early: Result | None, result: Result, reason: str
) -> None:
    """All fails at a bad path and any passes at a good one; nothing else settles."""
    operator = _operator(assertion)
    given_ = [(fact(number, 9 - number), roles) for number, roles in enumerate(counted)]
    assert operator.outcome(_state(operator, given_), complete=False) is early
    told, explanation = _explained(operator, given_)
    assert (told, explanation.reason) == (result, reason)
    assert {each.key for each in explanation.witnesses} <= {b"1", b"2"}


def test_the_number_of_a_call_counts_all_calls_in_listing_order() -> None:
    """Expected tools: by seq where every call carries one, whenever they came."""
    operator = _operator("expected_tools: [add, {name: sub, count: 2}, {name: mul}]")
    add, sub, other = 1 | 2 | 4, 1 | 8 | 16, 1
    counted = [
        (fact(1, 1, seq=9), sub),
        (fact(2, 2, seq=1), other),
        (fact(3, 3, seq=5), add),
        (fact(4, 4, seq=3), sub),
    ]
    state = operator.start()
    for each, roles in counted:
        state = operator.fold(state, roles, each)
    members = [Member(each, roles, tuple(range(7))) for each, roles in counted]
    explanation = operator.explain(state, FAIL, members)
    assert operator.outcome(state, complete=True) is FAIL
    assert explanation.reason == "no call to 'mul' found"
    assert [int(each.key) for each in explanation.witnesses] == [4, 3]
    assert explanation.details is not None
    indexes = [detail["matched_call_index"] for detail in explanation.details]
    assert indexes == [2, 1, -1]


def test_listing_order_puts_logs_last_and_goes_by_time_across_sessions() -> None:
    """Ties go by trace, span and event; logs by name and content."""
    tied = [
        fact(4, 1, event=-2, name="b", digest=b"1"),
        fact(3, 1, event=-2, name="a", digest=b"2"),
        fact(2, 1, event=3),
        fact(1, 1, event=-1),
        fact(5, 0, event=-2, name="z"),
    ]
    assert [int(each.key) for each in in_listing_order(tied)] == [5, 1, 2, 3, 4]
    seqs = [fact(1, 9, seq=1), fact(2, 5, seq=2)]
    assert [int(each.key) for each in in_listing_order(seqs)] == [1, 2]
    apart = [fact(1, 9, seq=1), fact(2, 5, seq=2, session="other")]
    assert [int(each.key) for each in in_listing_order(apart)] == [2, 1]
    some = [fact(1, 9, seq=1), fact(2, 9), fact(3, 5, seq=2)]
    assert [int(each.key) for each in in_listing_order(some)] == [3, 1, 2]
