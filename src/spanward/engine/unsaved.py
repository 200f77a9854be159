"""What changed since it was last saved, and what of it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanward.saved import (
    Changes,
    SavedExecution,
    SavedJob,
    SavedMonitor,
    SavedReports,
    SavedSession,
    SavedTrace,
    SavedTurn,
    SavedUnit,
)

if TYPE_CHECKING:
    from spanward.engine.plan import Plan
    from spanward.engine.reports import Reports
    from spanward.engine.session import Job, Session, Trace
    from spanward.engine.unit import Unit
    from spanward.saved import Turn


class Unsaved:
    """Sessions, traces, jobs and kept reports that changed; None: they are no more.

    ``dropped`` are the names of sessions that were dropped, be there a new one of the name since.
    Whoever changes something notes it here; what is noted needlessly is only saved again.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Everything was saved."""
        self.dropped: dict[str, None] = {}
        self.sessions: dict[str, Session] = {}
        self.traces: dict[bytes, Trace | None] = {}
        self.jobs: dict[str, Job | None] = {}
        self.reports: dict[bytes, Reports | None] = {}
        self.gone: list[tuple[str, str]] = []

    @property
    def some(self) -> bool:
        """Whether there is anything."""
        return bool(
            self.sessions or self.traces or self.jobs or self.reports or self.dropped or self.gone
        )

    def changes(self, plan: Plan) -> Changes:
        """All of it as values, as it is now."""
        return Changes(
            dropped=list(self.dropped),
            sessions=[saved_session(session, plan) for session in self.sessions.values()],
            turns=[
                (session.name, turn, saved_turn(session, turn, plan))
                for session in self.sessions.values()
                for turn in session.changed
            ],
            facts=[
                (session.name, key, packed)
                for session in self.sessions.values()
                for key, packed in session.table.changes()
            ],
            traces={
                key: None if one is None else saved_trace(one) for key, one in self.traces.items()
            },
            jobs={
                name: None if one is None else saved_job(one, plan)
                for name, one in self.jobs.items()
            },
            reports={
                key: None if one is None else saved_reports(one)
                for key, one in self.reports.items()
            },
            gone=list(self.gone),
        )


def saved_session(session: Session, plan: Plan) -> SavedSession:
    """A session as it is kept, without its facts and turns."""
    return SavedSession(
        name=session.name,
        epoch=session.epoch,
        gap=session.gap,
        ended=session.ended,
        said_end=session.said_end,
        pending=is_pending(session, plan),
        seen=session.seen,
        latest=session.latest,
        steps=session.own.steps,
        numbered=session.own.numbered,
        open_units=len(session.open),
        owner=session.owner,
    )


def saved_turn(session: Session, turn: Turn | None, plan: Plan) -> SavedTurn | None:
    """A turn as it is kept, or the session's own unit; None when there is nothing of it."""
    unit = session.units.get(turn)
    items, steps, start = session.own.save_turn(turn)
    if unit is None and not items and start is None:
        return None
    kept = None if unit is None else _kept(unit, plan).unit
    return SavedTurn(turn, items, steps, start, kept)


def is_pending(session: Session, plan: Plan) -> bool:
    """Whether something of a session is to be done before it is idle or forgotten."""
    return (session.said_end and not session.ended) or any(
        unit.due or _kept(unit, plan).waits for unit in session.open.values()
    )


def saved_trace(trace: Trace) -> SavedTrace:
    """A trace as it is kept."""
    homeless = None if trace.homeless is None else trace.homeless.save()
    return SavedTrace(trace.session, trace.bound_by, homeless)


def saved_job(job: Job, plan: Plan) -> SavedJob:
    """A job as it is kept."""
    return SavedJob(
        name=job.name,
        epoch=job.epoch,
        gap=job.gap,
        begun=job.begun,
        seen=job.seen,
        steps=job.steps,
        members=tuple(sorted(job.members)),
        unit=_kept(job.unit, plan).unit,
    )


def saved_reports(reports: Reports) -> SavedReports:
    """The reports of one id as they are kept."""
    executions = tuple(
        SavedExecution(
            number=one.number,
            reports=tuple(one.reports),
            session=None if one.placed is None else one.placed.session.name,
            key=b"" if one.placed is None else one.placed.key,
        )
        for one in reports.executions
    )
    return SavedReports(reports.several, reports.next, executions)


class Kept(msgspec.Struct, frozen=True):
    """A unit as it is kept; ``waits``: something that settled in it is still to be announced."""

    unit: SavedUnit
    waits: bool


def _kept(unit: Unit, plan: Plan) -> Kept:
    """A unit as it is kept, made once until it changes: sessions change more often than units."""
    if unit.kept is None:
        unit.kept = Kept(_as_it_is(unit, plan), _waits(unit, plan))
    return unit.kept


def _waits(unit: Unit, plan: Plan) -> bool:
    return any(plan.order_bound[spec] and one.waits for spec, one in unit.monitors.items())


def _as_it_is(unit: Unit, plan: Plan) -> SavedUnit:
    monitors = tuple(
        SavedMonitor(
            sha256=plan.specs[spec].sha256,
            standing=one.standing,
            by=one.by,
            by_ns=one.by_ns,
            announced=one.announced,
            revision=one.revision,
        )
        for spec, one in unit.monitors.items()
        if not one.is_blank
    )
    return SavedUnit(unit.turn, unit.ended, unit.named, unit.due, monitors)
