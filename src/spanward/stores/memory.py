"""The memory store: nothing is saved; what the process knew is gone when it ends.

It holds something only while specs are reloaded: what the old engine leaves to the new one.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from spanward.saved import (
    FIRST,
    Numbering,
    SavedCounts,
    SavedJob,
    SavedReports,
    SavedSession,
    SavedTrace,
    SavedTurn,
    Saving,
    Sending,
    Stored,
)
from spanward.vault import MOST_GONE


class MemoryStore:
    """Keeps nothing beyond the engine itself, so that there is nothing to wait for."""

    keeps = False
    outlives = True

    def __init__(self) -> None:
        self.vault = self
        self.lost = False
        self.damaged = 0
        self.clock = 0.0
        self.numbering: Numbering = FIRST
        self._gone: dict[tuple[str, str], None] = {}
        self._sessions: dict[str, SavedSession] = {}
        self._facts: defaultdict[str, list[bytes]] = defaultdict(list)
        self._turns: defaultdict[str, list[SavedTurn]] = defaultdict(list)
        self._traces_of: defaultdict[str, list[tuple[bytes, bool]]] = defaultdict(list)
        self._traces: dict[bytes, SavedTrace] = {}
        self._jobs: list[SavedJob] = []
        self._reports: list[tuple[bytes, SavedReports]] = []

    def commit(self, saving: Saving) -> None:
        """Hold everything that an engine knows for the one that takes its place."""
        self.taken()
        changes = saving.changes
        self.numbering = saving.numbering
        self._sessions = {one.name: one for one in changes.sessions}
        for session, _, packed in changes.facts:
            if packed is not None:
                self._facts[session].append(packed)
        for session, _, turn in changes.turns:
            if turn is not None:
                self._turns[session].append(turn)
        self._traces = {key: one for key, one in changes.traces.items() if one is not None}
        for key, trace in self._traces.items():
            self._traces_of[trace.home(key)].append((key, trace.homeless is not None))
        self._jobs = [one for one in changes.jobs.values() if one is not None]
        self._reports = [(key, one) for key, one in changes.reports.items() if one is not None]
        self._gone |= dict.fromkeys(changes.gone)
        while len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def taken(self) -> None:
        """Let go of what is held, but for the names of what is gone."""
        self._sessions = {}
        self._facts = defaultdict(list)
        self._turns = defaultdict(list)
        self._traces_of = defaultdict(list)
        self._traces = {}
        self._jobs = []
        self._reports = []

    def close(self) -> None:
        """Do nothing."""

    def counts_by_spec(self) -> dict[str, SavedCounts]:
        """None."""
        return {}

    def sendings(self) -> list[Sending]:
        """None: what did not go out when the process ended is lost."""
        return []

    # --- what is held

    def session(self, name: str) -> Stored | None:
        """All that is held of a session, once."""
        saved = self._sessions.pop(name, None)
        if saved is None:
            return None
        facts, turns = self._facts.pop(name, []), self._turns.pop(name, [])
        return Stored(saved, facts, turns, self._traces_of.pop(name, []))

    def trace(self, trace_id: bytes) -> SavedTrace | None:
        """A trace, once."""
        return self._traces.pop(trace_id, None)

    def jobs(self) -> list[SavedJob]:
        """All jobs."""
        return self._jobs

    def is_gone(self, kind: str, name: str) -> bool:
        """Whether a session or job was dropped before specs were last reloaded."""
        return (kind, name) in self._gone

    def quiet(self, idle: float, said: float, ended: float, most: int) -> list[str]:
        """None of them: all have their deadlines in memory."""
        return []

    def quietest(self, most: int, owner: str) -> list[tuple[str, bool, float]]:
        """None of them: all are in memory."""
        return []

    def owners(self) -> dict[str, int]:
        """How many sessions each owner has that has a name."""
        return Counter(one.owner for one in self._sessions.values() if one.owner)

    def urgent(self) -> list[str]:
        """All sessions: they go on in memory."""
        return list(self._sessions)

    def reports(self) -> list[tuple[bytes, SavedReports]]:
        """All reports that may still be amended."""
        return self._reports

    def counts(self) -> tuple[int, int, int]:
        """Sessions in all; the rest is not asked of a vault that keeps nothing."""
        return len(self._sessions), 0, 0
