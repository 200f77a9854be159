"""Prior items within a window, kept in blocks and sorted lists, against their plain meaning."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from spanward.fact import Fact
from spanward.match.truth import Truth
from spanward.operators.prior import AnyPrior, Prior, SeqPrior, TurnPrior

from .facts import FACTS, fact, precedes


def _served(inside: Iterable[Truth]) -> Truth:
    """Yes if some prior item is inside, unknown if of some it cannot be computed, else no."""
    answers = list(inside)
    if True in answers:
        return True
    return None if None in answers else False


def _within_seq(prior: Fact, needy: Fact, length: int) -> Truth:
    if prior.position is None or needy.position is None:
        return None
    return needy.position - prior.position <= length


def _within_turns(prior: Fact, needy: Fact, length: int) -> Truth:
    if prior.turn is None or needy.turn is None:
        return None
    return 0 <= needy.turn - prior.turn <= length


def _filled(prior: Prior, facts: list[Fact]) -> Prior:
    for each in facts:
        prior.add(each)
    return prior


@given(FACTS, FACTS)
def test_any_prior_item_serves_without_a_window(a: list[Fact], b: list[Fact]) -> None:
    """It must only precede."""
    prior = _filled(AnyPrior(), a)
    for needy in b:
        assert prior.serve(needy) is any(precedes(each, needy) for each in a)


@settings(max_examples=200)
@given(FACTS, FACTS, st.integers(1, 6))
def test_a_window_of_positions(a: list[Fact], b: list[Fact], length: int) -> None:
    """Unknown where a prior item has no position, or the needy one has none."""
    prior = _filled(SeqPrior(length), a)
    for needy in b:
        before = [each for each in a if precedes(each, needy)]
        expected = _served(_within_seq(each, needy, length) for each in before)
        assert prior.serve(needy) is expected


@settings(max_examples=200)
@given(FACTS, FACTS, st.integers(0, 12))
def test_a_window_of_turns(a: list[Fact], b: list[Fact], length: int) -> None:
    """Turns may be negative, zero, out of order; unknown where one is missing."""
    prior = _filled(TurnPrior(length), a)
    for needy in b:
        before = [each for each in a if precedes(each, needy)]
        expected = _served(_within_turns(each, needy, length) for each in before)
        assert prior.serve(needy) is expected


@given(st.integers(0, 10_000), st.integers(-(2**63), 2**63 - 1))
def test_the_edges_of_a_window_of_turns(length: int, turn: int) -> None:
    """The same turn and ``length`` turns before are inside, one more is not, nor is a later one."""
    needy = fact(1, 5, turn=turn)
    for away, inside in ((0, True), (length, True), (length + 1, False), (-1, False)):
        prior = _filled(TurnPrior(length), [fact(2, 1, turn=turn - away)])
        assert prior.serve(needy) is inside


@given(FACTS, FACTS, st.sampled_from([AnyPrior, lambda: SeqPrior(2), lambda: TurnPrior(2)]))
def test_one_more_prior_item_only_improves_the_answer(
    a: list[Fact], b: list[Fact], made: type[AnyPrior]
) -> None:
    """From unserved to unknown to served: so a served item need never be asked again."""
    rising = (False, None, True)
    for needy in b:
        prior = made()
        answers = [prior.serve(needy)]
        for each in a:
            prior.add(each)
            answers.append(prior.serve(needy))
        steps = [rising.index(answer) for answer in answers]
        assert steps == sorted(steps)
