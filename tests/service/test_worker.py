"""The worker: a fault of the service's own is counted, and ends nothing."""

from __future__ import annotations

import queue
from collections.abc import Sequence

import pytest

from spanward.dialects import DIALECTS
from spanward.engine.limits import Limits
from spanward.request import Answer, Request
from spanward.stores import Store
from spanward.stores.memory import MemoryStore
from spanward.verdict import Announcement
from spanward.worker import Worker
from tests.service.world import NEVER_RM, call, request, specs_of

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged is kept apart from what the tests say."""
    caplog.set_level("CRITICAL", "spanward")


class FullDisk:
    """A store that cannot save, until it can."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def commit(self) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("no space left")

    def close(self) -> None:
        """Nothing to do."""


class Listener:
    """Hears announcements; the first ones are too much for it."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.heard: list[Announcement] = []

    def __call__(
        self, announced: Sequence[Announcement], violated: Sequence[str], at_ns: int
    ) -> None:
        if self.failures:
            self.failures -= 1
            raise ValueError("too much")
        self.heard += announced


def working(listener: Listener, store: Store | None = None) -> Worker:
    """A worker that has begun."""
    worker = Worker(
        specs_of(NEVER_RM), Limits(), DIALECTS.values(), store or MemoryStore(), listener
    )
    worker.start()
    return worker


def answer_to(worker: Worker, data: bytes) -> Answer:
    """What a request is answered."""
    answers: queue.Queue[Answer] = queue.Queue()
    worker.offer(Request("traces", data, answers.put))
    return answers.get(timeout=10)


def test_a_store_that_cannot_save_is_no_success() -> None:
    """The sender is not told that all is well; what is malformed is so still; then it goes on."""
    listener = Listener()
    worker = working(listener, FullDisk(10**9))
    assert answer_to(worker, request(call("rm"))).failed
    assert answer_to(worker, b"\xff" * 9).malformed
    worker._store.failures = 0  # type: ignore[attr-defined]
    assert answer_to(worker, request(call("ls", 2))) == Answer()
    assert worker.stop(drain=False, timeout=10)
    assert worker.tally.failures >= 2
    assert [each.verdict.spec for each in listener.heard] == ["never-rm"]


def test_an_announcement_that_fails_harms_no_request() -> None:
    """What was judged is acknowledged, and the next announcement goes out."""
    listener = Listener(failures=1)
    worker = working(listener)
    assert answer_to(worker, request(call("rm", 1, "s1"))) == Answer()
    assert answer_to(worker, request(call("rm", 2, "s2"))) == Answer()
    assert worker.stop(drain=False, timeout=10)
    assert [each.verdict.session for each in listener.heard] == ["s2"]
    assert worker.tally.failures == 1


def test_an_answer_that_cannot_be_given_harms_nobody_else() -> None:
    """Its sender's loop may be closed already."""
    worker = working(Listener())

    def gone(answer: Answer) -> None:
        raise RuntimeError("the loop is closed")

    worker.offer(Request("traces", request(call("ls")), gone))
    assert answer_to(worker, request(call("ls", 2))) == Answer()
    assert worker.stop(drain=False, timeout=10)
    assert worker.tally.failures == 1


def test_a_stop_does_not_wait_for_ever() -> None:
    """A thread that hangs is left behind, and that is told."""
    answers: queue.Queue[None] = queue.Queue()
    worker = working(Listener())

    def stuck(answer: Answer) -> None:
        answers.get(timeout=30)

    worker.offer(Request("traces", b"", stuck))
    assert not worker.stop(drain=False, timeout=0.2)
    answers.put(None)
    assert worker.stop(drain=False, timeout=10)
