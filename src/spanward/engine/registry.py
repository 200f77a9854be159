"""The registry: which sessions, traces and jobs there are, and which belongs to which.

Those of which nothing came for a while may be in the vault alone; ``find`` brings them back.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spanward.engine.plan import JOB, SESSION
from spanward.engine.restore import Restore
from spanward.engine.session import Job, Presence, Session, Trace
from spanward.engine.unsaved import Unsaved
from spanward.item import SPAN
from spanward.vault import MOST_GONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.plan import Plan
    from spanward.engine.unit import Unit
    from spanward.item import Item, Report
    from spanward.vault import Vault


class Registry:
    """Everything that is open or retained, by name. It decides nothing about time or verdicts.

    ``sessions``, ``traces`` and ``jobs`` are those in memory; ``total`` counts the sessions in the
    vault too, ``owners`` those of each sender (empty: not known by name). ``lost_until``: the store
    was lost, so that sessions and jobs first seen before then begin in a gap. ``vault`` has what
    was saved. ``loaded`` is told of a session that came back from there, ``made_job`` of a new job.
    What changed since it was last saved is in ``unsaved``.
    """

    def __init__(self, plan: Plan, vault: Vault, started: float, lost_until: float) -> None:
        self._plan = plan
        # What is kept outlives the specs: others may ask for turns and jobs one day.
        self._has_turns = plan.has_turns or vault.outlives
        self.has_jobs = plan.has_jobs or vault.outlives
        self._epoch = plan.numbering.epoch
        self.vault = vault
        self.restore = Restore(plan, started, by_turn=self._has_turns, tracked=vault.keeps)
        self._lost_until = lost_until
        self._gone: dict[str, None] = {}
        self._gone_jobs: dict[str, None] = {}
        self.unsaved = Unsaved()
        self.sessions: dict[str, Session] = {}
        self.traces: dict[bytes, Trace] = {}
        self.jobs: dict[str, Job] = {}
        self.total = vault.counts()[0]
        self.owners: Counter[str] = Counter(vault.owners())
        if self.total > self.owners.total():
            self.owners[""] = self.total - self.owners.total()
        self.loaded: Callable[[Session], None]
        self.made_job: Callable[[Job], None]

    def session(self, name: str, now: float, owner: str = "") -> Session:
        """The session of a name, made when it is not there, and then its owner's."""
        session = self.find(name)
        if session is None:
            gone = self._is_gone(name)
            if gone:  # a row that cannot be read may be there still
                self.unsaved.dropped[name] = None
            session = self.sessions[name] = Session(
                name,
                now,
                owner=owner,
                gap=gone or now < self._lost_until,
                by_turn=self._has_turns,
                epoch=self._epoch,
                tracked=self.vault.keeps,
            )
            self.total += 1
            self.owners[owner] += 1
            self.unsaved.sessions[name] = session
        return session

    def find(self, name: str) -> Session | None:
        """The session of a name, back in memory; None when there is none."""
        session = self.sessions.get(name)
        if session is None and name not in self.unsaved.dropped:
            saved = self.vault.session(name)
            if saved is not None:
                session = self.sessions[name] = self.restore.session(saved)
                if not self.vault.keeps:
                    self._take_traces(session)
                if any(session.traces.values()):
                    self.recount(session)
                self.loaded(session)
        return session

    def has(self, session: Session) -> bool:
        """Whether a session has not been dropped since."""
        return self.sessions.get(session.name) is session

    def job(self, name: str, now: float) -> Job:
        """The job of a name, made when it is not there."""
        job = self.jobs.get(name)
        if job is None:
            gone = name in self._gone_jobs or self.vault.is_gone(JOB, name)
            gap = gone or now < self._lost_until
            job = self.jobs[name] = Job(name, now, self.find, gap=gap, epoch=self._epoch)
            self.made_job(job)
        job.seen = max(job.seen, now)
        self.unsaved.jobs[name] = job
        return job

    def load_jobs(self) -> list[Job]:
        """Bring all jobs back from the vault: they are few."""
        self.jobs = {one.name: self.restore.job(one, self.find) for one in self.vault.jobs()}
        return list(self.jobs.values())

    def trace(self, trace_id: bytes) -> Trace:
        """The trace of an id, made when it is not there."""
        trace = self.find_trace(trace_id)
        if trace is None:
            trace = self.traces[trace_id] = Trace()
        return trace

    def find_trace(self, trace_id: bytes) -> Trace | None:
        """The trace of an id, back in memory; None when there is none."""
        trace = self.traces.get(trace_id)
        if trace is None and trace_id not in self.unsaved.traces:
            saved = self.vault.trace(trace_id)
            if saved is not None:
                trace = self.traces[trace_id] = self.restore.trace(saved)
        return trace

    def changed(self, unit: Unit) -> None:
        """Note that a unit changed, and so its session or job."""
        unit.changed()
        session = self.sessions.get(unit.session or "")
        if session is not None:
            self.unsaved.sessions[session.name] = session
        job = self.jobs.get(unit.job or "")
        if job is not None:
            self.unsaved.jobs[job.name] = job

    def note_all(self) -> None:
        """Note as changed whatever the vault does not have as it is now."""
        for session in self.sessions.values():
            if not self.vault.keeps or session.seen != session.saved_seen:
                self.unsaved.sessions[session.name] = session
            if not self.vault.keeps:
                session.changed.update(dict.fromkeys((*session.units, *session.own.turns)))
        if self.vault.keeps:
            return
        self.unsaved.traces |= self.traces
        self.unsaved.jobs |= self.jobs
        self.unsaved.gone = [(SESSION, name) for name in self._gone]
        self.unsaved.gone += [(JOB, name) for name in self._gone_jobs]

    def note_saved(self) -> None:
        """Everything that changed was saved."""
        for session in self.unsaved.sessions.values():
            session.saved_seen = session.seen
            session.changed.clear()
            if session.table.unsaved:
                session.table.unsaved.clear()
        self.unsaved.clear()

    def unload(self, session: Session) -> None:
        """Leave a session and its traces to the vault, where they were saved."""
        del self.sessions[session.name]
        for trace_id in session.traces:
            self.traces.pop(trace_id, None)

    def home(self, trace_id: bytes) -> str | None:
        """The session of a trace's homeless records: that of the trace, else named after it.

        None for a record without a trace.
        """
        trace = self.find_trace(trace_id)
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
            self._leave_trace(report.trace_id, trace)
            return None
        before = self.home(report.trace_id)
        trace.bound_by = claim
        trace.session = session
        self.unsaved.traces[report.trace_id] = trace
        if before == session and report.trace_id in self.session(session, now).traces:
            return None
        found = self.session(session, now)
        found.gap = found.gap or self._is_gone(report.trace_id.hex())
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
        self.unsaved.sessions[session.name] = session
        if self.has_jobs and item.job is not None and item.kind != SPAN:
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
        traces = (self.trace(trace_id) for trace_id, follow in session.traces.items() if follow)
        whole = Presence(by_turn=self._has_turns)
        session.combine(whole, (one.homeless for one in traces if one.homeless is not None))

    def drop(self, session: Session, *, remembered: bool) -> None:
        """Forget a session and its traces; ``remembered``: it begins in a gap if it returns."""
        del self.sessions[session.name]
        self._strike(session.name, session.owner)
        self.unsaved.sessions.pop(session.name, None)
        for trace_id in session.traces:
            self.traces.pop(trace_id, None)
            self.unsaved.traces[trace_id] = None
        for unit in session.units.values():
            unit.ended = True
        if remembered:
            self.unsaved.gone.append((SESSION, session.name))
            _remember(self._gone, session.name)

    def lose(self, name: str, owner: str) -> bool:
        """Give up a session that cannot be had back; False when it has gone already."""
        if name in self.unsaved.dropped:
            return False
        self._strike(name, owner)
        return True

    def forget_owner(self, owner: str) -> None:
        """Have the counts right of an owner that has no session any more."""
        self.total -= self.owners.pop(owner, 0)

    def _strike(self, name: str, owner: str) -> None:
        self.total -= 1
        self.owners[owner] -= 1
        if not self.owners[owner]:
            del self.owners[owner]
        self.unsaved.dropped[name] = None

    def drop_job(self, job: Job, *, remembered: bool) -> None:
        """Forget a job; ``remembered``: it begins in a gap if it returns."""
        del self.jobs[job.name]
        self.unsaved.jobs[job.name] = None
        if remembered:
            self.unsaved.gone.append((JOB, job.name))
            _remember(self._gone_jobs, job.name)

    def _homeless(self, session: Session, trace_id: bytes) -> Presence:
        """The presence of a trace's homeless items in the session that they follow it to."""
        trace = self.trace(trace_id)
        self.unsaved.traces[trace_id] = trace
        if trace_id in session.traces or self.home(trace_id) == session.name:
            session.traces[trace_id] = True
        if trace.homeless is None:
            trace.homeless = Presence(by_turn=self._has_turns)
        if session.presence is session.own:
            self.recount(session)
        return trace.homeless

    def _follow(self, trace_id: bytes, before: str | None, session: Session) -> None:
        old = self.find(before) if before is not None else None
        if old is not None and trace_id in old.traces:
            del old.traces[trace_id]
            self.unsaved.sessions[old.name] = old
        session.traces[trace_id] = self.trace(trace_id).homeless is not None
        self.unsaved.sessions[session.name] = session

    def _take_traces(self, session: Session) -> None:
        """Have the traces of a session in memory: the vault gives them once."""
        for trace_id in session.traces:
            self.find_trace(trace_id)

    def _leave_trace(self, trace_id: bytes, trace: Trace) -> None:
        """Leave a trace to the vault that was only looked at: its session is there too."""
        saved = self.vault.keeps and trace_id not in self.unsaved.traces
        if saved and trace.session not in self.sessions:
            self.traces.pop(trace_id, None)

    def _is_gone(self, name: str) -> bool:
        return name in self._gone or self.vault.is_gone(SESSION, name)


def _remember(gone: dict[str, None], name: str) -> None:
    gone[name] = None
    if len(gone) > MOST_GONE:
        del gone[next(iter(gone))]
