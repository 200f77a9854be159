"""The registry: which sessions, traces and jobs there are, and which belongs to which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward.engine.session import Job, Presence, Session, Trace
from spanward.item import SPAN

if TYPE_CHECKING:
    from spanward.item import Item, Report

_MOST_GONE: Final = 1_000_000
"""Names of dropped sessions that are remembered, so that one that returns begins in a gap."""


class Registry:
    """Everything that is open or retained, by name. It decides nothing about time or verdicts."""

    def __init__(self, *, has_turns: bool, has_jobs: bool) -> None:
        self._has_turns = has_turns
        self._has_jobs = has_jobs
        self.sessions: dict[str, Session] = {}
        self.traces: dict[bytes, Trace] = {}
        self.jobs: dict[str, Job] = {}
        self._gone: dict[str, None] = {}
        self._gone_jobs: dict[str, None] = {}

    def session(self, name: str, now: float) -> Session:
        """The session of a name, made when it is not there."""
        session = self.sessions.get(name)
        if session is None:
            session = self.sessions[name] = Session(
                name, now, gap=name in self._gone, by_turn=self._has_turns
            )
        return session

    def has(self, session: Session) -> bool:
        """Whether a session has not been dropped since."""
        return self.sessions.get(session.name) is session

    def job(self, name: str, now: float) -> Job:
        """The job of a name, made when it is not there."""
        job = self.jobs.get(name)
        if job is None:
            job = self.jobs[name] = Job(name, now, self.sessions, gap=name in self._gone_jobs)
        return job

    def trace(self, trace_id: bytes) -> Trace:
        """The trace of an id, made when it is not there."""
        trace = self.traces.get(trace_id)
        if trace is None:
            trace = self.traces[trace_id] = Trace()
        return trace

    def home(self, trace_id: bytes) -> str | None:
        """The session of a trace's homeless records: that of the trace, else named after it.

        None for a record without a trace.
        """
        trace = self.traces.get(trace_id)
        if trace is not None and trace.session is not None:
            return trace.session
        return trace_id.hex() or None

    def bind(self, report: Report, session: str, now: float) -> str | None:
        """Let a span name its trace's session, if it is the earliest-started that does.

        Gives the name of the session whose homeless items must move, None when none must.
        """
        trace = self.trace(report.trace_id)
        claim = (report.start_ns, report.span_id, session)
        if trace.bound_by is not None and trace.bound_by <= claim:
            return None
        before = self.home(report.trace_id)
        trace.bound_by = claim
        trace.session = session
        if before == session and report.trace_id in self.session(session, now).traces:
            return None
        found = self.session(session, now)
        found.gap = found.gap or report.trace_id.hex() in self._gone
        self._follow(report.trace_id, before, found)
        has_homeless = trace.homeless is not None or bool(trace.ids)
        return before if before != session and has_homeless else None

    def see_report(self, session: Session, item: Item) -> None:
        """Take a report into account, apart from the item that it is of."""
        if not self._has_turns or item.turn_key is None:
            return
        if item.session is None:
            self._homeless(session, item.trace_id).see_start(item.turn_key, item.start_ns)
        else:
            session.own.see_start(item.turn_key, item.start_ns)
        session.presence.see_start(item.turn_key, item.start_ns)

    def see(self, session: Session, item: Item, *, times: int) -> None:
        """Take an item of a session into account (times 1), or take that back (-1)."""
        if self._has_jobs and item.job is not None and item.kind != SPAN:
            self.job(item.job, session.seen).steps += times
        if item.session is not None:
            session.own.see(item, times)
            if session.presence is not session.own:
                session.presence.see(item, times)
            return
        self._homeless(session, item.trace_id).see(item, times)
        session.presence.see(item, times)

    def recount(self, session: Session) -> None:
        """Make a session's presence anew from its own items and those of its traces."""
        homeless = (self.traces[trace_id].homeless for trace_id in session.traces)
        whole = Presence(by_turn=self._has_turns)
        session.combine(whole, (presence for presence in homeless if presence is not None))

    def drop(self, session: Session, *, remembered: bool) -> None:
        """Forget a session and its traces; ``remembered``: it begins in a gap if it returns."""
        del self.sessions[session.name]
        for trace_id in session.traces:
            del self.traces[trace_id]
        for unit in session.units.values():
            unit.ended = True
        if remembered:
            _remember(self._gone, session.name)

    def drop_job(self, job: Job, *, remembered: bool) -> None:
        """Forget a job; ``remembered``: it begins in a gap if it returns."""
        del self.jobs[job.name]
        if remembered:
            _remember(self._gone_jobs, job.name)

    def _homeless(self, session: Session, trace_id: bytes) -> Presence:
        """The presence of a trace's homeless items in the session that they follow it to."""
        trace = self.trace(trace_id)
        if trace_id not in session.traces and self.home(trace_id) == session.name:
            session.traces[trace_id] = None
        if trace.homeless is None:
            trace.homeless = Presence(by_turn=self._has_turns)
        if session.presence is session.own:
            self.recount(session)
        return trace.homeless

    def _follow(self, trace_id: bytes, before: str | None, session: Session) -> None:
        old = self.sessions.get(before) if before is not None else None
        if old is not None and trace_id in old.traces:
            del old.traces[trace_id]
        session.traces[trace_id] = None


def _remember(gone: dict[str, None], name: str) -> None:
    gone[name] = None
    if len(gone) > _MOST_GONE:
        del gone[next(iter(gone))]
