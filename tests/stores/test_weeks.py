"""Weeks of sessions, in virtual time: what is kept levels off."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from spanward.engine.limits import Limits
from tests.engine.judged import compiled
from tests.stores.test_restart import Process
from tests.stores.test_specs_change import FEW_RM, LS_FIRST, NEVER_RM, calls

DAY = 86400.0
DAYS, RETAINED = 21, 3
SESSIONS_A_DAY = 120
STEPS = 4
BYTES_A_NAME = 64
SPECS = (NEVER_RM, FEW_RM, LS_FIRST)


def a_day(process: Process, day: int, rng: Random) -> None:
    """Sessions of a few steps each, spread over a day; the process ends once in between."""
    begun: list[tuple[str, int]] = []
    for number in range(SESSIONS_A_DAY):
        begun.append((f"day-{day}-{number}", 0))
        for _ in range(STEPS):
            at = rng.randrange(len(begun))
            name, steps = begun[at]
            begun[at] = (name, steps + 1)
            process.take(calls(name, rng.choice(["ls", "rm", "cat"]), first=steps + 1))
        process.wait(DAY / SESSIONS_A_DAY)
        if number == SESSIONS_A_DAY // 2:
            process.crash()


def test_file_and_memory_level_off(tmp_path: Path) -> None:
    """Ended sessions are forgotten after their time, and every unit was announced before."""
    path = tmp_path / "s.db"
    limits = Limits(settle=10.0, idle_timeout=1800.0, retain=RETAINED * DAY)
    process, rng = Process(path, compiled(SPECS), limits), Random(5)
    sizes, kept = [], []
    for day in range(DAYS):
        a_day(process, day, rng)
        sizes.append(path.stat().st_size)
        kept.append(process.store.counts()[0])
        assert process.in_memory() <= 10
    settled = RETAINED + 2
    forgotten = (DAYS - RETAINED) * SESSIONS_A_DAY  # of which the names are remembered
    assert max(sizes[settled:]) <= sizes[settled] + BYTES_A_NAME * forgotten
    assert max(kept[settled:]) <= (RETAINED + 1) * SESSIONS_A_DAY
    process.wait(DAY)
    for _ in range(200):
        process.wait(RETAINED * DAY)
    assert process.store.counts() == (0, 0, 0)
    assert process.store._db.execute("SELECT count(*) FROM facts").fetchone() == (0,)
    last = Counter((one.verdict.spec, one.verdict.session) for one in process.told)
    opened = {session for _, session in last}
    assert len(last) == len(SPECS) * len(opened)
    assert len(opened) > 0.5 * DAYS * SESSIONS_A_DAY
    process.store.close()
