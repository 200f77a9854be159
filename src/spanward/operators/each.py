"""``each: B, requires_prior: A, within: …``: for every B an A before it, near enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from spanward import expect
from spanward.fact import Fact, in_listing_order
from spanward.match.matcher import Matcher, compile_matcher
from spanward.operators.leads import overlap
from spanward.operators.operator import (
    Explanation,
    Member,
    Role,
    Traits,
    having,
    warn_of_span_names,
)
from spanward.operators.prior import AnyPrior, Prior, SeqPrior, TurnPrior
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.node import Mapping, Node

_PRIOR: Final = 1
_NEEDY: Final = 2
_WINDOWS: Final[dict[str, tuple[Callable[[int], Prior], int]]] = {
    "seq": (SeqPrior, 1),
    "turns": (TurnPrior, 0),
}
"""By the key of ``within``: the set with that window, and the least length."""


class _State(msgspec.Struct):
    """The A so far, whether there was a B, and the B that may be unserved or unknown.

    A served B never needs another look: further A only improve the answer (``operators.prior``).
    So of ``unserved`` only the last is ever asked again, and it leaves once it is not.
    """

    prior: Prior
    some: bool
    unserved: list[Fact]
    unknown: list[Fact]


class Each:
    """Every item of B is served by one of A. ``window`` makes the empty set of A."""

    def __init__(
        self, then: Matcher, prior: Matcher, window: Callable[[], Prior], *, windowed: bool
    ) -> None:
        self.traits = Traits(name="each", order_bound=True, windowed=windowed)
        self.roles = (Role(prior, helps=True), Role(then, helps=False))
        self._window = window

    def start(self) -> _State:
        return _State(self._window(), some=False, unserved=[], unknown=[])

    def fold(self, state: _State, roles: int, fact: Fact) -> _State:
        if roles & _PRIOR:
            state.prior.add(fact)
        if roles & _NEEDY:
            state.some = True
            state.unserved.append(fact)
        _settle(state)
        return state

    def outcome(self, state: _State, complete: bool) -> Result | None:
        if state.unserved:
            return Result.FAIL
        if not complete:
            return None
        if not state.some:
            return Result.NOT_APPLICABLE
        return Result.UNKNOWN if state.unknown else Result.PASS

    def explain(self, state: _State, result: Result, members: Sequence[Member]) -> Explanation:
        needy = having(members, 1)
        match result:
            case Result.NOT_APPLICABLE:
                return Explanation("no item that requires a prior one occurred")
            case Result.PASS:
                return Explanation("every item had the prior one that it requires")
            case Result.FAIL:
                unserved = in_listing_order(
                    fact for fact in needy if state.prior.serve(fact) is False
                )
                reason = "an item lacks the prior one that it requires"
                if any(overlap([prior, unserved[0]]) for prior in having(members, 0)):
                    reason += ": one overlaps it"
                return Explanation(reason, unserved)
            case _:
                unknown = [fact for fact in needy if state.prior.serve(fact) is None]
                return Explanation(
                    "the window cannot be computed: a seq or turn is missing",
                    in_listing_order(unknown),
                )


def _settle(state: _State) -> None:
    """Drop from the ends of both lists what a further A has served."""
    while state.unserved:
        served = state.prior.serve(state.unserved[-1])
        if served is False:
            break
        fact = state.unserved.pop()
        if served is None:
            state.unknown.append(fact)
    while state.unknown and state.prior.serve(state.unknown[-1]):
        state.unknown.pop()


def compile_each(place: Place, node: Node, siblings: Mapping, problems: Problems) -> Each | None:
    """The operator, or None with the mistakes noted."""
    then = compile_matcher(node, problems)
    asked = expect.required(siblings, "requires_prior", "each", place, problems)
    prior = None if asked is None else compile_matcher(asked, problems)
    within = siblings.get("within")
    window = AnyPrior if within is None else _compile_within(within, problems)
    if then is None or prior is None or window is None:
        return None
    warn_of_span_names([then, prior], place, problems)
    return Each(then, prior, window, windowed=within is not None)


def _compile_within(node: Node, problems: Problems) -> Callable[[], Prior] | None:
    found = expect.mapping(node, "within", problems)
    if found is None:
        return None
    expect.known_keys(found, _WINDOWS, "within", problems)
    known = [entry for entry in found.entries if entry.key in _WINDOWS]
    if len(known) > 1:
        problems.error(known[1].place, "within takes one window: 'seq' or 'turns', not both")
        return None
    if not known:
        return None
    kind, least = _WINDOWS[known[0].key]
    length = expect.integer(known[0].value, f"within.{known[0].key}", least, problems)
    return None if length is None else partial(kind, length)
