"""The life of units: when they begin, when they end, and what happens to what is kept then.

A unit ends when its session said so, when nothing came for the idle timeout, when a later turn
has begun; it is kept for a while after, and reopened by what comes late (semantics, section 6).
Deadlines are never taken back: who is woken looks at what is true by then.
"""

from __future__ import annotations

from functools import partial
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from spanward.engine.deadlines import Deadlines
from spanward.engine.judge import Judge, Settling
from spanward.engine.plan import Plan
from spanward.engine.rest import MOST_QUIET, Rest
from spanward.engine.room import Room
from spanward.engine.session import Job, Session
from spanward.engine.turns import TurnEnd, Turns
from spanward.item import SPAN
from spanward.verdict import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanward.engine.counters import Counters
    from spanward.engine.folding import Folding
    from spanward.engine.limits import Limits
    from spanward.engine.registry import Registry
    from spanward.engine.unit import Unit
    from spanward.item import Item
    from spanward.saved import Turn


class Lifecycle:
    """Begins and ends the units of sessions and jobs as items and time go by."""

    def __init__(
        self,
        plan: Plan,
        registry: Registry,
        judge: Judge,
        folding: Folding,
        deadlines: Deadlines[Any],
        limits: Limits,
        counters: Counters,
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._judge = judge
        self._folding = folding
        self._deadlines = deadlines
        self._limits = limits
        self._counters = counters
        self._sessions_due: Deadlines[str] = Deadlines()
        self._vault = registry.vault
        registry.made_job = self._made_job
        self._turns = Turns(plan, folding, deadlines, limits.settle)
        self._rest = Rest(
            plan, registry, deadlines, self._turns, limits, self._wake, self._look_at_session
        )
        self._room = Room(registry, judge, folding, counters, limits)

    # --- items

    def session(self, name: str, now: float, owner: str | None = None) -> Session:
        """The session of a name; a new one, which its sender owns, may push another out."""
        session = self._registry.find(name)
        if session is None:
            self._room.make(owner or "")
            session = self._registry.session(name, now, owner or "")
            self._sessions_due.set(now + self._limits.idle_timeout, name)
            self._counters.sessions_opened += 1
        return session

    def relieve(self) -> None:
        """Push some sessions out, as if there were too many."""
        self._room.relieve()

    def touch(self, session: Session, now: float) -> None:
        """Something came for a session."""
        session.seen = now
        if session.ended:
            session.ended = False
            self._sessions_due.set(self._due(session), session.name)
            self._registry.unsaved.sessions[session.name] = session
        self._rest.warm(session, now)

    def step(self, session: Session, item: Item, now: float) -> None:
        """An item was taken into account: begin or reopen the units that it is in."""
        self.touch(session, now)
        if self._turns.are_named:
            if session.presence.has(None):
                self._turns.name(session, [session.presence.turn_of(item)], item)
            for unit in self._turns.take_named(session):
                self._withdraw(unit)
        if item.kind == SPAN:
            self._reopen(session, item, now)
            return
        if self._enter(session, None, item, now) and self._turns.are_named:
            self._turns.name(session, list(session.presence.turns), item)
        turn = session.presence.turn_of(item) if self._plan.has_turns else None
        if turn is not None:
            self._enter(session, turn, item, now)
            self._turns.follow(session, turn, now)
        if item.job is not None and self._plan.has_jobs:
            self._enter_job(item.job, item, now)
        if item.ends:
            self.say_end(session, now)

    def say_end(self, session: Session, now: float) -> None:
        """The runtime says that a session has ended."""
        if not session.said_end:
            session.said_end = True
            self._sessions_due.set(now + self._limits.settle, session.name)

    def changes_nothing(self, session: Session, item: Item) -> bool:
        """Whether an item that leaves no fact tells nothing but that its session is alive.

        So it is when it names its session, all units that it is in are open already, and no
        clock depends on it. Most span events are of this kind, and they are many.
        """
        unit = session.units.get(None)
        if unit is None or unit.ended or item.ends or item.session is None or session.ended:
            return False
        if item.job is not None and self._plan.has_jobs:
            return False
        if not self._plan.has_turns:
            return True
        turn = item.turn if item.turn is not None else item.turn_key
        if turn is None:
            return True
        of_turn = session.units.get(turn) if turn == session.latest else None
        return of_turn is not None and not of_turn.ended and not of_turn.named

    def reconcile(self, session: Session, by: Item | None, now: float) -> None:
        """Bring a session's units in line with its items after more than one item more."""
        self.touch(session, now)
        for turn, unit in list(session.units.items()):
            if not session.presence.has(turn):
                self._withdraw(unit)
                session.drop_unit(turn)
        turns: list[Turn | None] = [None]
        if self._plan.has_turns:
            turns += list(session.presence.turns)
        for turn in turns:
            if session.presence.has(turn):
                known = session.units.get(turn)
                unit = session.make_unit(turn) if known is None else known
                if known is None or unit.named:
                    self._folding.stale_all(unit, by)
                unit.ended = unit.named = False
        if self._turns.are_named and session.presence.has(None):
            self._turns.name(session, session.presence.turns, by)
        session.latest = None
        named = (turn for turn in session.units if turn is not None)
        latest = next((turn for turn in named if session.presence.has(turn)), None)
        if latest is not None:
            self._turns.follow(session, latest, now)

    def reconcile_jobs(self, names: Iterable[str | None]) -> None:
        """Withdraw those of some jobs to which no step belongs any more."""
        for name in names:
            job = None if name is None else self._registry.jobs.get(name)
            if job is not None and job.begun and job.steps == 0:
                self._withdraw(job.unit)
                self._registry.drop_job(job, remembered=False)

    def _withdraw(self, unit: Unit) -> None:
        self._judge.merge_away(unit)
        self._folding.forget(unit)
        unit.ended = True

    def drop_if_empty(self, session: Session) -> None:
        """Forget a session to which nothing belongs any more."""
        if not session.units and not session.traces and not len(session.table):
            self._registry.drop(session, remembered=False)
            self._counters.sessions_closed["merged"] += 1

    def _enter(self, session: Session, turn: Turn | None, item: Item, now: float) -> bool:
        """Have an item in a unit; whether the unit began with it."""
        unit = session.units.get(turn)
        begins = unit is None or unit.named
        unit = unit or session.make_unit(turn)
        unit.cold = unit.cold or unit.named
        unit.named = unit.ended = False
        if begins:
            self._begin(unit, item, now)
        return begins

    def _reopen(self, session: Session, item: Item, now: float) -> None:
        """A plain span begins no unit, but is in those that are there, ended or not."""
        for turn in (None, session.presence.turn_of(item)):
            unit = session.units.get(turn)
            if unit is not None and unit.ended:
                unit.ended = False
                if turn is not None and session.presence.has(turn):
                    self._turns.follow(session, turn, now)
        job = self._registry.jobs.get(item.job) if item.job is not None else None
        if job is not None and job.begun:
            self._enter_job(job.name, item, now)

    def _begin(self, unit: Unit, item: Item, now: float) -> None:
        """A unit begins with an item; facts of plain spans may have been waiting for it."""
        if unit.cold:
            self._folding.stale_all(unit, item)
            return
        for spec in self._plan.settled_at_start[unit.kind]:
            if self._plan.judges(spec, unit.turn):
                unit.refold({spec}, self._plan)
                self._judge.weigh(unit, spec, unit.monitors[spec], item, now)

    def _enter_job(self, name: str, item: Item, now: float) -> None:
        job = self._registry.job(name, now)
        if not job.begun:
            job.begun = True
            job.unit.cold = bool(job.members)
            self._deadlines.set(now + self._limits.idle_timeout, job)
            self._begin(job.unit, item, now)
        elif job.unit.ended:
            self._deadlines.set(now + self._limits.idle_timeout, job)
        job.unit.ended = False

    # --- time

    def advance(self, now: float) -> None:
        """Do all that is due by now."""
        while (due := self._deadlines.take(now)) is not None:
            match due:
                case Settling():
                    self._judge.settle(due)
                case TurnEnd():
                    due.unit.due = False
                    if not due.unit.ended:
                        self._end(due.unit, Cause.TURN_END)
                case _:
                    self._look_at_job(due, now)
        while (name := self._sessions_due.take(now)) is not None:
            session = self._registry.sessions.get(name)
            if session is not None:
                self._look_at_session(session, now)
        self._rest.advance(now)

    def finish(self, cause: Cause, now: float, each: Callable[[Callable[[], None]], None]) -> None:
        """End everything that is open: what is in memory, and some of what is in the vault alone.

        To be called again, once all was saved, until the vault has nothing open. ``each`` does the
        work of one session or job, so that a fault in it is its own affair.
        """
        for name in self._vault.quiet(now, now, -inf, MOST_QUIET):
            self._registry.find(name)
        for session in list(self._registry.sessions.values()):
            if not session.ended:
                self._counters.sessions_closed[str(cause)] += 1
            if not session.ended or session.open:
                each(partial(self._end_session, session, cause))
        for job in list(self._registry.jobs.values()):
            if job.begun and not job.unit.ended:
                each(partial(self._end, job.unit, cause))

    def start(self, now: float) -> None:
        """Bring back what waits for something, and all jobs. To be called once, first."""
        for job in self._registry.load_jobs():
            self._deadlines.set(self._job_due(job), job)
            if job.begun:
                self._rest.resume(job.unit, now)
        self._rest.start(now)
        if not self._vault.keeps:  # else the vault tells which of them go first
            ended = [each for each in self._registry.sessions.values() if each.ended]
            for session in sorted(ended, key=attrgetter("seen")):
                self._room.note_ended(session)

    def saved(self, now: float) -> None:
        """Everything was just saved: what is quiet for long need not be in memory."""
        self._rest.leave(now)

    def _wake(self, session: Session, now: float) -> None:
        self._sessions_due.set(max(self._due(session), now), session.name)

    def _look_at_session(self, session: Session, now: float) -> None:
        due = self._due(session)
        if due > now:
            self._sessions_due.set(due, session.name)
        elif session.ended:
            self._room.forget(session)
        else:
            # Its next deadline is set first: whatever its verdicts raise, its room is not lost.
            session.ended = True
            self._registry.unsaved.sessions[session.name] = session
            self._counters.sessions_closed["ended" if session.said_end else "idle"] += 1
            if not self._vault.keeps:  # else the vault tells when it is to be forgotten
                self._room.note_ended(session)
                self._sessions_due.set(self._due(session), session.name)
            self._end_session(session, Cause.SESSION_END if session.said_end else Cause.IDLE)

    def _due(self, session: Session) -> float:
        """When a session that nothing comes for any more ends, or is forgotten if it has."""
        if session.ended:
            return session.seen + self._limits.retain
        wait = self._limits.settle if session.said_end else self._limits.idle_timeout
        return session.seen + wait

    def _end_session(self, session: Session, cause: Cause) -> None:
        self._turns.make_named(session)
        for unit in list(session.units.values()):
            if not unit.ended:
                self._end(unit, cause)
        session.ended = True
        self._registry.unsaved.sessions[session.name] = session

    def _end(self, unit: Unit, cause: Cause) -> None:
        self._judge.conclude(unit, cause)
        self._registry.changed(unit)
        if cause is not Cause.END_OF_INPUT:  # then a report is still to be made
            unit.cool()

    def _look_at_job(self, job: Job, now: float) -> None:
        due = self._job_due(job)
        if due > now:
            self._deadlines.set(due, job)
        elif job.begun and not job.unit.ended:
            self._end(job.unit, Cause.IDLE)
            self._deadlines.set(self._job_due(job), job)
        elif self._registry.jobs.get(job.name) is job:
            self._registry.drop_job(job, remembered=True)

    def _job_due(self, job: Job) -> float:
        """When a job that nothing comes for any more ends, or is forgotten."""
        open_ = job.begun and not job.unit.ended
        return job.seen + (self._limits.idle_timeout if open_ else self._limits.retain)

    def _made_job(self, job: Job) -> None:
        self._deadlines.set(self._job_due(job), job)
        if len(self._registry.jobs) > self._limits.max_open:
            self._push_job_out(next(iter(self._registry.jobs.values())))

    def _push_job_out(self, job: Job) -> None:
        """Let the job go that is known longest; it begins in a gap if it returns."""
        if job.begun and not job.unit.ended:
            self._judge.evict(job.unit)
        self._folding.forget(job.unit)
        self._registry.drop_job(job, remembered=True)
