"""*A leads B* and *precedes*, kept as a few least keys, against their plain meaning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanward.fact import Fact
from spanward.operators.leads import compared, firsts_of, leads, overlap

from .facts import FACTS, fact, precedes


def _over_before(a: Fact, b: Fact) -> bool:
    return a.end_ns <= b.start_ns and not a.start_ns == a.end_ns == b.start_ns == b.end_ns


def _first_end(facts: list[Fact]) -> Fact:
    return min(facts, key=lambda each: (each.end_ns, each.start_ns))


def _first_start(facts: list[Fact]) -> Fact:
    return min(facts, key=lambda each: (each.start_ns, each.end_ns))


def _leads(a: list[Fact], b: list[Fact]) -> bool:
    """The formula of semantics, section 2, word by word."""
    if not a or not b:
        return bool(a)
    a0, b0 = ([each for each in side if each.position is None] for side in (a, b))
    a1, b1 = ([each.position for each in side if each.position is not None] for side in (a, b))
    if a0 and _over_before(_first_end(a0), _first_start(b)):
        return True
    if not a1 or (b1 and not min(a1) < min(b1)):
        return False
    placed = [each for each in a if each.position is not None]
    return not b0 or _over_before(_first_end(placed), _first_start(b0))


@given(FACTS, FACTS)
def test_leads_is_what_the_page_says(a: list[Fact], b: list[Fact]) -> None:
    """Whether sets are empty, carry positions, or tie."""
    assert leads(firsts_of(a), firsts_of(b)) == _leads(a, b)


@given(FACTS, FACTS, FACTS)
def test_leads_is_monotone(a: list[Fact], b: list[Fact], more: list[Fact]) -> None:
    """A further A never turns true to false, a further B never false to true."""
    now = leads(firsts_of(a), firsts_of(b))
    assert leads(firsts_of(a + more), firsts_of(b)) >= now
    assert not b or leads(firsts_of(a), firsts_of(b + more)) <= now


@given(FACTS, FACTS)
def test_some_fact_precedes_exactly_when_the_firsts_do(a: list[Fact], b: list[Fact]) -> None:
    """The least keys of a set are enough to know."""
    firsts = firsts_of(a)
    for each in b:
        assert firsts.precede(each) == any(precedes(prior, each) for prior in a)


@given(FACTS, FACTS)
def test_the_compared_facts_decide_alike(a: list[Fact], b: list[Fact]) -> None:
    """So the witnesses are enough to see why, and there are at most eight of them."""
    shown = compared(a, b)
    assert len(shown) <= 8
    assert all(each in a or each in b for each in shown)
    if a and b:
        a_shown = firsts_of(each for each in a if each in shown)
        b_shown = firsts_of(each for each in b if each in shown)
        assert leads(a_shown, b_shown) == leads(firsts_of(a), firsts_of(b))
    else:
        assert bool(shown) == bool(a or b)


def test_one_pair_is_shown_for_one_clause_that_holds() -> None:
    """By time where no A carries a seq, by seq where both do."""
    a, b = fact(1, 1, 2), fact(2, 5, 6)
    assert compared([a, fact(3, 9)], [b, fact(4, 7)]) == [a, b]
    a, b = fact(1, 9, seq=1), fact(2, 1, seq=2)
    assert compared([a, fact(3, 0, seq=5)], [b]) == [a, b]


@given(st.lists(FACTS, min_size=1, max_size=1))
def test_overlap_is_neither_before_nor_after(drawn: list[list[Fact]]) -> None:
    """Only of two that are compared by time."""
    (facts,) = drawn
    assert overlap(facts) == any(
        one is not other
        and None in (one.position, other.position)
        and not _over_before(one, other)
        and not _over_before(other, one)
        for one in facts
        for other in facts
    )
