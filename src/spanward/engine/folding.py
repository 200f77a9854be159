"""Folding: facts into their tables, and from there into the monitors of the units they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from spanward.engine.plan import SESSION
from spanward.engine.session import unplaced
from spanward.fact import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanward.engine.counters import Counters
    from spanward.engine.judge import Judge
    from spanward.engine.plan import Concern, Plan
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session
    from spanward.engine.unit import Unit
    from spanward.item import Item


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
        self._stale: dict[Unit, dict[int, Item | None]] = {}

    def fact(self, item: Item, key: bytes, session: str, *, homeless: bool) -> Fact | None:
        """What the matchers say of an item; None when none of them concerns it."""
        answers = self._plan.dispatch.answers(item)
        if not answers:
            return None
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
            homeless=homeless,
            true=answers.true,
            unknown=answers.unknown,
            notes=self._plan.notes(item, answers),
        )

    def add(self, session: Session, fact: Fact, by: Item, now: float) -> None:
        """Keep a fact that is new, and fold it."""
        if not self._admit(session, fact):
            return
        session.table.add(fact)
        self._join(session, fact)
        for unit, seen in self._units(session, fact):
            for concern in self._plan.concerns(seen, unit.kind):
                self._fold(unit, concern, seen, by, now)

    def change(self, session: Session, old: Fact | None, new: Fact | None, by: Item | None) -> None:
        """Replace a fact, or remove it (new is None), or put one that is not new to the world."""
        if old == new:
            return
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
        self._count_violations(before, after)

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
                self._judge.weigh(unit, spec, by, now)

    def _join(self, session: Session, fact: Fact) -> None:
        """Note that a job has a fact in a session."""
        if fact.job is not None and self._plan.has_jobs:
            self._registry.job(fact.job, session.seen).members.add(session.name)

    def _fold(self, unit: Unit, concern: Concern, fact: Fact, by: Item, now: float) -> None:
        spec = self._plan.specs[concern.spec]
        if spec.turns is not None and not self._plan.judges(concern.spec, unit.turn):
            return
        self._counters.matches[spec.name] += 1
        violating = spec.operator.traits.violating
        if violating is not None and concern.hopeful >> violating & 1:
            self._counters.violations[spec.name] += 1
        if self._stale and concern.spec in self._stale.get(unit, ()):
            return
        unit.fold(concern, fact, self._plan)
        self._judge.weigh(unit, concern.spec, by, now)

    def _admit(self, session: Session, fact: Fact) -> bool:
        """Whether there is room for a fact.

        Beyond the limit the session is in a gap, and only what may still settle something is
        kept; at twice the limit nothing is.
        """
        held = len(session.table)
        if held < self._most:
            return True
        if not session.gap:
            session.gap = True
            for unit in session.units.values():
                self._judge.lose_beginning(unit)
        return held < 2 * self._most and any(
            self._is_open(session, concern.spec) for concern in self._plan.concerns(fact, SESSION)
        )

    def _is_open(self, session: Session, spec: int) -> bool:
        if self._plan.specs[spec].operator.traits.order_bound:
            return False
        monitors = [unit.monitors.get(spec) for unit in session.units.values()]
        return not any(monitor is not None and monitor.standing for monitor in monitors)

    def _units(self, session: Session, fact: Fact) -> Iterator[tuple[Unit, Fact]]:
        """The units that a fact is in, and the fact as each of them sees it."""
        unit = session.units.get(None)
        if unit is not None:
            yield unit, fact
        turn = session.presence.turn_of(fact) if self._plan.has_turns else None
        of_turn = None if turn is None else session.units.get(turn)
        if of_turn is not None:
            yield of_turn, fact
        job = None if fact.job is None else self._registry.jobs.get(fact.job)
        if job is not None and job.begun:
            yield job.unit, unplaced(fact)

    def _concerned(
        self, session: Session, fact: Fact | None
    ) -> dict[tuple[Unit, int], tuple[Concern, Fact]]:
        if fact is None:
            return {}
        return {
            (unit, concern.spec): (concern, seen)
            for unit, seen in self._units(session, fact)
            for concern in self._plan.concerns(seen, unit.kind)
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
        order_bound = self._plan.specs[spec].operator.traits.order_bound
        return order_bound and _order_keys(before[1]) != _order_keys(after[1])

    def _count_violations(
        self,
        before: dict[tuple[Unit, int], tuple[Concern, Fact]],
        after: dict[tuple[Unit, int], tuple[Concern, Fact]],
    ) -> None:
        for (unit, number), (concern, _) in after.items():
            spec = self._plan.specs[number]
            violating = spec.operator.traits.violating
            known = before.get((unit, number))
            if violating is None or not concern.hopeful >> violating & 1:
                continue
            if known is None or not known[0].hopeful >> violating & 1:
                self._counters.violations[spec.name] += 1


def _order_keys(fact: Fact) -> tuple[int, int, int | None, int | None]:
    return (fact.start_ns, fact.end_ns, fact.position, fact.turn)


def moved(fact: Fact, session: str) -> Fact:
    """The fact in another session."""
    return structs.replace(fact, session=session)
