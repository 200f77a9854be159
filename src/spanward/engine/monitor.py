"""A monitor: one spec over one unit, on both readings of what is unknown.

States are a cache over the facts: a monitor may be emptied at any time and folded anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.engine.plan import Concern
    from spanward.fact import Fact
    from spanward.operators.operator import Operator
    from spanward.verdict import Witness


class Monitor:
    """The states of an operator, what it has settled, and what was announced of it.

    While no fact is unknown the two readings are one state. ``folded`` is false when the states
    are gone and must be made anew from the facts. ``standing`` is the result that is settled now
    (None: open), since ``since`` (monotonic seconds) and the item ``by``. ``announced`` is the
    last announced result, ``revision`` how often it was revised.
    """

    __slots__ = (
        "announced", "by", "by_ns", "fearful", "folded", "hopeful", "revision", "since",
        "split", "standing",
    )  # fmt: skip

    def __init__(self, operator: Operator) -> None:
        self.start(operator)
        self.standing: Result | None = None
        self.since = 0.0
        self.by: Witness | None = None
        self.by_ns: int | None = None
        self.announced: Result | None = None
        self.revision = 0

    def start(self, operator: Operator) -> None:
        """Begin with the empty set."""
        self.hopeful: Any = operator.start()
        self.fearful: Any = self.hopeful
        self.split = False
        self.folded = True

    def drop_states(self) -> None:
        """Forget the states; the next fold makes them anew. Who decided goes once it was told."""
        self.hopeful = self.fearful = None
        self.folded = False
        if self.standing is self.announced:
            self.by = None

    @property
    def is_blank(self) -> bool:
        """Whether nothing but the states would be lost with this monitor."""
        return self.standing is None and self.announced is None

    @property
    def waits(self) -> bool:
        """Whether what stands is still to be announced."""
        return self.standing is not None and self.standing is not self.announced

    def fold(self, concern: Concern, fact: Fact) -> bool:
        """Take one fact more; False when the states must be made anew from all facts.

        So it is when they are gone, and when the two readings part with this fact.
        """
        if not self.folded:
            return False
        if self.split:
            self._fold_apart(concern.operator, concern, fact)
            return True
        roles = concern.hopeful
        if roles != concern.fearful:
            return False
        self.hopeful = self.fearful = concern.operator.fold(self.hopeful, roles, fact)
        return True

    def refold(self, operator: Operator, facts: Sequence[tuple[Concern, Fact]]) -> None:
        """Make the states anew from all facts of the unit."""
        self.start(operator)
        self.split = any(concern.hopeful != concern.fearful for concern, _ in facts)
        if self.split:
            self.fearful = operator.start()
            for concern, fact in facts:
                self._fold_apart(operator, concern, fact)
            return
        state = self.hopeful
        for concern, fact in facts:
            state = operator.fold(state, concern.hopeful, fact)
        self.hopeful = self.fearful = state

    def outcome(self, operator: Operator, *, complete: bool) -> Result | None:
        """What both readings agree on; UNKNOWN when a complete set leaves them apart."""
        hopeful = operator.outcome(self.hopeful, complete)
        if not self.split:
            return hopeful
        if hopeful == operator.outcome(self.fearful, complete):
            return hopeful
        return Result.UNKNOWN if complete else None

    def readings_part(self, operator: Operator) -> bool:
        """Whether the two readings of the complete set give different results."""
        return self.split and operator.outcome(self.hopeful, True) != operator.outcome(
            self.fearful, True
        )

    def _fold_apart(self, operator: Operator, concern: Concern, fact: Fact) -> None:
        if concern.hopeful:
            self.hopeful = operator.fold(self.hopeful, concern.hopeful, fact)
        if concern.fearful:
            self.fearful = operator.fold(self.fearful, concern.fearful, fact)
