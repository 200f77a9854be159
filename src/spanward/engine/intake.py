"""The intake: one report at a time, from what a record told to facts and units.

A report is of an item that is new, that is known (and may be amended), or that is no longer known
well enough: then it is late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.engine.counters import AMENDED, DUPLICATE, JUDGED, LATE, NOT_AN_ITEM
from spanward.engine.identity import call_key, is_call, record_identity
from spanward.engine.keep import Keep, identity_of
from spanward.engine.moves import Moves
from spanward.engine.reports import Execution, Placed, overlap, same_record

if TYPE_CHECKING:
    from spanward.engine.counters import Counters
    from spanward.engine.folding import Folding
    from spanward.engine.lifecycle import Lifecycle
    from spanward.engine.plan import Plan
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session
    from spanward.fact import Fact
    from spanward.item import Item, Report


class Intake:
    """Takes reports. ``exact``: what each item changes is weighed before the next is taken."""

    def __init__(
        self,
        plan: Plan,
        registry: Registry,
        folding: Folding,
        life: Lifecycle,
        counters: Counters,
        keep: Keep,
        *,
        exact: bool,
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._folding = folding
        self._life = life
        self._counters = counters
        self._keep = keep
        self._exact = exact
        self._moves = Moves(registry, folding, life, counters, keep, self._admit)

    def take(self, report: Report, now: float) -> None:
        """Take one report into account."""
        if report.binds and report.session is not None:
            session = self._life.session(report.session, now, report.sender)
            left = self._registry.bind(report, report.session, now)
            if left is not None:
                self._moves.move(report.trace_id, left, session, now)
            self._life.touch(session, now)
        for item in report.items:
            self._counters.items[item.kind] += 1
            fate = self._admit(item, now)
            self._counters.fates[fate] += 1
            if self._exact:
                self._folding.refresh(now)

    def _admit(self, item: Item, now: float) -> str:
        """Take a report of an item into account; its fate."""
        home = item.session or self._registry.home(item.trace_id)
        if home is None:
            return NOT_AN_ITEM
        session = self._life.session(home, now, item.principal)
        self._registry.unsaved.sessions[session.name] = session
        self._registry.see_report(session, item)
        if self._keep.keeps(item):
            return self._admit_kept(session, item, now)
        return self._admit_alone(session, item, now)

    def _admit_kept(self, session: Session, item: Item, now: float) -> str:
        """Take a report that is kept whole: the first of its item, or one that amends it."""
        call = is_call(item)
        identity = identity_of(item, session.name, call=call)
        reports = self._keep.of(identity)
        self._keep.note_homeless(identity, item)
        if reports is None:
            first = self._next_execution(session, item) if call else self._first(session, item)
            if first is None:
                self._life.touch(session, now)
                return LATE
            execution = self._keep.begin(identity, item, now, several=call, first=first)
            self._place(session, execution, item, now)
            return JUDGED
        try:
            filed = reports.file(item)
        except OverflowError:
            self._life.touch(session, now)
            return LATE
        if filed is None:
            self._life.touch(session, now)
            return DUPLICATE
        self._keep.changed(identity)
        execution, before = filed
        if before:
            self._place_again(execution, before, now)
            return AMENDED
        self._place(session, execution, item, now)
        return JUDGED

    def _admit_alone(self, session: Session, item: Item, now: float) -> str:
        """Take a report that is not kept: only its fact can tell that its item came before."""
        answers = self._plan.dispatch.answers(item)
        if not answers:
            self._enter(session, item, None, now)
            return JUDGED
        fact = self._folding.fact(item, answers, record_identity(item), session.name)
        known = session.table.get(fact.key)
        if known is None:
            self._enter(session, item, fact, now)
            return JUDGED
        self._life.step(session, item, now)
        if fact == known:
            return DUPLICATE
        if not _outranks(fact, known):
            return LATE
        self._folding.change(session, known, fact, item)
        return AMENDED

    def _first(self, session: Session, item: Item) -> int | None:
        """0, the number of what is no call; None when its reports are no longer kept."""
        return 0 if session.table.get(record_identity(item)) is None else None

    def _next_execution(self, session: Session, item: Item) -> int | None:
        """The number of a call's next execution; None when the report is of one no longer kept."""
        number = 0
        while (known := session.table.get(call_key(item.call_id or "", number))) is not None:
            if same_record(item, known) or overlap(item, known):
                return None
            number += 1
        return number

    # --- kept items

    def _enter(self, session: Session, item: Item, fact: Fact | None, now: float) -> None:
        """Take an item into account that is new."""
        if fact is None and self._life.changes_nothing(session, item):
            session.seen = now
            self._see(session, item, now)
        else:
            self._begin(session, item, fact, now)

    def _place(self, session: Session, execution: Execution, item: Item, now: float) -> None:
        """Take the first report of a kept item into account."""
        self._begin(session, item, self._put(session, execution, item), now)

    def _begin(self, session: Session, item: Item, fact: Fact | None, now: float) -> None:
        """Have a new item in its units, and its fact, if it leaves one, folded."""
        self._see(session, item, now)
        self._life.step(session, item, now)
        if fact is not None:
            self._folding.add(session, fact, item, now)

    def _put(self, session: Session, execution: Execution, item: Item) -> Fact | None:
        """Note where an execution's item is now; its fact, None when no matcher concerns it."""
        call = is_call(item)
        key = call_key(item.call_id or "", execution.number) if call else record_identity(item)
        execution.placed = Placed(session, key, item)
        answers = self._plan.dispatch.answers(item)
        return self._folding.fact(item, answers, key, session.name) if answers else None

    def _place_again(self, execution: Execution, placed: list[Placed], now: float) -> None:
        """Take an item into account as its reports make it now, in place of what it was before."""
        item = execution.item
        before = [old for old in placed if self._registry.has(old.session)]
        home = placed[0].session.name if is_call(item) else item.session
        name = home or self._registry.home(item.trace_id) or ""
        session = self._life.session(name, now, execution.reports[-1].principal)
        fact = self._put(session, execution, item)
        self._see(session, item, now)
        for old in before:
            self._registry.see(old.session, old.item, times=-1)
        if any(_elsewhere(old, session, item) for old in before):
            for each in dict.fromkeys([session, *(old.session for old in before)]):
                self._life.reconcile(each, item, now)
            self._life.reconcile_jobs({old.item.job for old in before})
        self._life.step(session, item, now)
        self._replace(session, fact, item, before)

    def _replace(
        self, session: Session, fact: Fact | None, item: Item, before: list[Placed]
    ) -> None:
        """Put a fact in the place of those that its item had before."""
        known, elsewhere = None, []
        for old in before:
            fact_before = old.session.table.get(old.key)
            if old.session is session and known is None:
                known = fact_before
            elif fact_before is not None:
                elsewhere.append(fact_before)
                self._folding.change(old.session, fact_before, None, item)
        self._folding.change(session, known, fact, item, elsewhere)

    def _see(self, session: Session, item: Item, now: float) -> None:
        self._registry.see(session, item, times=1)
        if item.turn is not None and session.presence.numbered == 1 and session.units:
            self._life.reconcile(session, item, now)  # keys are no longer how turns are known


def _elsewhere(old: Placed, session: Session, item: Item) -> bool:
    """Whether an amendment moved an item to another session, turn, job or kind."""
    was = old.item
    return (old.session, was.turn, was.turn_key, was.job, was.kind) != (
        session,
        item.turn,
        item.turn_key,
        item.job,
        item.kind,
    )


def _outranks(fact: Fact, known: Fact) -> bool:
    """Which of two reports of one record stands when neither was kept whole."""
    return (fact.end_ns, fact.start_ns, fact.true, fact.unknown) > (
        known.end_ns,
        known.start_ns,
        known.true,
        known.unknown,
    )
