"""From what was saved back to sessions, traces, jobs and reports, in the light of the plan.

Operator states are not saved: units come back cold, and are made anew from the facts when they
are needed. What was announced of a spec that is no longer loaded is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.engine.monitor import Monitor
from spanward.engine.plan import SESSION, TURN
from spanward.engine.reports import Execution, Placed, Reports
from spanward.engine.session import Job, Presence, Session, Trace
from spanward.engine.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.plan import Plan
    from spanward.saved import SavedJob, SavedReports, SavedTrace, SavedUnit, Stored


class Restore:
    """Makes objects of saved values.

    ``started`` is the service's clock when it started: idle times begin anew then. ``by_turn``:
    turns are looked at. ``tracked`` tables note what changes.
    """

    def __init__(self, plan: Plan, started: float, *, by_turn: bool, tracked: bool) -> None:
        self._plan = plan
        self._by_turn = by_turn
        self._started = started
        self._tracked = tracked

    def session(self, stored: Stored) -> Session:
        """A session; its presence is only its own until its traces are counted again."""
        saved = stored.session
        session = Session(
            saved.name,
            saved.seen if saved.ended else max(saved.seen, self._started),
            owner=saved.owner,
            gap=saved.gap,
            by_turn=self._by_turn,
            epoch=saved.epoch,
            tracked=self._tracked,
        )
        session.saved_seen = saved.seen
        session.ended = saved.ended
        session.said_end = saved.said_end
        session.latest = saved.latest
        session.own.steps, session.own.numbered = saved.steps, saved.numbered
        session.traces = dict(stored.traces)
        session.gap = not session.table.load(stored.facts) or not stored.whole or session.gap
        for one in stored.turns:
            if one.turn is not None:
                session.own.load_turn(one.turn, one.items, one.steps, one.start)
            if one.unit is not None:
                kind = SESSION if one.turn is None else TURN
                unit = Unit(kind, session, session=saved.name, turn=one.turn)
                session.units[one.turn] = session.open[one.turn] = unit
                self._fill(unit, one.unit)
        session.changed.clear()
        return session

    def trace(self, saved: SavedTrace) -> Trace:
        """A trace."""
        trace = Trace()
        trace.session = saved.session
        trace.bound_by = saved.bound_by
        if saved.homeless is not None:
            trace.homeless = Presence(by_turn=self._by_turn)
            trace.homeless.load(saved.homeless)
        return trace

    def job(self, saved: SavedJob, find: Callable[[str], Session | None]) -> Job:
        """A job."""
        seen = saved.seen if saved.unit.ended else max(saved.seen, self._started)
        job = Job(saved.name, seen, find, gap=saved.gap, epoch=saved.epoch)
        job.begun = saved.begun
        job.steps = saved.steps
        job.members = set(saved.members)
        self._fill(job.unit, saved.unit)
        return job

    def reports(self, saved: SavedReports, find: Callable[[str], Session | None]) -> Reports:
        """The reports of one id."""
        executions = []
        for one in saved.executions:
            start = min(report.start_ns for report in one.reports)
            end = max(report.end_ns for report in one.reports)
            execution = Execution(one.number, list(one.reports), start, end)
            session = None if one.session is None else find(one.session)
            if session is not None:
                execution.placed = Placed(session, one.key, execution.item)
            executions.append(execution)
        return Reports(executions, several=saved.several, following=saved.next)

    def _fill(self, unit: Unit, saved: SavedUnit) -> None:
        unit.ended, unit.named = saved.ended, saved.named
        unit.due = saved.due and not saved.ended
        unit.cold = True
        for one in saved.monitors:
            spec = self._plan.by_sha256.get(one.sha256)
            if spec is None:
                continue
            monitor = unit.monitors[spec] = Monitor(self._plan.specs[spec].operator)
            monitor.drop_states()
            monitor.standing, monitor.by, monitor.by_ns = one.standing, one.by, one.by_ns
            monitor.announced, monitor.revision = one.announced, one.revision
