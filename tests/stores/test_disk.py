"""A disk that is full, for real: the file may not grow, and then it may again."""

from __future__ import annotations

import resource
import threading
import time
import urllib.request
from pathlib import Path

from tests.stores.torture import Run, _finish, final_verdicts, go, prepare, requests_of, told

ENOUGH = 60
SMALL = 192 * 1024
"""Bytes that each file of the process may have at first."""


def refusals(run: Run) -> float:
    """How many requests were refused because they could not be saved."""
    address = f"http://127.0.0.1:{run.ports[1]}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    wanted = 'spanward_requests_refused_total{reason="unsaved"} '
    return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))


def test_nothing_is_acknowledged_that_is_not_saved(tmp_path: Path) -> None:
    """Senders try again until there is room; then the verdicts are those of a calm run."""
    requests = requests_of(3, sessions=20, size=8)
    calm, full = prepare(tmp_path / "calm", requests), prepare(tmp_path / "full", requests)
    expected = go(calm, None, 0)
    full.start()
    assert full.process is not None
    resource.prlimit(full.process.pid, resource.RLIMIT_FSIZE, (SMALL, resource.RLIM_INFINITY))
    client = threading.Thread(target=full.send_all, daemon=True)
    client.start()
    give_up = time.monotonic() + ENOUGH
    while not _refused(full):
        assert time.monotonic() < give_up, (full.folder / "log").read_text()[-3000:]
        assert client.is_alive(), "everything was sent, and the disk was never full"
        time.sleep(0.02)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(full.process.pid, resource.RLIMIT_FSIZE, unlimited)
    client.join(ENOUGH)
    assert not client.is_alive(), (full.folder / "log").read_text()[-3000:]
    assert _finish(full) == expected
    assert final_verdicts(full) == final_verdicts(calm)
    told(full)


def _refused(run: Run) -> bool:
    try:
        return refusals(run) > 0
    except OSError:  # it does not listen yet
        return False
