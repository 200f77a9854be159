"""Room: which session goes when there are too many, and what its going leaves behind."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.counters import Counters
    from spanward.engine.deadlines import Deadlines
    from spanward.engine.folding import Folding
    from spanward.engine.judge import Judge
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session


_SPARE: Final = 8
"""How many more sessions than needed the vault is asked for: something may have come for some."""


class Room:
    """Keeps the number of sessions below ``most``.

    ``deadlines`` has at least one deadline for every session; ``due`` tells when a session that
    nothing comes for is really due.
    """

    def __init__(
        self,
        registry: Registry,
        judge: Judge,
        folding: Folding,
        counters: Counters,
        deadlines: Deadlines[str],
        due: Callable[[Session], float],
        *,
        most: int,
    ) -> None:
        self._registry = registry
        self._judge = judge
        self._folding = folding
        self._counters = counters
        self._deadlines = deadlines
        self._due = due
        self._vault = registry.vault
        self._most = most
        self._ended: deque[Session] = deque()

    def make(self) -> None:
        """Push sessions out until there is room for one more; what is open of them is told."""
        while self._registry.total >= self._most:
            session = self._oldest()
            if not session.ended:
                for unit in session.units.values():
                    if not unit.ended:
                        self._judge.evict(unit)
                self._counters.sessions_closed["evicted"] += 1
            self.forget(session)

    def note_ended(self, session: Session) -> None:
        """A session ended: it is among the first to go."""
        self._ended.append(session)

    def forget(self, session: Session) -> None:
        """Drop a session; what it leaves behind in jobs and in the future begins in a gap."""
        for name in {fact.job for fact in session.table}:
            job = self._registry.jobs.get(name) if name is not None else None
            if job is not None:
                job.gap = True
                job.members.discard(session.name)
                self._judge.lose_beginning(job.unit)
        for unit in session.units.values():
            self._folding.forget(unit)
        self._registry.drop(session, remembered=True)
        while self._ended and not self._registry.has(self._ended[0]):
            self._ended.popleft()

    def _oldest(self) -> Session:
        """A session that has ended, the first of them, else the one that was quiet longest."""
        while self._ended:
            session = self._ended.popleft()
            if session.ended and self._registry.has(session):
                return session
        for name in self._vault.quietest(len(self._registry.unsaved.dropped) + _SPARE):
            resting = self._registry.find(name)
            if resting is not None and resting.seen == resting.saved_seen:
                return resting
        while True:
            due, name = self._deadlines.take_first()
            quiet = self._registry.sessions.get(name)
            if quiet is None:
                continue
            if self._due(quiet) <= due:
                return quiet
            self._deadlines.set(self._due(quiet), name)
