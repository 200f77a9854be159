"""Room: which session goes when there are too many, and what its going leaves behind.

Sessions are their sender's who opened them. When there are too many in all, one of the sender goes
that has the most: nobody can push out the sessions of others by opening many.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanward.engine.counters import Counters
    from spanward.engine.folding import Folding
    from spanward.engine.judge import Judge
    from spanward.engine.limits import Limits
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session


_FEW: Final = 32
"""Candidates that are looked for at once, at the least: all sessions are looked at for them."""
_SHARE: Final = 100
"""Of so many sessions one is a candidate."""


class Room:
    """Keeps the number of sessions below ``max_open``, of a named sender's below its quota."""

    def __init__(
        self,
        registry: Registry,
        judge: Judge,
        folding: Folding,
        counters: Counters,
        limits: Limits,
    ) -> None:
        self._registry = registry
        self._judge = judge
        self._folding = folding
        self._counters = counters
        self._vault = registry.vault
        self._most = limits.max_open
        self._most_of_one = limits.max_open_per_sender
        self._ended: defaultdict[str, deque[Session]] = defaultdict(deque)
        self._candidates: defaultdict[str, deque[tuple[float, str]]] = defaultdict(deque)

    def make(self, owner: str) -> None:
        """Push sessions out until there is room for one more; what is open of them is told."""
        owners = self._registry.owners
        while owner and self._most_of_one is not None and owners[owner] >= self._most_of_one:
            self._push_one_out(owner)
        while self._registry.total >= self._most:
            self._push_one_out(self._largest())

    def relieve(self) -> None:
        """Push out a share of all sessions, the quietest of the largest sender first."""
        for _ in range(self._registry.total // _SHARE + 1):
            if self._registry.total > 0:
                self._push_one_out(self._largest())

    def _largest(self) -> str:
        owners = self._registry.owners
        return max(owners, key=lambda name: (owners[name], name))

    def note_ended(self, session: Session) -> None:
        """A session ended: it is among the first to go."""
        self._ended[session.owner].append(session)

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
        ended = self._ended[session.owner]
        while ended and not self._registry.has(ended[0]):
            ended.popleft()

    def _push_one_out(self, owner: str) -> None:
        """Let a sender's session go that has ended, the first of them, else one quiet for long."""
        ended = self._ended[owner]
        while ended:
            session = ended.popleft()
            if session.ended and self._registry.has(session):
                self.forget(session)
                return
        while not self._push_candidate_out(owner):
            if not self._look_for_candidates(owner):
                self._registry.forget_owner(owner)  # it has none: a damaged row was counted twice
                return

    def _push_candidate_out(self, owner: str) -> bool:
        candidates = self._candidates[owner]
        while candidates:
            seen, name = candidates.popleft()
            resting = name not in self._registry.sessions
            session = self._registry.find(name)
            if session is None:
                if self._registry.lose(name, owner):
                    return True
            elif session.owner == owner and seen == (
                session.saved_seen if resting else session.seen
            ):
                self._push_out(session)
                return True
        return False

    def _push_out(self, session: Session) -> None:
        if not session.ended:
            for unit in session.units.values():
                if not unit.ended:
                    self._judge.evict(unit)
            self._counters.sessions_closed["evicted"] += 1
        self.forget(session)

    def _look_for_candidates(self, owner: str) -> bool:
        """Find the sessions that are quiet longest, if any; what comes for one of them saves it."""
        most = max(_FEW, self._registry.owners[owner] // _SHARE)
        found = nsmallest(most, self._quiet(owner, most))
        self._candidates[owner].extend((seen, name) for _, seen, name in found)
        return bool(found)

    def _quiet(self, owner: str, most: int) -> Iterator[tuple[bool, float, str]]:
        """When something last came for a sender's sessions, whether they are open, their names."""
        sessions = self._registry.sessions
        for name, session in sessions.items():
            if session.owner == owner:
                yield not session.ended, session.seen, name
        dropped = self._registry.unsaved.dropped
        for name, ended, seen in self._vault.quietest(most + len(dropped), owner):
            if name not in sessions and name not in dropped:
                yield not ended, seen, name
