"""Resident memory of an open session: ``python bench/memory.py SESSIONS FACTS [SECONDS FILE]``.

Opens SESSIONS sessions with FACTS facts each, through the engine, in this process; lets the amend
window pass; prints a line of JSON. Each session gets an item every SECONDS seconds (120). With
FILE, what changed is saved to a SQLite store there, and quiet sessions are left to it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service import SPECS
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import TOOL_CALL, Item, Report
from spanward.saved import Saving
from spanward.stores.sqlite import SqliteStore
from spanward.vault import NOTHING
from stages import specs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS_A_ROUND: Final = 120.0
"""All sessions get one item a round, evenly spread over it: none becomes idle, few are warm."""
REQUESTS_A_COMMIT: Final = 10
AMEND_SECONDS: Final = 60.0
BASE_NS: Final = 1_700_000_000_000_000_000
REPORTS_A_REQUEST: Final = 100


def resident_bytes() -> int:
    """The resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def call(session: int, number: int) -> Report:
    """A tool call that several matchers of the benchmark's specs concern."""
    trace_id = (session + 1).to_bytes(16, "big")
    span_id = (number + 1).to_bytes(8, "big")
    start = BASE_NS + number * 1_000_000_000
    name = f"session-{session:06d}"
    item = Item(
        kind=TOOL_CALL,
        trace_id=trace_id,
        span_id=span_id,
        start_ns=start,
        end_ns=start + 500_000_000,
        session=name,
        seq=number + 1,
        turn=1 + number // 16,
        call_id=f"call-{session:06d}-{number:06d}",
        name="read_file" if number % 2 else "bash",
        span_name="tool.call",
        tool_kind="read" if number % 2 else "shell",
        path=f"src/module_{session:06d}_{number:03d}.py",
        input=f"sed -n 1,80p src/module_{session:06d}_{number:03d}.py",
        output=f"file {number} of session {session}",
        status="ok",
        ops=() if number % 2 else ("test",),
        args={"path": f"src/module_{session:06d}_{number:03d}.py", "timeout_s": 60},
    )
    return Report(trace_id, span_id, start, name, binds=True, items=(item,))


def one_round(sessions: int, number: int) -> Iterator[list[Report]]:
    """One item for each session, in batches as they would arrive."""
    for first in range(0, sessions, REPORTS_A_REQUEST):
        last = min(first + REPORTS_A_REQUEST, sessions)
        yield [call(session, number) for session in range(first, last)]


def measure(
    sessions: int, facts: int, seconds: float = SECONDS_A_ROUND, file: Path | None = None
) -> dict[str, float]:
    """Fill an engine and weigh it."""
    store = None if file is None else SqliteStore(file, "aside")
    engine = Engine(specs_of(SPECS), Limits(max_open=sessions), store or NOTHING)
    gc.collect()
    before = resident_bytes()
    now = 0.0
    begun = time.perf_counter()
    for number in range(facts):
        for request, reports in enumerate(one_round(sessions, number)):
            engine.take(reports, now)
            engine.advance(now)
            now += seconds * len(reports) / sessions
            if store is not None and request % REQUESTS_A_COMMIT == 0:
                save(engine, store, now)
    engine.advance(now + AMEND_SECONDS)
    if store is not None:
        save(engine, store, now + AMEND_SECONDS)
    taken = time.perf_counter() - begun
    since = time.perf_counter()
    gc.collect()
    pause = time.perf_counter() - since
    if engine.sessions_active != sessions:
        raise RuntimeError(f"{engine.sessions_active} sessions are open, not {sessions}")
    grown = resident_bytes() - before
    return {
        "sessions": sessions,
        "facts": facts,
        "mib": grown / 2**20,
        "bytes_a_session": grown / sessions,
        "bytes_a_fact": grown / sessions / facts,
        "full_collection_ms": pause * 1e3,
        "us_an_item": taken / sessions / facts * 1e6,
    }


def save(engine: Engine, store: SqliteStore, now: float) -> None:
    """Save what changed."""
    store.commit(Saving(now, engine.numbering, engine.changes(), {}, [], []))
    engine.saved(now)


if __name__ == "__main__":
    asked, each, *more = sys.argv[1:]
    every, at = (float(more[0]), Path(more[1])) if more else (SECONDS_A_ROUND, None)
    print(json.dumps(measure(int(asked), int(each), every, at)))
