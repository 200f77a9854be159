"""The worker: a fault of the service's own is counted, and ends nothing."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanward.dialects import DIALECTS
from spanward.emitters.outlet import Outlet
from spanward.engine.limits import Limits
from spanward.request import Answer, Request
from spanward.saved import Saving, Stored
from spanward.stores import Store, StoreError
from spanward.stores.memory import MemoryStore
from spanward.stores.sqlite import SqliteStore
from spanward.verdict import Announcement
from spanward.worker import Worker
from tests.service.world import NEVER_RM, call, request, specs_of

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged is kept apart from what the tests say."""
    caplog.set_level("CRITICAL", "spanward")


class FullDisk(SqliteStore):
    """A store that cannot save, or cannot read, until it can."""

    failures = 0
    blind = False

    def commit(self, saving: Saving) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("no space left")
        super().commit(saving)

    def session(self, name: str) -> Stored | None:
        if self.blind:
            raise StoreError("input/output error")
        return super().session(name)


class Listener:
    """An emitter that hears announcements; the first ones are too much for it."""

    name = "listener"

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.heard: list[Announcement] = []

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        if self.failures:
            self.failures -= 1
            raise ValueError("too much")
        self.heard += announcements
        return True

    def close(self) -> None:
        """Nothing to do."""


class Working:
    """A worker that has begun, its outlet, and what is heard."""

    def __init__(self, store: Store | None = None, failures: int = 0) -> None:
        self.listener = Listener(failures)
        self.outlet = Outlet(self.listener, pause=0.0)
        self.worker = Worker(
            specs_of(NEVER_RM),
            Limits(),
            DIALECTS.values(),
            store or MemoryStore(),
            [self.outlet],
        )
        self.worker.start()

    def stop(self) -> list[Announcement]:
        """Stop everything; what was heard."""
        assert self.worker.stop(drain=False, timeout=10)
        self.outlet.close(10)
        self.worker.close()
        return self.listener.heard


def answer_to(worker: Worker, data: bytes) -> Answer:
    """What a request is answered."""
    answers: queue.Queue[Answer] = queue.Queue()
    worker.offer(Request("traces", data, answers.put))
    return answers.get(timeout=10)


def violate(working: Working) -> None:
    """A violation in the session s1, acknowledged and told."""
    assert answer_to(working.worker, request(call("rm", 1, "s1"))) == Answer()
    while not working.outlet.emitted["success"]:
        assert working.outlet.emitted["failure"] == 0


def test_a_store_that_cannot_save_is_no_success(tmp_path: Path) -> None:
    """The sender is asked to try again, and is told "ok" only when all of it is saved."""
    store = FullDisk(tmp_path / "s.db", "aside")
    store.failures = 10**9
    working = Working(store)
    worker = working.worker
    assert answer_to(worker, request(call("rm"))).unsaved
    assert answer_to(worker, request(call("rm"))).unsaved  # which changes nothing in memory
    assert answer_to(worker, b"\xff" * 9).malformed
    store.failures = 0
    assert answer_to(worker, request(call("ls", 2))) == Answer()
    assert [each.verdict.spec for each in working.stop()] == ["never-rm"]
    assert worker.store_failures >= 3
    assert worker.tally.refused["unsaved"] == 2
    assert worker.tally.failures == 0
    again = SqliteStore(tmp_path / "s.db", "aside")
    (facts,) = [found.facts for found in [again.session("s1")] if found]
    assert len(facts) == 1
    assert again.sendings() == []
    assert again.counts_by_spec()["never-rm"].violations == 1
    again.close()


def test_a_store_that_cannot_read_is_no_success(tmp_path: Path) -> None:
    """The worker goes back to what was saved; what is sent again then is judged as if new."""
    store = FullDisk(tmp_path / "s.db", "aside")
    working = Working(store)
    worker = working.worker
    assert answer_to(worker, request(call("rm", 1, "s1"))) == Answer()
    store.blind = True
    half = request(call("rm", 2, "s1"), call("rm", 3, "s2"))  # only the second is to be looked up
    assert answer_to(worker, half).unsaved
    assert answer_to(worker, half).unsaved
    store.blind = False
    assert answer_to(worker, half) == Answer()
    assert answer_to(worker, half) == Answer()
    assert [each.verdict.session for each in working.stop()] == ["s1", "s2"]
    assert worker.counters.violations == [3]
    assert worker.store_failures >= 1
    assert worker.tally.failures == 0
    again = SqliteStore(tmp_path / "s.db", "aside")
    found = [again.session(name) for name in ("s1", "s2")]
    assert [len(each.facts) for each in found if each] == [2, 1]
    again.close()


def test_a_stop_saves_nothing_that_is_void(tmp_path: Path) -> None:
    """The store could not be read in the last request: only what went out is saved."""
    store = FullDisk(tmp_path / "s.db", "aside")
    working = Working(store)
    worker = working.worker
    violate(working)
    store.blind = True
    assert answer_to(worker, request(call("rm", 2, "s1"), call("rm", 3, "s2"))).unsaved
    assert [each.verdict.session for each in working.stop()] == ["s1"]
    again = SqliteStore(tmp_path / "s.db", "aside")
    found = [again.session(name) for name in ("s1", "s2")]
    assert [each and len(each.facts) for each in found] == [1, None]
    assert again.sendings() == []
    again.close()


def test_what_went_out_while_nothing_could_be_saved_is_not_sent_again(tmp_path: Path) -> None:
    """Although the worker went back to what was saved meanwhile."""
    store = FullDisk(tmp_path / "s.db", "aside")
    working = Working(store)
    worker = working.worker
    violate(working)
    store.failures = 10**9
    assert answer_to(worker, request(call("ls", 2, "s1"))).unsaved
    store.blind = True
    assert answer_to(worker, request(call("ls", 3, "s2"))).unsaved
    store.failures, store.blind = 0, False
    assert answer_to(worker, request(call("ls", 3, "s2"))) == Answer()
    assert store.sendings() == []
    assert [each.verdict.session for each in working.stop()] == ["s1"]


def test_an_announcement_that_fails_harms_no_request() -> None:
    """What was judged is acknowledged, and the announcement goes out in the end."""
    working = Working(failures=3)
    assert answer_to(working.worker, request(call("rm", 1, "s1"))) == Answer()
    assert answer_to(working.worker, request(call("rm", 2, "s2"))) == Answer()
    while working.outlet.emitted["success"] < 2:
        assert working.outlet.emitted["dropped"] == 0
    assert [each.verdict.session for each in working.stop()] == ["s1", "s2"]
    assert working.worker.tally.failures == 0


def test_an_answer_that_cannot_be_given_harms_nobody_else() -> None:
    """Its sender's loop may be closed already."""
    worker = Working().worker

    def gone(answer: Answer) -> None:
        raise RuntimeError("the loop is closed")

    worker.offer(Request("traces", request(call("ls")), gone))
    assert answer_to(worker, request(call("ls", 2))) == Answer()
    assert worker.stop(drain=False, timeout=10)
    assert worker.tally.failures == 1


def test_a_stop_does_not_wait_for_ever() -> None:
    """A thread that hangs is left behind, and that is told."""
    answers: queue.Queue[None] = queue.Queue()
    worker = Working().worker

    def stuck(answer: Answer) -> None:
        answers.get(timeout=30)

    worker.offer(Request("traces", b"", stuck))
    assert not worker.stop(drain=False, timeout=0.2)
    answers.put(None)
    assert worker.stop(drain=False, timeout=10)
