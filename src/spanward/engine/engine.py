"""The engine: reports in, announcements out; no I/O, no threads, no clock of its own.

Call order: ``take`` with what came, ``advance`` as time goes by, ``finish`` once at the end. Times
are monotonic seconds, given by the caller and never falling. Not safe for several threads.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from spanward.engine.counters import FAILED, Counters
from spanward.engine.deadlines import Deadlines
from spanward.engine.folding import Folding
from spanward.engine.intake import Intake
from spanward.engine.judge import Judge
from spanward.engine.keep import Keep
from spanward.engine.lifecycle import Lifecycle
from spanward.engine.plan import Plan
from spanward.engine.registry import Registry
from spanward.vault import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spanward.engine.limits import Limits
    from spanward.engine.unit import Unit
    from spanward.item import Report
    from spanward.saved import Changes, Numbering
    from spanward.specs.spec import Spec
    from spanward.vault import Vault
    from spanward.verdict import Announcement, Cause, Verdict


class Engine:
    """Judges sessions against specs as their items arrive.

    ``counters`` are plain figures. ``faults`` are exceptions that reports raised: such a report is
    counted and left, never raised; whoever drives the engine tells of them and clears the list.
    ``vault`` has what was saved before; ``now`` is when the engine starts. ``lost_until``: there
    should have been something saved, and it is lost, so that what is first seen before then begins
    in a gap. ``counters`` are those of an engine before this one. ``goes_on``: it takes the place
    of one that ran until ``now``, so that idle times do not begin anew.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        limits: Limits,
        vault: Vault = NOTHING,
        now: float = 0.0,
        *,
        lost_until: float = -inf,
        counters: Counters | None = None,
        goes_on: bool = False,
    ) -> None:
        self.counters = counters or Counters(len(specs))
        self.faults: list[Exception] = []
        self._vault = vault
        self._plan = Plan(specs, vault.numbering, redacts=limits.redact_values)
        self._registry = Registry(self._plan, vault, -inf if goes_on else now, lost_until)
        self._keep = Keep(limits.amend_window, self._registry, signed=self._plan.asks_principal)
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
        self._intake = Intake(
            self._plan,
            self._registry,
            self._folding,
            self._life,
            self.counters,
            self._keep,
            exact=limits.amend_window is None,
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

    def note_all(self) -> None:
        """Have ``changes`` give all that an engine needs that is to take the place of this one.

        For a vault that keeps nothing that is everything. This engine may go on nevertheless.
        """
        self._registry.note_all()
        if not self._vault.keeps:
            self._keep.note_all()

    def saved(self, now: float) -> None:
        """What ``changes`` gave is safe, and may be asked of the vault again."""
        self._registry.note_saved()
        self._life.saved(now)

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
        return jobs + sum(len(session.open) for session in sessions)

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
        fates = self.counters.fates
        for report in reports:
            told = fates.total() + len(report.items)
            try:
                self._intake.take(report, now)
            except OSError:
                raise
            except Exception as fault:  # noqa: BLE001 - input must never stop the worker
                self._note(fault)
                fates[FAILED] += told - fates.total()
        self._guarded(self._folding.refresh, now)
        return self._announced()

    def advance(self, now: float) -> list[Announcement]:
        """Let time pass; gives what is announced because of it."""
        self._keep.expire(now)
        self._guarded(self._life.advance, now)
        return self._announced()

    def relieve(self) -> list[Announcement]:
        """Push some sessions out for want of memory; gives what is announced because of it."""
        self._once(self._life.relieve)
        return self._announced()

    def finish(self, cause: Cause, now: float) -> list[Announcement]:
        """End every unit; gives what is announced because of it.

        With a vault, some of those that are not in memory: to be called again, after what changed
        was saved, until no session is active.
        """
        self._guarded(self._folding.refresh, now)
        self._life.finish(cause, now, self._once)
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

    def _once(self, work: Callable[[], None]) -> None:
        """Do some work; a fault is noted, and it is not done again."""
        try:
            work()
        except OSError:
            raise
        except Exception as fault:  # noqa: BLE001 - the verdicts of others must not be lost
            self._note(fault)

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


def _report_order(verdict: Verdict) -> tuple[str, str, int, str]:
    turn = -1 if verdict.turn is None else verdict.turn
    return (verdict.spec, verdict.session or "", turn, verdict.job or "")
