"""Specs are reloaded while sessions are open: the engine is another one, the sessions go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import Report
from spanward.saved import Saving
from spanward.specs.spec import Spec
from spanward.stores import Store
from spanward.stores import memory as memory_store
from spanward.stores.memory import MemoryStore
from spanward.stores.sqlite import SqliteStore
from spanward.verdict import Announcement, Cause
from tests.engine.arriving import RARELY, arriving, known, last_told, true_of
from tests.engine.judged import as_reports, compiled, shape
from tests.oracle.judge import judge
from tests.stores.test_specs_change import LS, NEVER_LS, NEVER_RM, RM, SOME_LS, calls

BLOCK = 50
MakeStore = Callable[[], Store]
TURNS = {"name": "turns", "unit": "turn", "assert": {"never": RM}}
JOBS = {"name": "jobs", "unit": "job", "assert": {"never": RM}}


class Reloaded:
    """An engine over a store, the place of which is taken by another one now and then."""

    def __init__(self, store: Store, specs: tuple[Spec, ...], limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.now = 0.0
        self.told: list[Announcement] = []
        self.engine = Engine(specs, limits, store.vault, self.now)

    def take(self, reports: list[Report]) -> None:
        """Take and save."""
        self.told += self.engine.take(reports, self.now)
        assert not self.engine.faults, self.engine.faults
        self.save()

    def save(self) -> None:
        """As the worker does after each group."""
        if self.store.vault.keeps:
            self._commit()
        self.engine.saved(self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.told += self.engine.advance(self.now)
        self.save()

    def reload(self, *specs: Spec) -> None:
        """Go on with other specs."""
        self.engine.note_all()
        self._commit()
        self.engine.saved(self.now)
        counters = self.engine.counters.for_specs(len(specs))
        self.engine = Engine(
            specs, self.limits, self.store.vault, self.now, counters=counters, goes_on=True
        )
        self.store.taken()

    def finish(self) -> dict[tuple[str, str | None], tuple[str, str]]:
        """End everything; the result and cause of what is told then, by spec and session."""
        before = len(self.told)
        while True:
            self.told += self.engine.finish(Cause.SHUTDOWN, self.now)
            self.save()
            if not self.engine.sessions_active:
                break
        last = [one.verdict for one in self.told[before:]]
        return {(one.spec, one.session): (str(one.result), str(one.cause)) for one in last}

    def _commit(self) -> None:
        changes, numbering = self.engine.changes(), self.engine.numbering
        self.store.commit(Saving(self.now, numbering, changes, {}, [], []))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Makes stores, of either kind."""
    if request.param == "memory":
        return MemoryStore
    numbers = iter(range(10**9))
    return lambda: SqliteStore(tmp_path / f"{next(numbers)}.db", "aside")


def engine(store: MakeStore, *specs: dict[str, Any], **limits: Any) -> Reloaded:
    """An engine with some specs."""
    chosen = Limits(**{"settle": 0.0, "idle_timeout": 1e6, **limits})
    return Reloaded(store(), compiled(specs), chosen)


@pytest.mark.parametrize("first", range(0, 600, BLOCK))
def test_reloading_changes_no_verdict(store: MakeStore, first: int) -> None:
    """However often specs are reloaded in the middle, and others come and go meanwhile."""
    more = compiled([{**TURNS, "name": "a-turn"}, {**JOBS, "name": "a-job"}])
    for seed, rng, specs, loaded, reports, come in arriving(first, BLOCK):
        limits = Limits(
            settle=rng.choice([0.0, 5.0]),
            idle_timeout=rng.choice([RARELY, 200.0]),
            retain=RARELY,
            amend_window=rng.choice([RARELY, 1000.0]),
        )
        running = Reloaded(store(), loaded, limits)
        for one in as_reports(loaded, come):
            running.take([one])
            while rng.random() < 0.4:
                rest = tuple(rng.sample(more, rng.randrange(3)))
                running.reload(*rng.sample(loaded, len(loaded)), *rest)
            running.wait(rng.choice([0.0, 1.0, 7.0, 31.0, 100.0]))
        running.reload(*loaded)
        running.finish()
        told = last_told([one for one in running.told if not one.verdict.spec.startswith("a-")])
        for name in {one.session or one.trace_id.hex() for one in as_reports(loaded, reports)}:
            running.engine._registry.find(name)
        final = [shape(verdict) for verdict in running.engine.report()]
        assert true_of(final) == true_of(judge(specs, reports)), f"seed {seed}"
        stands = Counter((str(one["spec"]), str(one["result"])) for one in final)
        assert known(told) == known(stands), f"seed {seed}"
        running.store.close()


def test_what_is_new_begins_in_a_gap_for_what_is_open(store: MakeStore) -> None:
    """Not for a session that begins later; and what did not change knows what it knew."""
    running = engine(store, NEVER_RM)
    running.take(calls("old", "cat", "ls"))
    running.take(calls("violated", "rm"))
    running.reload(*compiled([NEVER_RM, NEVER_LS, SOME_LS]))
    running.take(calls("new", "cat"))
    assert running.finish() == {
        ("never-rm", "old"): ("pass", "shutdown"),
        ("never-ls", "old"): ("unknown", "incomplete"),
        ("some-ls", "old"): ("unknown", "incomplete"),
        ("never-ls", "violated"): ("unknown", "incomplete"),
        ("some-ls", "violated"): ("unknown", "incomplete"),
        ("never-rm", "new"): ("pass", "shutdown"),
        ("never-ls", "new"): ("pass", "shutdown"),
        ("some-ls", "new"): ("fail", "shutdown"),
    }


def test_idle_times_go_on(store: MakeStore) -> None:
    """Who reloads often does not keep sessions open; what only lived on has lived on."""
    running = engine(store, NEVER_RM, JOBS, idle_timeout=100.0)
    (with_job,) = calls("s", "cat")
    (step,) = with_job.items
    running.take([structs.replace(with_job, items=(structs.replace(step, job="j"),))])
    running.wait(50.0)
    running.take([Report(b"s".ljust(16, b"-"), b"s" * 8, 999, "s", True, ())])
    for _ in range(9):
        running.wait(10.0)
        running.reload(*compiled([NEVER_RM, JOBS]))
    told = [(one.verdict.spec, str(one.verdict.cause)) for one in running.told]
    assert told == [("jobs", "idle")]
    running.wait(10.0)
    assert [one.verdict.spec for one in running.told] == ["jobs", "never-rm"]


def test_a_late_report_amends_what_came_before_a_reload(store: MakeStore) -> None:
    """The same call told again, otherwise: no second item."""
    running = engine(store, {"name": "few", "assert": {"count": {"match": RM, "max": 1}}})
    (first,) = calls("s", "rm")
    (step,) = first.items
    named = structs.replace(step, call_id="c")
    running.take([structs.replace(first, items=(named,))])
    running.reload(*(running.engine._plan.specs))
    later = structs.replace(named, status="ok", span_id=b"another!")
    running.take([structs.replace(first, span_id=b"another!", items=(later,))])
    assert running.engine.counters.fates["amended"] == 1
    assert running.finish() == {("few", "s"): ("pass", "shutdown")}


def test_figures_of_the_service_go_on_and_those_of_specs_begin(store: MakeStore) -> None:
    """Who knows the specs by name carries theirs over."""
    running = engine(store, NEVER_RM)
    running.take(calls("s", "rm"))
    running.reload(*compiled([NEVER_LS, NEVER_RM]))
    counters = running.engine.counters
    assert (counters.sessions_opened, counters.violations) == (1, [0, 0])


def test_turns_of_open_sessions_can_be_asked_for_later(store: MakeStore) -> None:
    """Also when no spec asked for turns before; the old ones are in a gap, or as they were."""
    running = engine(store, NEVER_RM)
    (first,) = calls("s", "cat")
    (step,) = first.items
    running.take([structs.replace(first, items=(structs.replace(step, turn_key="t1"),))])
    running.reload(*compiled([NEVER_RM, TURNS]))
    (later,) = calls("s", "rm", first=2)
    (step,) = later.items
    running.take([structs.replace(later, items=(structs.replace(step, turn_key="t2"),))])
    found = [one.verdict for one in running.told if one.verdict.spec == "turns"]
    assert [(one.turn, str(one.result)) for one in found] == [(2, "fail")]


def test_ended_sessions_still_go_first(store: MakeStore) -> None:
    """When there are too many: those that ended, then the quietest; each begins in a gap again."""
    running = engine(store, NEVER_RM, idle_timeout=100.0, max_open=3)
    running.take(calls("ended", "cat"))
    running.wait(100.0)
    running.take(calls("quiet", "cat"))
    running.wait(1.0)
    running.take(calls("busy", "cat"))
    running.reload(*compiled([NEVER_RM]))
    running.take(calls("new", "cat"))
    told = [(one.verdict.session, str(one.verdict.cause)) for one in running.told]
    assert told == [("ended", "idle")]
    running.take(calls("newer", "cat"))
    told = [(one.verdict.session, str(one.verdict.cause)) for one in running.told]
    assert told == [("ended", "idle"), ("quiet", "evicted")]
    running.reload(*compiled([NEVER_RM]))
    running.take(calls("ended", "cat", first=5))
    assert running.finish()["never-rm", "ended"] == ("unknown", "incomplete")


def test_a_failed_attempt_changes_nothing(store: MakeStore) -> None:
    """The engine that left everything to another goes on when there is no other."""
    running = engine(store, NEVER_RM)
    running.take(calls("s", "cat"))
    running.engine.note_all()
    running._commit()
    running.store.taken()
    running.engine.saved(running.now)
    running.take(calls("s", "rm", first=2))
    assert [one.verdict.session for one in running.told] == ["s"]
    assert running.store.vault.session("nobody") is None


def test_names_of_what_is_gone_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all reloads."""
    monkeypatch.setattr(memory_store, "MOST_GONE", 2)
    running = engine(MemoryStore, NEVER_RM, max_open=1)
    for name in ("a", "b", "c", "d"):
        running.take(calls(name, "cat"))
        running.reload(*compiled([NEVER_RM, {"name": "x", "assert": {"never": LS}}]))
    gone = [running.store.vault.is_gone("session", name) for name in ("a", "b", "c", "d")]
    assert gone == [False, True, True, False]
