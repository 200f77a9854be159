"""Folding: facts into their tables, and from there into the monitors of the units they are in."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING

from spanward.engine.plan import JOB, SESSION, TURN
from spanward.engine.session import unplaced
from spanward.fact import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanward.engine.counters import Counters
    from spanward.engine.judge import Judge
    from spanward.engine.plan import Concern, Plan
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session
    from spanward.engine.unit import Unit
    from spanward.item import Item
    from spanward.match.dispatch import Answers


class Folding:
    """Keeps facts and monitors together.

    A new fact is folded at once. A changed or removed one leaves the monitors that it concerns
    *stale*: they are folded anew, once, by ``refresh``. ``most`` is how many facts a session may
    keep before its beginning counts as lost (a gap).
    """

    def __init__(
        self, plan: Plan, registry: Registry, judge: Judge, counters: Counters, most: int
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._judge = judge
        self._counters = counters
        self._most = most
        self._counting = True
        self._stale: dict[Unit, dict[int, Item | None]] = {}

    def fact(self, item: Item, answers: Answers, key: bytes, session: str) -> Fact:
        """What is kept of an item, given what the matchers said of it."""
        return Fact(
            key=key,
            session=session,
            kind=item.kind,
            name=item.name,
            trace_id=item.trace_id,
            span_id=item.span_id,
            event=item.event,
            digest=item.digest,
            start_ns=item.start_ns,
            end_ns=item.end_ns,
            seq=item.seq,
            position=item.seq,
            turn=item.turn,
            turn_key=item.turn_key,
            job=item.job,
            homeless=item.session is None,
            true=answers.true,
            unknown=answers.unknown,
            notes=self._plan.notes(item, answers),
        )

    def add(self, session: Session, fact: Fact, by: Item, now: float) -> None:
        """Keep a fact that is new, and fold it."""
        if not self._admit(session, fact):
            return
        session.table.add(fact)
        self._registry.unsaved.sessions[session.name] = session
        self._join(session, fact)
        for unit, seen, concerns in self._units(session, fact):
            may_change = [concern for concern in concerns if self._counts(unit, concern)]
            unit.fold(may_change, seen, self._plan)
            for concern in may_change:
                self._judge.weigh(unit, concern.spec, unit.monitors[concern.spec], by, now)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Facts that are put meanwhile only move: their items were counted before."""
        self._counting = False
        try:
            yield
        finally:
            self._counting = True

    def change(
        self,
        session: Session,
        old: Fact | None,
        new: Fact | None,
        by: Item | None,
        elsewhere: Sequence[Fact] = (),
    ) -> None:
        """Replace a fact, or remove it (new is None), or put one that is not new to the world.

        ``elsewhere`` are facts of the same item in other sessions, whose violations were counted.
        """
        if old == new:
            return
        self._registry.unsaved.sessions[session.name] = session
        before = self._concerned(session, old)
        if old is not None:
            session.table.remove(old.key)
        if new is not None:
            session.table.put(new)
            self._join(session, new)
        after = self._concerned(session, new)
        for unit, spec in before.keys() | after.keys():
            if self._differs(before.get((unit, spec)), after.get((unit, spec)), spec):
                self.stale(unit, spec, by)
        self._count_violations(before, after, elsewhere)

    def stale(self, unit: Unit, spec: int, by: Item | None) -> None:
        """Have a monitor folded anew by the next ``refresh``."""
        self._stale.setdefault(unit, {})[spec] = by

    def stale_all(self, unit: Unit, by: Item | None) -> None:
        """Have all monitors of a unit folded anew."""
        for spec in self._plan.of_unit[unit.kind]:
            if self._plan.judges(spec, unit.turn):
                self.stale(unit, spec, by)

    def forget(self, unit: Unit) -> None:
        """Leave a unit that no longer exists alone."""
        self._stale.pop(unit, None)

    def refresh(self, now: float) -> None:
        """Fold what is stale anew from the facts, and weigh the results."""
        while self._stale:
            unit, specs = self._stale.popitem()
            unit.refold(specs.keys(), self._plan)
            for spec, by in sorted(specs.items(), key=lambda pair: pair[0]):
                self._judge.weigh(unit, spec, unit.monitors[spec], by, now)

    def _join(self, session: Session, fact: Fact) -> None:
        """Note that a job has a fact in a session."""
        if fact.job is not None and self._registry.has_jobs:
            self._registry.job(fact.job, session.seen).members.add(session.name)

    def _admit(self, session: Session, fact: Fact) -> bool:
        """Whether there is room for a fact.

        Beyond the limit its units are in a gap, and only what settles something is kept: so a
        violation is seen however many facts came before it.
        """
        if len(session.table) < self._most:
            return True
        self._lose_beginnings(session, fact)
        settles = any(
            self._settles(unit, concern, seen)
            for unit, seen, concerns in self._units(session, fact)
            for concern in concerns
        )
        if not settles:
            self._counters.facts_dropped += 1
        return settles

    def lose_beginning(self, session: Session) -> None:
        """Put a session in a gap: what depends on order no longer stands in its units."""
        if not session.gap:
            session.gap = True
            for unit in session.units.values():
                self._judge.lose_beginning(unit)

    def _lose_beginnings(self, session: Session, fact: Fact) -> None:
        """Put a fact's session and job in a gap, be their units there already or not."""
        self.lose_beginning(session)
        if fact.job is not None and self._registry.has_jobs:
            job = self._registry.job(fact.job, session.seen)
            if not job.gap:
                job.gap = True
                self._judge.lose_beginning(job.unit)

    def _settles(self, unit: Unit, concern: Concern, fact: Fact) -> bool:
        """Whether a fact settles a spec early that was open; without folding it."""
        if concern.order_bound or concern.hopeful != concern.fearful:
            return False
        unit.ready(self._plan)
        monitor = unit.monitors.get(concern.spec)
        if monitor is not None and monitor.standing is not None:
            return False
        operator = concern.operator
        state = operator.start() if monitor is None else copy(monitor.hopeful)
        return operator.outcome(operator.fold(state, concern.hopeful, fact), False) is not None

    def _units(
        self, session: Session, fact: Fact
    ) -> Iterator[tuple[Unit, Fact, tuple[Concern, ...]]]:
        """The units that a fact is in, as each of them sees it, and the specs it concerns there."""
        of = self._plan.concerns(fact)
        if of[SESSION]:
            unit = session.units.get(None)
            if unit is not None:
                yield unit, fact, of[SESSION]
        if of[TURN]:
            turn = session.presence.turn_of(fact)
            of_turn = None if turn is None else session.units.get(turn)
            if of_turn is not None:
                yield of_turn, fact, of[TURN]
        if of[JOB] and fact.job is not None:
            job = self._registry.jobs.get(fact.job)
            if job is not None and job.begun:
                yield job.unit, unplaced(fact), of[JOB]

    def _counts(self, unit: Unit, concern: Concern) -> bool:
        """Count a match of a spec in a unit; whether it may change the spec's result there.

        What is settled is so for good where order does not matter, and what is stale is folded
        anew anyway.
        """
        number = concern.spec
        if concern.restricted and not self._plan.judges(number, unit.turn):
            return False
        if self._counting:
            self._counters.matches[number] += 1
            self._counters.violations[number] += concern.violation
        if self._stale and number in self._stale.get(unit, ()):
            return False
        monitor = unit.monitors.get(number)
        return monitor is None or monitor.standing is None or concern.order_bound

    def _concerned(
        self, session: Session, fact: Fact | None
    ) -> dict[tuple[Unit, int], tuple[Concern, Fact]]:
        if fact is None:
            return {}
        return {
            (unit, concern.spec): (concern, seen)
            for unit, seen, concerns in self._units(session, fact)
            for concern in concerns
            if self._plan.judges(concern.spec, unit.turn)
        }

    def _differs(
        self,
        before: tuple[Concern, Fact] | None,
        after: tuple[Concern, Fact] | None,
        spec: int,
    ) -> bool:
        """Whether a spec must be folded anew: its roles changed, or the order it depends on."""
        if before is None or after is None or before[0] != after[0]:
            return True
        return self._plan.order_bound[spec] and _order_keys(before[1]) != _order_keys(after[1])

    def _count_violations(
        self,
        before: dict[tuple[Unit, int], tuple[Concern, Fact]],
        after: dict[tuple[Unit, int], tuple[Concern, Fact]],
        elsewhere: Sequence[Fact],
    ) -> None:
        if not self._counting:
            return
        counted = {
            concern.spec
            for fact in elsewhere
            for concerns in self._plan.concerns(fact).values()
            for concern in concerns
            if concern.violation
        }
        for (unit, number), (concern, _) in after.items():
            known = before.get((unit, number))
            if concern.violation and not ((known and known[0].violation) or number in counted):
                self._counters.violations[number] += 1


def _order_keys(fact: Fact) -> tuple[int, int, int | None, int | None]:
    return (fact.start_ns, fact.end_ns, fact.position, fact.turn)
