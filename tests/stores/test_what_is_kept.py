"""What a crash must not change: the same story told twice, once with a restart in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanward.engine.limits import Limits
from spanward.item import SPAN, TOOL_CALL, Item, Report
from tests.engine.judged import compiled
from tests.stores.test_restart import Process

RM: dict[str, Any] = {"tool": {"name": "rm"}}
LS: dict[str, Any] = {"tool": {"name": "ls"}}
NEVER_RM = {"name": "never-rm", "assert": {"never": RM}}


def said(session: str, name: str | None, at: int, trace: str = "", **fields: Any) -> Report:
    """A report of a call at a time; ``kind`` and other fields may be given."""
    known = {"kind": TOOL_CALL, "end_ns": at * 10 + 5, "start_ns": at * 10, **fields}
    item = Item(
        trace_id=(trace or session).encode().ljust(16, b"-"),
        span_id=at.to_bytes(8, "big"),
        session=session,
        name=name,
        **known,
    )
    return Report(item.trace_id, item.span_id, item.start_ns, session, True, (item,))


def put_away(process: Process) -> None:
    """Nothing happens."""


@pytest.fixture(params=[put_away, Process.crash], ids=["calm", "crash"])
def restart(request: pytest.FixtureRequest) -> Callable[[Process], None]:
    """A restart, or nothing."""
    chosen: Callable[[Process], None] = request.param
    return chosen


def of(process: Process, since: int = 0) -> set[tuple[Any, ...]]:
    """What was told: spec, session or job, turn, result, revision."""
    told = [one.verdict for one in process.told[since:]]
    return {
        (one.spec, one.job or one.session, one.turn, str(one.result), one.revision) for one in told
    }


def take(process: Process, *reports: Report) -> None:
    """Take and save."""
    process.take(list(reports))
    process.save()


def test_a_job_is_in_a_gap_once_a_member_went(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """A fail that was told is no pass afterwards, nor is what may have been missed a fail."""
    specs = [
        {"name": "no-rm", "unit": "job", "assert": {"never": RM}},
        {"name": "some-ls", "unit": "job", "assert": {"eventually": LS}},
    ]
    limits = Limits(settle=0.0, idle_timeout=1e6, amend_window=1.0, max_open=2)
    process = Process(tmp_path / "s.db", compiled(specs), limits)
    take(process, said("a", "rm", 1, job="J"))
    process.wait(100.0)
    take(process, said("b", "cat", 1, job="J"))
    process.wait(1.0)
    take(process, said("c", "cat", 1))  # pushes a out
    restart(process)
    process.finish()
    told = of(process)
    assert ("no-rm", "J", None, "fail", 0) in told
    assert ("some-ls", "J", None, "unknown", 0) in told
    assert not {one for one in told if one[3] == "pass"}


def test_turns_and_jobs_are_known_before_a_spec_asks_for_them(tmp_path: Path) -> None:
    """A spec that comes later finds what its matchers knew, and is in a gap where they did not."""
    limits = Limits(settle=0.0, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("a", "rm", 1, turn=1, job="J"), said("a", "ls", 2, turn=1, job="J"))
    process.specs = compiled(
        [
            NEVER_RM,
            {"name": "one-rm", "unit": "turn", "assert": {"count": {"match": RM, "max": 1}}},
            {"name": "two-rm", "unit": "job", "assert": {"count": {"match": RM, "max": 1}}},
            {"name": "no-ls", "unit": "job", "assert": {"never": LS}},
        ]
    )
    process.crash()
    take(process, said("a", "rm", 4, turn=1, job="J"))
    process.finish()
    told = of(process)
    assert ("one-rm", "a", 1, "fail", 0) in told
    assert ("two-rm", "J", None, "fail", 0) in told
    assert ("no-ls", "J", None, "unknown", 0) in told


def test_a_job_that_nobody_asked_for_is_in_a_gap_too(tmp_path: Path) -> None:
    """Its session had no more room for facts before a spec asked."""
    limits = Limits(settle=0.0, idle_timeout=1e6, max_facts=1)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("a", "rm", 1, job="J"), said("a", "rm", 2, job="J"))
    most = {"name": "most", "unit": "job", "assert": {"count": {"match": RM, "max": 1}}}
    process.specs = compiled([NEVER_RM, most])
    process.crash()
    take(process, said("a", "cat", 4, job="J"))
    process.finish()
    assert ("most", "J", None, "unknown", 0) in of(process)


def test_turn_keys_keep_their_places_while_nobody_asks_for_turns(tmp_path: Path) -> None:
    """With a turn spec, without, and with it again."""
    turns = {"name": "no-ls", "unit": "turn", "assert": {"never": LS}}
    limits = Limits(settle=0.0, idle_timeout=100.0, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM, turns]), limits)
    take(process, said("a", "ls", 1, turn_key="k1"), said("a", "cat", 2, turn_key="k2"))
    process.specs = compiled([NEVER_RM])
    process.crash()
    take(process, said("a", "cat", 3, turn_key="k2"))
    process.specs = compiled([NEVER_RM, turns])
    process.crash()
    process.wait(200.0)
    take(process, said("a", "cat", 4, turn_key="k3"))
    process.finish()
    assert process.engine.faults == []
    assert {one[2] for one in of(process) if one[0] == "no-ls"} == {1, 2, 3}


def test_an_amendment_after_rest_finds_its_item(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """A session is not left to the store while something of it may be amended."""
    limits = Limits(settle=1.0, idle_timeout=5.0, amend_window=60.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("a", "cat", 2))
    process.wait(4.0)
    take(process, said("a", "rm", 1, call_id="c"))
    process.wait(10.0)
    restart(process)
    for _ in range(5):
        process.wait(9.0)
    take(process, said("a", "ls", 1, call_id="c", end_ns=19))
    process.wait(10.0)
    told = of(process)
    assert told == {("never-rm", "a", None, "fail", 0), ("never-rm", "a", None, "pass", 1)}


def test_what_may_be_amended_is_kept_anew_at_a_start(tmp_path: Path) -> None:
    """And its session stays as long, although nothing came for it since long before."""
    limits = Limits(settle=1.0, idle_timeout=5.0, amend_window=60.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("a", "rm", 1, call_id="c"))
    process.wait(14.0)
    process.crash()
    for _ in range(9):
        process.wait(6.0)
    assert process.in_memory() == 1
    take(process, said("a", "ls", 1, call_id="c", end_ns=19))
    process.wait(10.0)
    assert of(process) == {("never-rm", "a", None, "fail", 0), ("never-rm", "a", None, "pass", 1)}


def test_a_turn_that_is_reopened_ends_again(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """Also when its session ended before the turn did."""
    spec = {"name": "one-rm", "unit": "turn", "assert": {"count": {"match": RM, "min": 1}}}
    limits = Limits(settle=10.0, idle_timeout=9.0, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([spec]), limits)
    take(process, said("a", "cat", 1, turn=1), said("a", "cat", 2, turn=2))
    for _ in range(12):
        process.wait(1.0)
    restart(process)
    before = len(process.told)
    take(process, said("a", "cat", 3, turn=2), said("a", "cat", 4, turn=1))
    for at in range(10, 40):
        process.wait(1.0)
        take(process, said("a", "cat", at, turn=2))
    units = process.engine._registry.sessions["a"].units
    assert units[1].ended
    assert of(process, before) == set()


def test_what_a_repeated_record_changes_is_kept(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """The same record again, in another turn: whatever is made of it outlives a crash."""
    spec = {"name": "some-ls", "unit": "turn", "assert": {"eventually": LS}}
    limits = Limits(settle=5.0, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([spec]), limits)
    take(process, said("a", "ls", 1, turn=1), said("a", "ls", 3, turn=3))
    process.wait(10.0)
    take(process, said("a", "ls", 1, turn=2, start_ns=5))
    restart(process)
    process.wait(10.0)
    process.finish()
    assert {one[2] for one in of(process)} == {1, 2, 3}


def test_jobs_of_plain_spans_are_forgotten(tmp_path: Path) -> None:
    """They are no units, but their names were kept."""
    spec = {"name": "j", "unit": "job", "assert": {"never": {"where": {"x.y": 1}}}}
    limits = Limits(settle=1.0, idle_timeout=10.0, retain=20.0, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([spec]), limits)
    attributes = {"x.y": 1}
    for number in range(5):
        span = said(f"s{number}", None, 1, kind=SPAN, job=f"J{number}", attributes=attributes)
        take(process, span)
    assert len(process.store.jobs()) == 5
    for _ in range(60):
        process.wait(30.0)
    assert process.store.jobs() == []
    assert process.engine._registry.jobs == {}


def test_traces_rest_with_their_sessions(tmp_path: Path) -> None:
    """A trace that is only looked at does not stay in memory."""
    limits = Limits(settle=1.0, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, *(said(f"a{number}", "cat", 1, f"T{number}") for number in range(20)))
    for _ in range(6):
        process.wait(31.0)
    take(process, *(said("b", "cat", 50 + number, f"T{number}") for number in range(20)))
    for _ in range(8):
        process.wait(31.0)
    assert process.in_memory() == 0
    assert process.engine._registry.traces == {}


def test_a_damaged_row_is_a_gap_and_no_more(tmp_path: Path, caplog: Any) -> None:
    """A session that cannot be read begins anew in a gap; a fact that cannot is missed."""
    limits = Limits(settle=1.0, idle_timeout=1e6)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("whole", "cat", 1), said("torn", "cat", 1), said("fact", "rm", 1))
    db = process.store._db
    db.execute("UPDATE sessions SET data = x'c1' WHERE name = 'torn'")
    db.execute("UPDATE facts SET data = x'c1'")
    db.execute("UPDATE traces SET data = x'c1' WHERE id = ?", (b"torn".ljust(16, b"-"),))
    process.crash()
    take(process, said("torn", "rm", 2))
    process.finish()
    assert process.store.damaged >= 2
    assert "cannot be read" in caplog.text
    assert of(process, 1) == {
        ("never-rm", "torn", None, "fail", 0),
        ("never-rm", "whole", None, "pass", 0),
        ("never-rm", "fact", None, "unknown", 1),
    }


def test_nothing_of_a_damaged_session_comes_back(tmp_path: Path) -> None:
    """Neither its facts nor its owner: a session of its name that came since is another one."""
    limits = Limits(settle=1.0, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled([NEVER_RM]), limits)
    take(process, said("torn", "rm", 1))
    process.store._db.execute("UPDATE sessions SET data = x'c1', owner = 'old'")
    process.crash()
    take(process, said("torn", "cat", 2))
    process.crash()
    assert process.store.owners() == {}
    assert process.engine._registry.total == 1
    take(process, said("torn", "cat", 3))
    assert len(process.engine._registry.sessions["torn"].table) == 0


def test_the_end_of_a_turn_is_due_after_a_restart(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """Nothing of the turn itself changed when a later one began, but that it ends soon."""
    specs = [{"name": "calm", "unit": "turn", "assert": {"never": RM}}]
    process = Process(tmp_path / "s.db", compiled(specs), Limits(settle=5.0, idle_timeout=1e6))
    take(process, said("a", "cat", 1, turn=1))
    take(process, said("a", "cat", 2, turn=2))
    restart(process)
    process.wait(6.0)
    assert of(process) == {("calm", "a", 1, "pass", 0)}


def test_the_start_of_a_turn_that_a_late_report_tells_is_kept(
    tmp_path: Path, restart: Callable[[Process], None]
) -> None:
    """Too late to change its item, it changes which turn was the first."""
    specs = [{"name": "few", "unit": "turn", "assert": {"count": {"match": LS, "max": 1}}}]
    limits = Limits(settle=1e6, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled(specs), limits)
    take(process, said("a", "ls", 5, turn_key="kb"), said("a", "ls", 6, turn_key="kb"))
    take(process, said("a", "ls", 9, turn_key="ka", call_id="c"))
    process.wait(2.0)
    take(process, said("a", "ls", 9, turn_key="ka", call_id="c", start_ns=1))
    assert process.engine.counters.fates["late"] == 1
    restart(process)
    process.finish()
    assert ("few", "a", 1, "pass", 0) in of(process)


def test_a_session_of_many_traces_and_turns_is_saved_a_little_at_a_time(tmp_path: Path) -> None:
    """A group writes what it changed, however long the session is; all of it comes back."""
    specs = [{"name": "few", "unit": "turn", "assert": {"count": {"match": RM, "max": 1}}}]
    limits = Limits(settle=1e6, idle_timeout=1e6, amend_window=1.0)
    process = Process(tmp_path / "s.db", compiled(specs), limits)
    for at in range(300):
        process.take([said("a", "cat", at, f"t{at}", turn=at)])
        changes = process.engine.changes()
        assert len(changes.turns) <= 3  # the session's own unit, this turn, and the one before
        assert len(changes.traces) == len(changes.sessions) == 1
        process.save()
    process.crash()
    take(process, said("a", "rm", 1000, "t7", turn=7), said("a", "rm", 1001, "t9", turn=7))
    process.finish()
    told = of(process)
    assert ("few", "a", 7, "fail", 0) in told
    assert len(told) == 300
