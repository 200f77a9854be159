"""What an operator is: a fold over facts, an outcome of what was folded, and its explanation.

Operators know nothing of unknown answers. The engine runs each of them on two readings of the
facts, the hopeful and the fearful one (semantics, section 3), and compares; an operator only says
of each use of a matcher whether it *helps* or *demands*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.errors import Place, Problems
    from spanward.fact import Fact
    from spanward.match.matcher import Matcher


class Role(msgspec.Struct, frozen=True):
    """One use of a matcher by an operator.

    ``helps`` when one more item can only improve the result; otherwise it demands: one more can
    only worsen it.
    """

    matcher: Matcher
    helps: bool


class Member(msgspec.Struct, frozen=True):
    """A fact and the roles in which it counts: bit *i* of ``roles`` is the operator's role *i*.

    ``matchers`` gives the index of the matcher in each role.
    """

    fact: Fact
    roles: int
    matchers: tuple[int, ...]

    def note(self, role: int) -> str:
        """The words kept of why the item does not satisfy a role; empty when there are none."""
        return self.fact.note(self.matchers[role])


class Explanation(msgspec.Struct, frozen=True):
    """Why a result is what it is: words, the facts to show (in listing order, uncut), details."""

    reason: str
    witnesses: Sequence[Fact] = ()
    details: list[dict[str, Any]] | None = None


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine and the loader must know of an operator.

    ``order_bound``: a settled result may still be overturned by an item that arrives late.
    ``violating``: the role whose items are violations each (None: no item alone is one).
    ``notes``: pairs of roles (candidate, satisfied); of a candidate that does not satisfy, the
    engine keeps the words why. ``windowed``: there is a ``within``, which needs positions.
    ``feared``: the fearful reading explains even a fail.
    """

    name: str
    order_bound: bool = False
    violating: int | None = None
    notes: tuple[tuple[int, int], ...] = ()
    windowed: bool = False
    feared: bool = False


class Operator(Protocol):
    """A compiled operator: immutable, shared by all units.

    ``start`` gives the state of the empty set. ``fold`` gives the state with one fact more; it may
    change the state that it was given and must not be called twice with one fact. ``outcome`` of
    the complete set is always a result; of an incomplete one it is what is settled early, or None.
    ``explain`` gets the same state and all facts in which some role counts, in no order.
    """

    @property
    def traits(self) -> Traits: ...
    @property
    def roles(self) -> tuple[Role, ...]: ...

    def start(self) -> Any: ...
    def fold(self, state: Any, roles: int, fact: Fact) -> Any: ...
    def outcome(self, state: Any, complete: bool) -> Result | None: ...
    def explain(self, state: Any, result: Result, members: Sequence[Member]) -> Explanation: ...


def having(members: Sequence[Member], role: int) -> list[Fact]:
    """The facts that count in a role."""
    bit = 1 << role
    return [member.fact for member in members if member.roles & bit]


def warn_of_span_names(matchers: Sequence[Matcher], place: Place, problems: Problems) -> None:
    """Warn of ``span:`` where order matters: a parent span overlaps all its children."""
    for matcher in matchers:
        if matcher.asks_span_name:
            problems.warning(
                place,
                "'span' in an operator that compares order: a parent span overlaps its children",
                "match what happened inside the span instead",
            )
