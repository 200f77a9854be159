"""A service that crashes and goes on comes to the verdicts of one that never did.

Sessions of the oracle arrive while seconds and minutes pass. The process ends again and again,
before or after what it took was saved; what was not acknowledged is sent again. Sessions that are
quiet are left to the store and come back.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from pathlib import Path

import pytest

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import Report
from spanward.saved import Saving
from spanward.specs.spec import Spec
from spanward.stores.sqlite import SqliteStore
from spanward.verdict import Announcement, Cause
from tests.engine.arriving import RARELY, arriving, known, last_told, true_of
from tests.engine.judged import as_reports, shape
from tests.oracle.judge import judge

BLOCK = 30


class Process:
    """An engine over the store in a file, which crashes and starts again."""

    def __init__(self, path: Path, specs: tuple[Spec, ...], limits: Limits) -> None:
        self.path, self.specs, self.limits = path, specs, limits
        self.told: list[Announcement] = []
        self.pending: list[Announcement] = []
        self.now = 0.0
        self.start()

    def start(self, *, lost: bool = False) -> None:
        """Begin with what was saved."""
        self.store = SqliteStore(self.path, "aside")
        assert self.store.lost == lost
        self.now = self.store.clock
        self.pending = []
        lost_until = self.now + self.limits.idle_timeout if lost else -inf
        self.engine = Engine(self.specs, self.limits, self.store, self.now, lost_until=lost_until)

    def in_memory(self) -> int:
        """How many sessions the engine holds itself."""
        return len(self.engine._registry.sessions)

    def crash(self) -> None:
        """Lose what was not saved."""
        self.store.close()
        self.start()

    def take(self, reports: list[Report]) -> None:
        """Take what a sender sent; nothing is saved yet."""
        self.pending += self.engine.take(reports, self.now)
        assert not self.engine.faults, self.engine.faults

    def save(self) -> None:
        """Save everything: only now is it acknowledged, and told."""
        changes = self.engine.changes()
        self.store.commit(Saving(self.now, self.engine.numbering, changes, {}, [], []))
        self.engine.saved(self.now)
        self.told += self.pending
        self.pending = []

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.pending += self.engine.advance(self.now)
        self.save()

    def finish(self) -> None:
        """End everything."""
        while True:
            self.pending += self.engine.finish(Cause.SHUTDOWN, self.now)
            self.save()
            if not self.engine.sessions_active:
                return


@pytest.mark.parametrize("first", range(0, 1500, BLOCK))
def test_crashes_change_no_verdict(tmp_path: Path, first: int) -> None:
    """Whatever was saved when, and however often the process ended."""
    for seed, rng, specs, loaded, reports, come in arriving(first, BLOCK):
        limits = Limits(
            settle=rng.choice([0.0, 5.0]),
            idle_timeout=rng.choice([RARELY, 200.0, 20.0]),
            retain=RARELY,
            amend_window=rng.choice([RARELY, 1000.0]),
        )
        process = Process(tmp_path / f"{seed}.db", loaded, limits)
        for one in as_reports(loaded, come):
            process.take([one])
            while rng.random() < 0.2:
                process.crash()
                process.take([one])
            process.save()
            if rng.random() < 0.2:
                process.crash()
            process.wait(rng.choice([0.0, 1.0, 7.0, 31.0, 100.0]))
        process.finish()
        told = last_told(process.told)
        process.crash()
        for name in {one.session or one.trace_id.hex() for one in as_reports(loaded, reports)}:
            process.engine._registry.find(name)
        final = [shape(verdict) for verdict in process.engine.report()]
        assert true_of(final) == true_of(judge(specs, reports)), f"seed {seed}"
        stands = Counter((str(one["spec"]), str(one["result"])) for one in final)
        assert known(told) == known(stands), f"seed {seed}"
        process.store.close()
