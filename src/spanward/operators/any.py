"""``any: {paths, match}``: at least one path matches one of the globs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.fact import Fact, in_listing_order
from spanward.match.paths import Paths, has_good, has_path
from spanward.operators.operator import Explanation, Member, Role, Traits, having
from spanward.operators.path_sources import compile_paths
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.node import Mapping, Node


class Any:
    """Some path is good. The state has bit 0 when there was a path, bit 1 when a good one."""

    traits = Traits(name="any")

    def __init__(self, paths: Paths) -> None:
        self.roles = (Role(has_path(paths), helps=False), Role(has_good(paths), helps=True))

    def start(self) -> int:
        return 0

    def fold(self, state: int, roles: int, fact: Fact) -> int:
        return state | roles

    def outcome(self, state: int, complete: bool) -> Result | None:
        if state >> 1:
            return Result.PASS
        if not complete:
            return None
        return Result.FAIL if state else Result.NOT_APPLICABLE

    def explain(self, state: int, result: Result, members: Sequence[Member]) -> Explanation:
        if result is Result.PASS:
            witnesses = in_listing_order(having(members, 1))[:1]
            return Explanation("a path matches one of the globs", witnesses)
        if result is Result.FAIL:
            return Explanation("no path matches any of the globs")
        return Explanation("no paths")


def compile_any(place: Place, node: Node, siblings: Mapping, problems: Problems) -> Any | None:
    """The operator, or None with the mistakes noted."""
    paths = compile_paths("any", place, node, problems)
    return None if paths is None else Any(paths)
