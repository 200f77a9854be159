"""``eventually: M``: passes at the first match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.fact import Fact, in_listing_order
from spanward.match.matcher import Matcher, compile_matcher
from spanward.operators.operator import Explanation, Member, Role, Traits, having
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.node import Mapping, Node


class Eventually:
    """Some item matches. The state is the number of matches."""

    traits = Traits(name="eventually")

    def __init__(self, matcher: Matcher) -> None:
        self.roles = (Role(matcher, helps=True),)

    def start(self) -> int:
        return 0

    def fold(self, state: int, roles: int, fact: Fact) -> int:
        return state + roles

    def outcome(self, state: int, complete: bool) -> Result | None:
        if state:
            return Result.PASS
        return Result.FAIL if complete else None

    def explain(self, state: int, result: Result, members: Sequence[Member]) -> Explanation:
        if result is Result.FAIL:
            return Explanation("no required item occurred")
        return Explanation("a required item occurred", in_listing_order(having(members, 0))[:1])


def compile_eventually(
    place: Place, node: Node, siblings: Mapping, problems: Problems
) -> Eventually | None:
    """The operator, or None with the mistakes noted."""
    matcher = compile_matcher(node, problems)
    return None if matcher is None else Eventually(matcher)
