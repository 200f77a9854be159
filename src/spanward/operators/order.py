"""``order: [M1, M2, …]``: all occur, and their first occurrences are in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward.expect import kind_of
from spanward.fact import Fact, in_listing_order
from spanward.match.matcher import Matcher, compile_matcher
from spanward.node import Sequence as SequenceNode
from spanward.operators.leads import Firsts, compared, firsts_of, leads, overlap
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

_LEAST: Final = 2


class Order:
    """X(Mi) leads X(Mi+1) for each i, and none is empty.

    Each matcher has two roles: on the left of *leads* it helps (role i), on the right it demands
    (role n + i). The state is the firsts of each role.
    """

    traits = Traits(name="order", order_bound=True)

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        left = tuple(Role(matcher, helps=True) for matcher in matchers)
        right = tuple(Role(matcher, helps=False) for matcher in matchers)
        self.roles = left + right
        self._length = len(left)

    def start(self) -> list[Firsts]:
        return [Firsts() for _ in self.roles]

    def fold(self, state: list[Firsts], roles: int, fact: Fact) -> list[Firsts]:
        for role, firsts in enumerate(state):
            if roles >> role & 1:
                firsts.add(fact)
        return state

    def outcome(self, state: list[Firsts], complete: bool) -> Result | None:
        left, right = state[: self._length], state[self._length :]
        steps = list(zip(left, right[1:], strict=False))
        if any(not b.empty and not leads(a, b) for a, b in steps):
            return Result.FAIL
        if not any(firsts.empty for firsts in left):
            return Result.PASS
        return Result.FAIL if complete else None

    def explain(
        self, state: list[Firsts], result: Result, members: Sequence[Member]
    ) -> Explanation:
        left = [having(members, role) for role in range(self._length)]
        right = [having(members, role + self._length) for role in range(self._length)]
        steps = list(zip(left, right[1:], strict=False))
        shown = [compared(a, b) for a, b in steps]
        witnesses = in_listing_order({fact for facts in shown for fact in facts})
        if result is Result.PASS:
            return Explanation("all occurred, in order", witnesses)
        return Explanation(_why(left, steps, shown), witnesses)


def _why(
    left: list[list[Fact]], steps: list[tuple[list[Fact], list[Fact]]], shown: list[list[Fact]]
) -> str:
    """What is wrong, steps counted from 1: the first that is missing, else out of order."""
    missing = [number for number, facts in enumerate(left, 1) if not facts]
    if missing:
        return f"step {missing[0]} did not occur"
    wrong = [
        (number, facts)
        for number, ((a, b), facts) in enumerate(zip(steps, shown, strict=True), 1)
        if not leads(firsts_of(a), firsts_of(b))
    ]
    number, facts = wrong[0]
    how = "overlaps" if overlap(facts) else "does not precede"
    return f"step {number} {how} step {number + 1}"


def compile_order(place: Place, node: Node, siblings: Mapping, problems: Problems) -> Order | None:
    """The operator, or None with the mistakes noted."""
    if not isinstance(node, SequenceNode) or len(node.items) < _LEAST:
        found = kind_of(node) if not isinstance(node, SequenceNode) else f"{len(node.items)}"
        problems.error(node.place, f"order takes a list of two or more matchers, not {found}")
        return None
    matchers = [compile_matcher(item, problems) for item in node.items]
    compiled = [matcher for matcher in matchers if matcher is not None]
    if len(compiled) < len(matchers):
        return None
    warn_of_span_names(compiled, place, problems)
    return Order(compiled)
