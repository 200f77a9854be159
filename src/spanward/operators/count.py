"""``count: {match, min, max}``: the number of matches is in a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward import expect
from spanward.fact import Fact, in_listing_order
from spanward.match.matcher import Matcher, compile_matcher
from spanward.operators.operator import Explanation, Member, Role, Traits
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.node import Mapping, Node

_FOR_MIN: Final = 1
_FOR_MAX: Final = 2
_BOTH: Final = _FOR_MIN | _FOR_MAX


class Count:
    """Between ``least`` and ``most`` matches; ``most`` None is no bound.

    One matcher in two roles: a match helps the minimum and strains the maximum. The state is the
    two numbers. Only the items that count for both are shown: these match for certain.
    """

    traits = Traits(name="count")

    def __init__(self, matcher: Matcher, least: int, most: int | None) -> None:
        self.roles = (Role(matcher, helps=True), Role(matcher, helps=False))
        self._least = least
        self._most = most

    def start(self) -> tuple[int, int]:
        return (0, 0)

    def fold(self, state: tuple[int, int], roles: int, fact: Fact) -> tuple[int, int]:
        return (state[0] + (roles & _FOR_MIN), state[1] + (roles >> 1))

    def outcome(self, state: tuple[int, int], complete: bool) -> Result | None:
        for_min, for_max = state
        if self._most is not None and for_max > self._most:
            return Result.FAIL
        enough = for_min >= self._least
        if complete:
            return Result.PASS if enough else Result.FAIL
        return Result.PASS if enough and self._most is None else None

    def explain(
        self, state: tuple[int, int], result: Result, members: Sequence[Member]
    ) -> Explanation:
        counted = [member.fact for member in members if member.roles == _BOTH]
        reason = f"{len(counted)} matched, expected {self._range()}"
        return Explanation(reason, in_listing_order(counted))

    def _range(self) -> str:
        if self._most is None:
            return f"at least {self._least}"
        return f"{self._least} to {self._most}" if self._least else f"at most {self._most}"


def compile_count(place: Place, node: Node, siblings: Mapping, problems: Problems) -> Count | None:
    """The operator, or None with the mistakes noted; warns when it cannot fail."""
    found = expect.mapping(node, "count", problems)
    if found is None:
        return None
    expect.known_keys(found, ("match", "min", "max"), "count", problems)
    asked = expect.required(found, "match", "count", place, problems)
    matcher = None if asked is None else compile_matcher(asked, problems)
    least_node, most_node = found.get("min"), found.get("max")
    if least_node is None and most_node is None:
        problems.error(place, "count needs 'min' or 'max', or both")
        return None
    least = 0 if least_node is None else expect.integer(least_node, "count.min", 0, problems)
    most = None if most_node is None else expect.integer(most_node, "count.max", 0, problems)
    if least is not None and most is not None and least > most:
        problems.error(place, f"count.min is {least}, more than count.max, which is {most}")
        return None
    if matcher is None or least is None or (most is None and most_node is not None):
        return None
    if most is None and least == 0:
        problems.warning(place, "this spec cannot fail: any number is at least 0")
    return Count(matcher, least, most)
