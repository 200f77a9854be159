"""Too many sessions: whose go, and that nobody can push out those of others."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import Item, Report
from spanward.saved import Saving
from spanward.stores.memory import MemoryStore
from spanward.stores.sqlite import SqliteStore
from spanward.vault import NOTHING
from spanward.verdict import Cause
from tests.engine.judged import compiled
from tests.engine.test_life import NEVER, item, told


def sent(by: str | None, *sessions: str, at: int = 1) -> list[Report]:
    """An item of each of some sessions, as a sender sent it."""
    made: list[Item] = [
        item(at=at, session=name, trace=crc32(name.encode()) + 1, principal=by) for name in sessions
    ]
    return [
        Report(one.trace_id, one.span_id, one.start_ns, one.session, True, (one,), by)
        for one in made
    ]


def engine(limits: Limits, vault: Any = NOTHING) -> Engine:
    """An engine that judges something."""
    return Engine(compiled([NEVER]), limits, vault)


def evicted(announced: list[Any]) -> list[str]:
    """Which sessions were told as evicted, in their order."""
    return [str(session) for _, session, _, cause, _ in told(announced) if cause == "evicted"]


def test_a_sender_has_its_quota_and_no_more() -> None:
    """Its own quietest session makes room; those of others, and of nobody known, have no quota."""
    judged = engine(Limits(max_open_per_sender=2))
    judged.take(sent("agent", "a1", "a2"), 0.0)
    judged.take(sent("other", "b1", "b2"), 1.0)
    judged.take(sent(None, "c1", "c2", "c3"), 2.0)
    judged.take(sent("agent", "a1", at=2), 3.0)
    assert evicted(judged.take(sent("agent", "a3"), 4.0)) == ["a2"]
    assert judged.take(sent("other", "a1", at=3), 5.0) == []  # a session is of who opened it
    assert judged.sessions_active == 7


def test_the_sender_with_most_sessions_makes_room_for_all() -> None:
    """Whoever asks for it."""
    judged = engine(Limits(max_open=5))
    judged.take(sent("small", "s1", "s2"), 0.0)
    judged.take(sent("large", "l1", "l2", "l3"), 1.0)
    assert evicted(judged.take(sent("small", "s3"), 2.0)) == ["l1"]
    assert evicted(judged.take(sent("third", "t1"), 3.0)) == ["s1"]  # as many as it needs to be
    assert evicted(judged.take(sent("large", "l4"), 4.0)) == ["s2"]


def test_a_flood_of_sessions_costs_others_none() -> None:
    """The sender that opens thousands pushes out its own."""
    judged = engine(Limits(max_open=50))
    judged.take(sent("good", "g1", "g2", "g3"), 0.0)
    gone: list[str] = []
    for number in range(2000):
        gone += evicted(judged.take(sent("bad", f"b{number}"), 1.0 + number))
    assert gone == [f"b{number}" for number in range(2000 - 47)]
    judged.take(sent("good", "g1", at=9), 3000.0)
    assert judged.sessions_active == 50
    assert judged.counters.errors == 0


def test_what_came_since_saves_a_session_from_going() -> None:
    """Candidates are looked for in advance; one of which something came is no longer one."""
    judged = engine(Limits(max_open=40))
    for number in range(40):
        judged.take(sent(None, f"s{number}"), float(number))
    assert evicted(judged.take(sent(None, "n0"), 50.0)) == ["s0"]
    judged.take(sent(None, "s1", at=2), 51.0)
    assert evicted(judged.take(sent(None, "n1"), 52.0)) == ["s2"]


def test_ended_sessions_of_a_sender_go_before_its_open_ones() -> None:
    """But not before those of a larger one."""
    judged = engine(Limits(max_open=3, idle_timeout=10.0))
    judged.take(sent("a", "old"), 0.0)
    judged.advance(10.0)
    judged.take(sent("b", "b1", "b2"), 11.0)
    assert evicted(judged.take(sent("a", "a2"), 12.0)) == ["b1"]
    assert judged.take(sent("a", "a3"), 13.0) == []
    assert judged.counters.sessions_closed == {"idle": 1, "evicted": 1}


def test_relief_takes_the_quietest_of_the_largest() -> None:
    """A hundredth, and one at least, until there is none."""
    judged = engine(Limits())
    assert judged.relieve() == []
    judged.take(sent("a", "a1", "a2"), 0.0)
    judged.take(sent("b", "b1"), 0.0)
    assert [evicted(judged.relieve()) for _ in range(4)] == [["a1"], ["b1"], ["a2"], []]


def save(engine: Engine, store: SqliteStore, now: float) -> None:
    """Save what changed."""
    store.commit(Saving(now, engine.numbering, engine.changes(), {}, [], []))
    engine.saved(now)


def test_owners_and_candidates_are_found_in_the_store(tmp_path: Path) -> None:
    """After a restart too, and a row that cannot be read is given up, not looked for for ever."""
    path = tmp_path / "s.db"
    limits = Limits(max_open=4, max_open_per_sender=3, idle_timeout=1e6, amend_window=1.0)
    store = SqliteStore(path, "aside")
    judged = engine(limits, store)
    for now, (by, name) in enumerate([("a", "a1"), ("a", "a2"), ("a", "a3"), (None, "c1")]):
        judged.take(sent(by, name), float(now))
        save(judged, store, float(now))
    store.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET data = x'00' WHERE name = 'a2'")
    store = SqliteStore(path, "aside")
    assert store.owners() == {"a": 3}
    judged = engine(limits, store)
    assert evicted(judged.take(sent("a", "a4"), 10.0)) == ["a1"]
    assert evicted(judged.take(sent(None, "c2"), 11.0)) == []  # the damaged one went, untold
    assert evicted(judged.take(sent(None, "c3"), 12.0)) == ["a3"]
    save(judged, store, 13.0)
    assert store.counts()[0] == 4
    assert {name for by in ("a", "") for name, _, _ in store.quietest(9, by)} == {
        *("a4", "c1", "c2", "c3"),
    }
    store.close()


def test_sessions_and_owners_are_counted_right_whatever_happens(tmp_path: Path) -> None:
    """Opened, evicted, ended, forgotten, saved and left, at random: the counts are exact."""
    rng = random.Random(5)
    store = SqliteStore(tmp_path / "s.db", "aside")
    limits = Limits(
        max_open=20, max_open_per_sender=9, idle_timeout=200.0, retain=300.0, amend_window=1.0
    )
    judged = engine(limits, store)
    now = 0.0
    for step in range(600):
        by = rng.choice(["a", "b", None])
        judged.take(sent(by, f"{by}{rng.randrange(30)}", at=step + 1), now)
        now += rng.choice([1.0, 10.0, 100.0]) if step % 50 else 100.0
        judged.advance(now)
        if rng.random() < 0.5:
            save(judged, store, now)
    judged.finish(Cause.SHUTDOWN, now)
    save(judged, store, now)
    registry = judged._registry
    assert registry.total == store.counts()[0] <= 20
    assert {name: number for name, number in registry.owners.items() if name} == store.owners()
    assert max(store.owners().values()) <= 9
    assert not judged.faults
    store.close()


def test_a_damaged_session_that_comes_anew_is_not_looked_for_for_ever(tmp_path: Path) -> None:
    """Its row counts for its owner, and the new one for whoever sent it."""
    path = tmp_path / "s.db"
    limits = Limits(max_open_per_sender=1, idle_timeout=1e6, amend_window=1.0)
    store = SqliteStore(path, "aside")
    judged = engine(limits, store)
    judged.take(sent("a", "a1"), 0.0)
    save(judged, store, 0.0)
    store.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET data = x'00'")
    store = SqliteStore(path, "aside")
    judged = engine(limits, store)
    judged.take(sent("b", "a1"), 1.0)
    judged.take(sent("a", "a2"), 2.0)
    judged.take(sent("a", "a3"), 3.0)
    assert judged._registry.owners["a"] == 1
    store.close()


def test_a_candidate_that_is_anothers_by_now_does_not_go() -> None:
    """It was forgotten, and somebody else opened a session of its name."""
    judged = engine(Limits(max_open_per_sender=2, idle_timeout=10.0, retain=20.0))
    judged.take(sent("a", "a1", "a2"), 0.0)
    assert evicted(judged.take(sent("a", "a3"), 1.0)) == ["a1"]  # a2 is a candidate now
    judged.advance(40.0)
    judged.take(sent("b", "a2"), 41.0)
    judged.take(sent("a", "a4", "a5"), 42.0)
    assert evicted(judged.take(sent("a", "a6"), 43.0)) == ["a4"]


def test_an_amended_item_opens_no_session_beyond_the_quota() -> None:
    """A session that was pushed out comes back as its sender's."""
    judged = engine(Limits(max_open_per_sender=1))
    first = item(at=1, session="a1", trace=9, principal="a", call_id="c")
    judged.take([Report(first.trace_id, first.span_id, 1, "a1", True, (first,), "a")], 0.0)
    judged.take(sent("a", "a2"), 1.0)
    again = item("other", at=1, session="a1", trace=9, principal="a", call_id="c", end_ns=0)
    judged.take([Report(again.trace_id, again.span_id, 1, "a1", True, (again,), "a")], 2.0)
    assert judged._registry.owners == {"a": 1}


def test_what_a_second_sender_amends_counts_for_it() -> None:
    """An item of two senders has no principal; the session that it brings back has an owner."""
    asks = {"never": {"tool": {"name": "push"}, "principal": "p"}}
    judged = Engine(compiled([{"name": "asks", "assert": asks}]), Limits(max_open_per_sender=1))
    for by, session, end in (("a", "a1", 1), ("a", "a2", 1), ("b", None, 2)):
        one = item(at=1, session=session, trace=9, principal=by, end_ns=end)
        at = 2 if session == "a2" else 1
        one = msgspec.structs.replace(one, span_id=at.to_bytes(8))
        judged.take([Report(one.trace_id, one.span_id, 1, session, False, (one,), by)], 1.0)
    assert not judged.faults
    assert judged._registry.owners == {"a": 1, "b": 1}
    assert "a1" in judged._registry.sessions


def test_relief_ends_when_a_sender_is_counted_that_has_no_session(tmp_path: Path) -> None:
    """A damaged row that came anew was counted twice: there is nothing left to push out."""
    path = tmp_path / "s.db"
    store = SqliteStore(path, "aside")
    judged = engine(Limits(), store)
    judged.take(sent("a", "a1"), 0.0)
    save(judged, store, 0.0)
    store.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET data = x'00'")
    store = SqliteStore(path, "aside")
    judged = engine(Limits(), store)
    judged.take(sent("b", "a1"), 1.0)
    save(judged, store, 1.0)
    assert store.owners() == {"b": 1}
    for _ in range(3):
        judged.relieve()
    assert not judged.faults
    assert (judged._registry.total, judged._registry.owners) == (0, {})
    store.close()


def test_there_are_no_more_jobs_than_sessions() -> None:
    """A sender that names a new one in each item pushes the oldest out, which is told."""
    spec = {**NEVER, "name": "calm", "unit": "job"}
    judged = Engine(compiled([spec]), Limits(max_open=3))
    gone = []
    for number in range(1, 6):
        one = item(at=number, job=f"j{number}")
        report = Report(one.trace_id, one.span_id, number, "s1", True, (one,))
        gone += told(judged.take([report], float(number)))
    assert gone == [("calm", f"j{number}", "unknown", "evicted", 0) for number in (1, 2)]
    assert sorted(judged._registry.jobs) == ["j3", "j4", "j5"]


def test_jobs_that_nobody_asks_for_are_no_more_either() -> None:
    """A store may be asked by other specs one day: jobs are known, and bounded."""
    judged = engine(Limits(max_open=2), MemoryStore())
    for number in range(1, 5):
        one = item(at=number, job=f"j{number}")
        assert judged.take([Report(one.trace_id, one.span_id, 1, "s1", True, (one,))], 1.0) == []
    assert sorted(judged._registry.jobs) == ["j3", "j4"]


def test_a_candidate_that_was_forgotten_is_passed_over() -> None:
    """Its time had come before there were too many again."""
    judged = engine(Limits(max_open=3, idle_timeout=10.0, retain=20.0))
    judged.take(sent(None, "s1", "s2"), 0.0)
    judged.take(sent(None, "s3"), 9.0)
    assert evicted(judged.take(sent(None, "s4"), 9.0)) == ["s1"]
    judged.advance(21.0)
    judged.take(sent(None, "s3", "s4", at=2), 25.0)
    judged.advance(31.0)
    assert "s2" not in judged._registry.sessions
    judged.take(sent(None, "s5"), 32.0)
    assert evicted(judged.take(sent(None, "s6"), 33.0)) == ["s3"]
    assert judged._registry.total == 3
