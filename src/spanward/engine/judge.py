"""The judge: from what a monitor holds to what is announced of it, and when.

It knows the rules of semantics, section 6: what settles early, what must stand for the settle
time first, what a gap leaves standing, and when a changed result is announced again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanward.engine.monitor import Monitor
from spanward.engine.plan import TURN
from spanward.engine.verdicts import EVICTED, INCOMPLETE, MERGED, explain, verdict
from spanward.fact import witness
from spanward.verdict import Announcement, Cause, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.deadlines import Deadlines
    from spanward.engine.plan import Plan
    from spanward.engine.unit import Concerned, Unit
    from spanward.item import Item
    from spanward.verdict import Verdict


class Settling(msgspec.Struct, frozen=True):
    """An order-bound result that will be announced if it still stands as it did at ``since``."""

    unit: Unit
    spec: int
    since: float


class Judge:
    """Turns monitors into announcements; ``out`` collects them in order.

    ``number`` gives the turn number to show for a unit (None for anything but a turn); ``note``
    is told of units that changed and must be saved.
    ``settle`` is in seconds; 0 announces order-bound results at once.
    """

    def __init__(
        self,
        plan: Plan,
        settle: float,
        deadlines: Deadlines[object],
        number: Callable[[Unit], int | None],
        note: Callable[[Unit], None],
    ) -> None:
        self.out: list[Announcement] = []
        self._note = note
        self._plan = plan
        self._settle = settle
        self._deadlines = deadlines
        self._number = number
        self._operators = tuple(spec.operator for spec in plan.specs)
        self._empty = tuple(Monitor(spec.operator) for spec in plan.specs)

    def weigh(self, unit: Unit, spec: int, monitor: Monitor, by: Item | None, now: float) -> None:
        """See whether a monitor's settled result changed, and announce it when it is due."""
        result = monitor.outcome(self._operators[spec], complete=False)
        order_bound = self._plan.order_bound[spec]
        if order_bound and self._in_gap(unit, spec):
            result = None
        if result is monitor.standing or (unit.named and not self._judges_named(spec)):
            return
        self._note(unit)
        monitor.standing = result
        monitor.since = now
        monitor.by = None if by is None else witness(by)
        monitor.by_ns = None if by is None else by.end_ns
        if result is None or result is monitor.announced:
            return
        if not order_bound or self._settle == 0:
            self._announce_settled(unit, spec)
            return
        self._deadlines.set(now + self._settle, Settling(unit, spec, now))

    def settle(self, due: Settling) -> None:
        """Announce a result that has stood for the settle time; nothing if it changed since."""
        monitor = due.unit.monitors.get(due.spec)
        if monitor is None or monitor.since != due.since or due.unit.ended:
            return
        if monitor.waits:
            due.unit.ready(self._plan)
            self._announce_settled(due.unit, due.spec)

    def conclude(self, unit: Unit, cause: Cause) -> None:
        """Make every result of a unit final, and announce those that were not announced so."""
        unit.ready(self._plan)
        self._withdraw_others(unit)
        results = {spec: self._final(unit, spec) for spec in self._specs(unit)}
        unsaid = {
            spec
            for spec, result in results.items()
            if self._monitor(unit, spec).announced != result
        }
        if unsaid:
            concerned = unit.concerned(unsaid, self._plan)
            for spec in sorted(unsaid):
                self._say(unit, spec, results[spec], cause, concerned[spec])
        unit.ended = True

    def evict(self, unit: Unit) -> None:
        """Announce what is settled of a unit that must be dropped, and the rest as unknown."""
        unit.ready(self._plan)
        for spec in self._specs(unit):
            monitor = self._monitor(unit, spec)
            order_bound = self._plan.order_bound[spec]
            stands = monitor.standing is not None and (
                not order_bound or monitor.standing is monitor.announced
            )
            if not stands and monitor.announced is not Result.UNKNOWN:
                self._withdraw(unit, spec, Cause.EVICTED)

    def lose_beginning(self, unit: Unit) -> None:
        """Take note that a unit is in a gap: what depends on order no longer stands."""
        self._note(unit)
        for spec, monitor in unit.monitors.items():
            if self._plan.order_bound[spec]:
                monitor.standing = None

    def merge_away(self, unit: Unit) -> None:
        """Withdraw what was announced of a unit whose items turned out to belong elsewhere."""
        for spec, monitor in sorted(unit.monitors.items()):
            if monitor.announced not in (None, Result.UNKNOWN):
                self._withdraw(unit, spec, Cause.MERGED)

    def report(self, unit: Unit) -> list[Verdict]:
        """The final verdict of every spec of an ended unit, as ``check`` lists it."""
        unit.ready(self._plan)
        specs = self._specs(unit)
        concerned = unit.concerned(frozenset(specs), self._plan)
        return [self._final_verdict(unit, spec, concerned[spec]) for spec in specs]

    def _final_verdict(self, unit: Unit, spec: int, concerned: Concerned) -> Verdict:
        monitor = self._monitor(unit, spec)
        result = self._final(unit, spec)
        early = monitor.standing is result
        cause = Cause.ITEM if early else Cause.END_OF_INPUT
        return self._verdict(unit, spec, result, cause, concerned)

    def _final(self, unit: Unit, spec: int) -> Result:
        """The result over the complete set; in a gap, what stands whatever is missing."""
        monitor = self._monitor(unit, spec)
        operator = self._operators[spec]
        if not self._in_gap(unit, spec):
            return monitor.outcome(operator, complete=True) or Result.UNKNOWN
        if self._plan.order_bound[spec]:
            return Result.UNKNOWN
        return monitor.outcome(operator, complete=False) or Result.UNKNOWN

    def _in_gap(self, unit: Unit, spec: int) -> bool:
        """Whether the beginning of a unit is not known to be complete, for one spec."""
        return unit.source.gap or self._plan.since[spec] > unit.source.epoch

    def _specs(self, unit: Unit) -> list[int]:
        """The specs that judge a unit: those restricted to other turns do not."""
        number = self._number(unit)
        specs = []
        for spec in self._plan.of_unit[unit.kind]:
            turns = self._plan.specs[spec].turns
            if (not unit.named) if turns is None else (number in turns):
                specs.append(spec)
        return specs

    def _judges_named(self, spec: int) -> bool:
        """Whether a spec judges a turn without a step before it ends: if it names the turn.

        A spec that the empty set settles waits for the first step.
        """
        starts_settled = spec in self._plan.settled_at_start[TURN]
        return self._plan.specs[spec].turns is not None and not starts_settled

    def _monitor(self, unit: Unit, spec: int) -> Monitor:
        """The monitor of a spec, or the untouched one that stands for all that were never made."""
        return unit.monitors.get(spec) or self._empty[spec]

    def _announce_settled(self, unit: Unit, spec: int) -> None:
        standing = unit.monitors[spec].standing
        turns = self._plan.specs[spec].turns
        if standing is None or (turns is not None and self._number(unit) not in turns):
            return
        concerned = unit.concerned({spec}, self._plan)[spec]
        self._say(unit, spec, standing, Cause.ITEM, concerned)

    def _withdraw_others(self, unit: Unit) -> None:
        """Withdraw what was announced while the rank of a turn's key was another."""
        judging = self._specs(unit)
        for spec, monitor in sorted(unit.monitors.items()):
            if spec not in judging and monitor.announced not in (None, Result.UNKNOWN):
                self._withdraw(unit, spec, Cause.MERGED)

    def _withdraw(self, unit: Unit, spec: int, cause: Cause) -> None:
        self._say(unit, spec, Result.UNKNOWN, cause, [])

    def _say(
        self, unit: Unit, spec: int, result: Result, cause: Cause, concerned: Concerned
    ) -> None:
        monitor = unit.monitors.get(spec)
        if monitor is None:
            monitor = unit.monitors[spec] = Monitor(self._operators[spec])
        self._note(unit)
        previous = monitor.announced
        if previous is not None:
            monitor.revision += 1
        monitor.announced = result
        compiled = self._plan.specs[spec]
        self.out.append(
            Announcement(
                verdict=self._verdict(unit, spec, result, cause, concerned),
                sha256=compiled.sha256,
                labels=compiled.labels,
                previous=previous,
                turn_key=unit.turn if isinstance(unit.turn, str) else None,
                item_ns=monitor.by_ns if cause is Cause.ITEM else None,
            )
        )

    def _verdict(
        self, unit: Unit, spec: int, result: Result, cause: Cause, concerned: Concerned
    ) -> Verdict:
        compiled = self._plan.specs[spec]
        monitor = self._monitor(unit, spec)
        explanation = {Cause.EVICTED: EVICTED, Cause.MERGED: MERGED}.get(cause)
        if explanation is None and result is Result.UNKNOWN and self._in_gap(unit, spec):
            explanation, cause = INCOMPLETE, Cause.INCOMPLETE
        if explanation is None:
            used = self._plan.used_by[spec]
            explanation = explain(compiled, used, monitor, result, concerned)
        number = self._number(unit)
        return verdict(compiled, unit, number, monitor, result, cause, explanation)
