"""``before: {first: A, then: B}``: the first A is over before the first B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward import expect
from spanward.fact import Fact, in_listing_order
from spanward.match.matcher import Matcher, compile_matcher
from spanward.operators.leads import Firsts, compared, leads, overlap
from spanward.operators.operator import (
    Explanation,
    Member,
    Role,
    Traits,
    having,
    warn_of_span_names,
)
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.node import Mapping, Node

_State = tuple[Firsts, Firsts]


class Before:
    """X(A) leads X(B). The state is the firsts of both."""

    traits = Traits(name="before", order_bound=True)

    def __init__(self, first: Matcher, then: Matcher) -> None:
        self.roles = (Role(first, helps=True), Role(then, helps=False))

    def start(self) -> _State:
        return (Firsts(), Firsts())

    def fold(self, state: _State, roles: int, fact: Fact) -> _State:
        if roles & 1:
            state[0].add(fact)
        if roles & 2:
            state[1].add(fact)
        return state

    def outcome(self, state: _State, complete: bool) -> Result | None:
        first, then = state
        if then.empty:
            return Result.NOT_APPLICABLE if complete else None
        return Result.PASS if leads(first, then) else Result.FAIL

    def explain(self, state: _State, result: Result, members: Sequence[Member]) -> Explanation:
        if result is Result.NOT_APPLICABLE:
            return Explanation("no 'then' item occurred")
        first, then = having(members, 0), having(members, 1)
        witnesses = in_listing_order(set(compared(first, then)))
        if result is Result.PASS:
            return Explanation("'first' precedes 'then'", witnesses)
        if not first:
            return Explanation("no 'first' item occurred before 'then'", witnesses)
        how = "overlaps" if overlap(witnesses) else "does not precede"
        return Explanation(f"'first' {how} 'then'", witnesses)


def compile_before(
    place: Place, node: Node, siblings: Mapping, problems: Problems
) -> Before | None:
    """The operator, or None with the mistakes noted."""
    found = expect.mapping(node, "before", problems)
    if found is None:
        return None
    expect.known_keys(found, ("first", "then"), "before", problems)
    asked = [expect.required(found, key, "before", place, problems) for key in ("first", "then")]
    matchers = [compile_matcher(one, problems) for one in asked if one is not None]
    compiled = [matcher for matcher in matchers if matcher is not None]
    if len(compiled) < len(asked):
        return None
    warn_of_span_names(compiled, place, problems)
    return Before(*compiled)
