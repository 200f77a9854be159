"""The engine: reports in, announcements out; no I/O, no threads, no clock of its own.

Call order: ``take`` with what came, ``advance`` as time goes by, ``finish`` once at the end. Times
are monotonic seconds, given by the caller and never falling. Not safe for several threads.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import structs

from spanward.engine.counters import Counters
from spanward.engine.deadlines import Deadlines
from spanward.engine.folding import Folding
from spanward.engine.identity import (
    call_key,
    is_call,
    is_call_key,
    record_identity,
    renumbered,
)
from spanward.engine.judge import Judge
from spanward.engine.keep import Keep, identity_of
from spanward.engine.lifecycle import Lifecycle
from spanward.engine.plan import Plan
from spanward.engine.registry import Registry
from spanward.engine.reports import Execution, Placed, overlap, same_record
from spanward.vault import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spanward.engine.limits import Limits
    from spanward.engine.session import Session
    from spanward.engine.unit import Unit
    from spanward.fact import Fact
    from spanward.item import Item, Report
    from spanward.saved import Changes, Numbering
    from spanward.specs.spec import Spec
    from spanward.vault import Vault
    from spanward.verdict import Announcement, Cause, Verdict


class Engine:
    """Judges sessions against specs as their items arrive.

    ``counters`` are plain figures. ``faults`` are exceptions that reports raised: such a report is
    counted and left, never raised; whoever drives the engine tells of them and clears the list.
    ``vault`` has what was saved before; ``now`` is when the engine starts. ``lost``: there should
    have been something saved, and it is lost.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        limits: Limits,
        vault: Vault = NOTHING,
        now: float = 0.0,
        *,
        lost: bool = False,
    ) -> None:
        self.counters = Counters(len(specs))
        self.faults: list[Exception] = []
        self._exact = limits.amend_window is None
        self._vault = vault
        self._plan = Plan(specs, vault.numbering)
        lost_until = now + limits.idle_timeout if lost else -inf
        self._registry = Registry(self._plan, vault, now, lost_until)
        self._keep = Keep(limits.amend_window, self._registry)
        deadlines: Deadlines[object] = Deadlines()
        self._judge = Judge(
            self._plan, limits.settle, deadlines, self._number, self._registry.changed
        )
        self._folding = Folding(
            self._plan, self._registry, self._judge, self.counters, limits.max_facts
        )
        self._life = Lifecycle(
            self._plan,
            self._registry,
            self._judge,
            self._folding,
            deadlines,
            limits,
            self.counters,
        )
        self._life.start(now)
        for identity, saved in vault.reports():
            reports = self._registry.restore.reports(saved, self._registry.find)
            self._keep.load(identity, reports, now)

    @property
    def numbering(self) -> Numbering:
        """The numbers of the matchers: to be saved before anything else is."""
        return self._plan.numbering

    @property
    def has_changes(self) -> bool:
        """Whether something changed since ``saved`` was last called."""
        return self._registry.unsaved.some

    def changes(self) -> Changes:
        """What changed since ``saved`` was last called."""
        return self._registry.unsaved.changes(self._plan)

    def saved(self, now: float) -> None:
        """What ``changes`` gave is safe, and may be asked of the vault again."""
        self._registry.note_saved()
        self._life.rest(now)

    @property
    def sessions_active(self) -> int:
        """Sessions that are open."""
        if self._vault.keeps:
            return self._vault.counts()[1]
        return sum(not session.ended for session in self._registry.sessions.values())

    @property
    def units_open(self) -> int:
        """Units whose results are not final."""
        jobs = sum(job.begun and not job.unit.ended for job in self._registry.jobs.values())
        if self._vault.keeps:
            return self._vault.counts()[2] + jobs
        sessions = self._registry.sessions.values()
        return jobs + sum(not unit.ended for session in sessions for unit in session.units.values())

    def foresee(self, reports: Iterable[Report], now: float) -> None:
        """Learn whose session each trace is, before anything is judged: what ``check`` can do."""
        for report in reports:
            if report.binds and report.session is not None:
                self._life.session(report.session, now)
                self._registry.bind(report, report.session, now)

    def take(self, reports: Iterable[Report], now: float) -> list[Announcement]:
        """Take reports in their order; gives what is announced because of them.

        Raises ``OSError`` when the vault cannot be read; the rest may be taken again then.
        """
        for report in reports:
            try:
                self._take(report, now)
            except OSError:
                raise
            except Exception as fault:  # noqa: BLE001 - input must never stop the worker
                self._note(fault)
        self._guarded(self._folding.refresh, now)
        return self._announced()

    def advance(self, now: float) -> list[Announcement]:
        """Let time pass; gives what is announced because of it."""
        self._keep.expire(now)
        self._guarded(self._life.advance, now)
        return self._announced()

    def finish(self, cause: Cause, now: float) -> list[Announcement]:
        """End every unit; gives what is announced because of it.

        With a vault, some of those that are not in memory: to be called again, after what changed
        was saved, until no session is active.
        """
        self._folding.refresh(now)
        self._life.finish(cause, now)
        return self._announced()

    def report(self) -> list[Verdict]:
        """The final verdict of each unit and spec, after ``finish``, in the order of ``check``."""
        units = [
            unit for session in self._registry.sessions.values() for unit in session.units.values()
        ]
        units += [job.unit for job in self._registry.jobs.values() if job.begun]
        verdicts = [verdict for unit in units for verdict in self._judge.report(unit)]
        return sorted(verdicts, key=_report_order)

    def totals(self) -> tuple[int, int]:
        """How many distinct items, of how many sessions, there are among the reports kept."""
        return self._keep.totals()

    def _guarded(self, work: Callable[[float], None], now: float) -> None:
        """Do work that takes what it works on away first; a fault is noted and the rest done."""
        while True:
            try:
                work(now)
            except OSError:
                raise
            except Exception as fault:  # noqa: BLE001 - nor must what comes of it
                self._note(fault)
            else:
                return

    def _note(self, fault: Exception) -> None:
        self.counters.errors += 1
        self.faults.append(fault)

    def _announced(self) -> list[Announcement]:
        announced, self._judge.out = self._judge.out, []
        return announced

    def _number(self, unit: Unit) -> int | None:
        if unit.turn is None or unit.session is None:
            return None
        return self._registry.sessions[unit.session].presence.number(unit.turn)

    # --- one report

    def _take(self, report: Report, now: float) -> None:
        if report.binds and report.session is not None:
            session = self._life.session(report.session, now)
            left = self._registry.bind(report, report.session, now)
            if left is not None:
                self._move(report.trace_id, left, session, now)
            self._life.touch(session, now)
        for item in report.items:
            self.counters.items[item.kind] += 1
            self._admit(item, now)
            if self._exact:
                self._folding.refresh(now)

    def _admit(self, item: Item, now: float) -> None:
        home = item.session or self._registry.home(item.trace_id)
        if home is None:
            self.counters.not_an_item += 1
            return
        session = self._life.session(home, now)
        self._registry.see_report(session, item)
        if self._keep.keeps(item):
            self._admit_kept(session, item, now)
        else:
            self._admit_alone(session, item, now)

    def _admit_kept(self, session: Session, item: Item, now: float) -> None:
        """Take a report that is kept whole: the first of its item, or one that amends it."""
        call = is_call(item)
        identity = identity_of(item, session.name, call=call)
        reports = self._keep.of(identity)
        self._keep.note_homeless(identity, item)
        if reports is None:
            first = self._next_execution(session, item) if call else 0
            if first is None:
                self._ignore_late(session, now)
                return
            execution = self._keep.begin(identity, item, now, several=call, first=first)
            self._place(session, execution, item, now)
            return
        try:
            filed = reports.file(item)
        except OverflowError:
            self._ignore_late(session, now)
            return
        if filed is None:
            self.counters.duplicates += 1
            self._life.touch(session, now)
            return
        self._keep.changed(identity)
        execution, before = filed
        if before:
            self._place_again(execution, before, now)
        else:
            self._place(session, execution, item, now)

    def _admit_alone(self, session: Session, item: Item, now: float) -> None:
        """Take a report that is not kept: only its fact can tell that its item came before."""
        answers = self._plan.dispatch.answers(item)
        if not answers:
            self._enter(session, item, None, now)
            return
        fact = self._folding.fact(item, answers, record_identity(item), session.name)
        known = session.table.get(fact.key)
        if known is None:
            self._enter(session, item, fact, now)
            return
        self._life.step(session, item, now)
        if fact == known:
            self.counters.duplicates += 1
        elif _outranks(fact, known):
            self.counters.amended += 1
            self._folding.change(session, known, fact, item)
        else:
            self.counters.late += 1

    def _next_execution(self, session: Session, item: Item) -> int | None:
        """The number of a call's next execution; None when the report is of one no longer kept."""
        number = 0
        while (known := session.table.get(call_key(item.call_id or "", number))) is not None:
            if same_record(item, known) or overlap(item, known):
                return None
            number += 1
        return number

    def _ignore_late(self, session: Session, now: float) -> None:
        self.counters.late += 1
        self._life.touch(session, now)

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
        self.counters.amended += 1
        item = execution.item
        before = [old for old in placed if self._registry.has(old.session)]
        home = placed[0].session.name if is_call(item) else item.session
        session = self._life.session(home or self._registry.home(item.trace_id) or "", now)
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

    # --- sessions found late

    def _move(self, trace_id: bytes, left: str, session: Session, now: float) -> None:
        """Move a trace's homeless items from the session they were judged in to another one."""
        old = self._life.session(left, now)
        executions = self._keep.take_homeless(trace_id)
        for placed in [each.placed for each in executions if each.placed is not None]:
            self._take_back(placed)
        with self._folding.uncounted():
            for fact in [f for f in old.table if f.homeless and f.trace_id == trace_id]:
                self._folding.change(old, fact, None, None)
                self._rehome(fact, session)
            self._registry.recount(old)
            self._registry.recount(session)
            for report in [report for execution in executions for report in execution.reports]:
                self._admit(report, now)
        self._hand_over(old, session, now)
        self._life.reconcile(old, None, now)
        self._life.reconcile(session, None, now)
        self._life.reconcile_jobs({execution.item.job for execution in executions})
        self._life.drop_if_empty(old)

    def _take_back(self, placed: Placed) -> None:
        session = placed.session
        if self._registry.has(session):
            self._registry.see(session, placed.item, times=-1)
            self._folding.change(session, session.table.get(placed.key), None, None)

    def _hand_over(self, old: Session, session: Session, now: float) -> None:
        """Let a session have what else is known of the one whose items it takes over."""
        if old.gap and not session.gap:
            session.gap = True
            for unit in session.units.values():
                self._judge.lose_beginning(unit)
        if old.said_end:
            self._life.say_end(session, now)

    def _rehome(self, fact: Fact, session: Session) -> None:
        """Put a fact whose reports are no longer kept into another session's table."""
        number = 0
        while (known := session.table.get(fact.key)) is not None:
            if not is_call_key(fact.key) or same_record(fact, known) or overlap(fact, known):
                self.counters.late += 1
                return
            number += 1
            fact = structs.replace(fact, key=renumbered(fact.key, number))
        self._folding.change(session, None, structs.replace(fact, session=session.name), None)


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


def _report_order(verdict: Verdict) -> tuple[str, str, int, str]:
    turn = -1 if verdict.turn is None else verdict.turn
    return (verdict.spec, verdict.session or "", turn, verdict.job or "")
