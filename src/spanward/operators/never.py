"""``never: M``: fails at the first match."""

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


class Never:
    """No item matches. The state is the number of matches."""

    traits = Traits(name="never", violating=0)

    def __init__(self, matcher: Matcher) -> None:
        self.roles = (Role(matcher, helps=False),)

    def start(self) -> int:
        return 0

    def fold(self, state: int, roles: int, fact: Fact) -> int:
        return state + roles

    def outcome(self, state: int, complete: bool) -> Result | None:
        if state:
            return Result.FAIL
        return Result.PASS if complete else None

    def explain(self, state: int, result: Result, members: Sequence[Member]) -> Explanation:
        if result is Result.PASS:
            return Explanation("no forbidden item occurred")
        return Explanation("a forbidden item occurred", in_listing_order(having(members, 0)))


def compile_never(place: Place, node: Node, siblings: Mapping, problems: Problems) -> Never | None:
    """The operator, or None with the mistakes noted."""
    matcher = compile_matcher(node, problems)
    return None if matcher is None else Never(matcher)
