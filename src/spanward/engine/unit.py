"""A unit: what a spec judges as a whole, with a monitor for each spec that was touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spanward.engine.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from spanward.engine.plan import Concern, Plan
    from spanward.engine.unsaved import Kept
    from spanward.fact import Fact
    from spanward.saved import Turn


class Facts(Protocol):
    """Where the facts of a unit are read from, and who is told of its changes.

    ``gap``: some of them are missing, or may be. ``epoch``: that of its beginning; what a matcher
    says that was loaded later is not known of all of them.
    """

    gap: bool
    epoch: int

    def facts(self, unit: Unit) -> Iterable[Fact]: ...
    def unit_changed(self, unit: Unit) -> None: ...


Concerned = list[tuple["Concern", "Fact"]]
"""The facts of a unit that concern one spec, and how."""


class Unit:
    """One session, one turn of a session, or one job.

    ``session`` is None for a job, ``turn`` for anything but a turn. ``ended`` says that every
    result is final, until an item reopens it. ``source`` gives the facts of the unit. ``cold``
    says that a spec without a monitor may have facts all the same, ``due`` that the end of a turn
    is set, ``named`` that there is no item of the turn, but specs that name it. ``kept`` is how it
    is saved, None when what its monitors say changed since.
    """

    __slots__ = (
        "_due", "_ended", "_named", "cold", "job", "kept", "kind", "monitors", "session", "source",
        "turn",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        source: Facts,
        *,
        session: str | None = None,
        turn: Turn | None = None,
        job: str | None = None,
    ) -> None:
        self.kind = kind
        self.source = source
        self.session = session
        self.turn = turn
        self.job = job
        self.monitors: dict[int, Monitor] = {}
        self._ended = False
        self._due = False
        self._named = False
        self.cold = False
        self.kept: Kept | None = None

    @property
    def ended(self) -> bool:
        """Whether every result is final."""
        return self._ended

    @ended.setter
    def ended(self, ended: bool) -> None:
        if ended != self._ended:
            self._ended = ended
            self.changed()

    @property
    def due(self) -> bool:
        """Whether the end of a turn is set."""
        return self._due

    @due.setter
    def due(self, due: bool) -> None:
        if due != self._due:
            self._due = due
            self.changed()

    @property
    def named(self) -> bool:
        """Whether there is no item of the turn, but specs that name it."""
        return self._named

    @named.setter
    def named(self, named: bool) -> None:
        if named != self._named:
            self._named = named
            self.changed()

    def changed(self) -> None:
        """Note that something changed that is kept of it."""
        self.kept = None
        self.source.unit_changed(self)

    def fold(self, concerns: Iterable[Concern], fact: Fact, plan: Plan) -> None:
        """Take a fact into account that is new, and among the unit's facts already.

        ``concerns`` are the specs whose result it may change. States that are not there, or whose
        readings part with this fact, are made anew from all facts, in one pass over them.
        """
        anew = set()
        for concern in concerns:
            monitor = self.monitors.get(concern.spec)
            if monitor is None and not self.cold:
                monitor = self._monitor(concern.spec, plan)
            if monitor is None or not monitor.fold(concern, fact):
                anew.add(concern.spec)
        if anew:
            self.refold(anew, plan)

    def refold(self, specs: AbstractSet[int], plan: Plan) -> None:
        """Make the states of some specs anew from the facts, in one pass over them."""
        concerned = self.concerned(specs, plan)
        for spec in specs:
            operator = plan.specs[spec].operator
            self._monitor(spec, plan).refold(operator, concerned[spec])

    def concerned(self, specs: AbstractSet[int], plan: Plan) -> dict[int, Concerned]:
        """Of each of some specs: the facts that concern it."""
        found: dict[int, Concerned] = {spec: [] for spec in specs}
        for fact in self.source.facts(self):
            for concern in plan.concerns(fact)[self.kind]:
                if concern.spec in found:
                    found[concern.spec].append((concern, fact))
        return found

    def ready(self, plan: Plan) -> None:
        """See to it that every spec of the unit that has facts has its states, in one pass."""
        specs = plan.of_unit[self.kind]
        missing = {
            spec
            for spec in specs
            if (self.cold and spec not in self.monitors)
            or (spec in self.monitors and not self.monitors[spec].folded)
        }
        if missing:
            concerned = self.concerned(missing, plan)
            for spec in missing:
                if concerned[spec] or spec in self.monitors:
                    self._monitor(spec, plan).refold(plan.specs[spec].operator, concerned[spec])
        self.cold = False

    def cool(self) -> None:
        """Give the memory of states back; the facts stay."""
        kept = {spec: each for spec, each in self.monitors.items() if not each.is_blank}
        for monitor in kept.values():
            monitor.drop_states()
        self.monitors = kept
        self.cold = True

    def _monitor(self, spec: int, plan: Plan) -> Monitor:
        monitor = self.monitors.get(spec)
        if monitor is None:
            monitor = self.monitors[spec] = Monitor(plan.specs[spec].operator)
        return monitor
