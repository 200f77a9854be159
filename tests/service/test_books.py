"""Every record that was received has one fate (operations: the equations)."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanward.engine.counters import FATES as ENGINE_FATES
from spanward.request import FATES
from tests.service.mixed import balance, run
from tests.service.test_worker import FullDisk, Working, answer_to
from tests.service.world import call, request


def test_the_books_balance_after_a_mixed_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Repeats, amendments, bad ids, verdicts of ours, commits that fail, both doors."""
    caplog.set_level("CRITICAL", "spanward")
    counted, spoilt = run(20_000, 3, tmp_path)
    received, fates = balance(counted)
    assert received >= 20_000
    assert sum(fates.values()) == received
    assert fates.keys() == {*FATES, *ENGINE_FATES}
    assert {fate for fate, number in fates.items() if not number} == {"failed", "refused"}
    refused = {
        name: number for name, number in counted.items() if "requests_refused_total{" in name
    }
    unsaved = refused.pop('spanward_requests_refused_total{reason="unsaved"}')
    assert unsaved > 0
    assert sum(refused.values()) == spoilt > 0


def test_what_a_broken_request_leaves_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that cannot be read in the middle, a fault of ours: nothing is counted twice."""
    caplog.set_level("CRITICAL", "spanward")
    store = FullDisk(tmp_path / "s.db", "aside")
    working = Working(store)
    worker = working.worker
    store.blind = True
    assert answer_to(worker, request(call("ls", 1), call("ls", 2))).unsaved
    store.blind = False
    with monkeypatch.context() as patch:
        patch.setattr(worker._hearing._reader, "reports", lambda *_: 1 / 0)
        assert answer_to(worker, request(call("ls", 3))).failed
    assert not answer_to(worker, request(call("rm", 4), call("rm", 4))).failed
    working.stop()
    fates = worker.tally.fates + worker.counters.fates
    assert fates == {"refused": 3, "judged": 1, "duplicate": 1}
    assert worker.tally.received.total() == 5
