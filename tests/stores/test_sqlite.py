"""The SQLite store: what comes back, whose file it takes, and what it does with a broken one."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.item import CUT, Item
from spanward.saved import (
    FIRST,
    Changes,
    Numbering,
    SavedCounts,
    SavedExecution,
    SavedPresence,
    SavedReports,
    SavedSession,
    SavedTrace,
    SavedTurn,
    SavedUnit,
    Saving,
    Sending,
    Stored,
)
from spanward.stores import StoreError, StoreFormatError, StoreInUseError
from spanward.stores.codec import decoder, encode
from spanward.stores.file import FORMAT
from spanward.stores.sqlite import SqliteStore
from tests.service.test_emitters import announced

ASIDE = "unreadable"


def saving(clock: float = 1.0, **more: Any) -> Saving:
    """A saving of a few things."""
    known: dict[str, Any] = {
        "dropped": [],
        "sessions": [],
        "turns": [],
        "facts": [],
        "traces": {},
        "jobs": {},
        "reports": {},
        "gone": [],
    }
    changes = {**known, **{key: more.pop(key) for key in known if key in more}}
    rest: dict[str, Any] = {"numbering": FIRST, "counts": {}, "sendings": [], "sent": [], **more}
    return Saving(clock=clock, changes=Changes(**changes), **rest)


def session(name: str, seen: float = 1.0, **more: Any) -> SavedSession:
    """A session with a unit."""
    fields: dict[str, Any] = {
        "epoch": 1,
        "gap": False,
        "ended": False,
        "said_end": False,
        "pending": False,
        "latest": None,
        "steps": 1,
        "numbered": 0,
        "open_units": 1,
        "owner": "",
        **more,
    }
    return SavedSession(name=name, seen=seen, **fields)


UNIT = SavedUnit(None, False, False, False, ())
TURNS = (
    SavedTurn(None, 0, 0, None, UNIT),
    SavedTurn(1, 2, 1, None, SavedUnit(1, True, False, False, ())),
    SavedTurn("k", 1, 1, 5, None),
)
GONE = SavedTurn("gone", 1, 0, 7, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "spanward.db"


def test_everything_comes_back(path: Path) -> None:
    """From another process's point of view."""
    store = SqliteStore(path, ASIDE)
    assert (store.clock, store.numbering, store.lost) == (0.0, FIRST, False)
    numbering = FIRST.loaded(["a", "b"])
    counts = SavedCounts(3, 1, {"fail": 1}, (("fail", "pass", 2),), 12.5)
    trace = SavedTrace("s", (5, b"12345678", "s"), None)
    homeless = SavedTrace("s", None, SavedPresence(1, 0, ((1, 2, 1),), {"k": 5}))
    sending = Sending(4, "spans", 77, announced())
    store.commit(
        saving(
            9.5,
            numbering=numbering,
            sessions=[session("s")],
            turns=[("s", one.turn, one) for one in (*TURNS, GONE)],
            facts=[("s", b"k1", b"one"), ("s", b"k2", b"two")],
            traces={b"t": trace, b"u": homeless},
            gone=[("session", "old")],
            counts={"spec": counts},
            sendings=[sending, Sending(5, "jsonl", 78, announced())],
        )
    )
    gone = [("s", GONE.turn, None)]
    store.commit(
        saving(10.5, numbering=numbering, turns=gone, facts=[("s", b"k1", None)], sent=[5])
    )
    store.close()
    again = SqliteStore(path, ASIDE)
    assert (again.clock, again.numbering) == (10.5, numbering)
    traces = [(b"t", False), (b"u", True)]
    assert again.session("s") == Stored(session("s"), [b"two"], list(TURNS), traces)
    assert again.session("other") is None
    assert again.trace(b"t") == trace
    assert again.is_gone("session", "old")
    assert not again.is_gone("job", "old")
    assert again.counts_by_spec() == {"spec": counts}
    assert again.sendings() == [sending]
    again.close()


def test_a_dropped_session_takes_its_facts_along(path: Path) -> None:
    """And a new one of the same name, in the same transaction, begins with none."""
    store = SqliteStore(path, ASIDE)
    turns = [("s", one.turn, one) for one in TURNS]
    store.commit(saving(sessions=[session("s")], turns=turns, facts=[("s", b"k", b"old")]))
    store.commit(saving(dropped=["s"], sessions=[session("s", 2.0)], facts=[("s", b"n", b"new")]))
    assert store.session("s") == Stored(session("s", 2.0), [b"new"], [], [])
    store.commit(saving(dropped=["s"]))
    assert store.session("s") is None
    assert store.counts() == (0, 0, 0)
    store.close()


def test_sessions_by_how_quiet_they_are(path: Path) -> None:
    """Open, said to end, ended; urgent ones; and how many there are."""
    store = SqliteStore(path, ASIDE)
    rows = [session(f"open-{n}", float(n)) for n in range(4)]
    rows += [session("said", 2.0, said_end=True, pending=True)]
    rows += [session(f"ended-{n}", float(n), ended=True, open_units=0) for n in range(3)]
    store.commit(saving(sessions=rows))
    assert store.counts() == (8, 5, 5)
    assert store.quiet(1.0, -1.0, -1.0, 9) == ["open-0", "open-1"]
    assert store.quiet(-1.0, 2.0, 0.5, 9) == ["said", "ended-0"]
    assert len(store.quiet(9.0, 9.0, 9.0, 3)) == 3
    assert [name for name, _, _ in store.quietest(4, "")] == [
        *("ended-0", "ended-1", "ended-2", "open-0"),
    ]
    assert store.urgent() == ["said"]
    store.commit(saving(sessions=[session("said", 3.0, ended=True, open_units=0)]))
    assert store.counts() == (8, 4, 4)
    store.close()


def test_a_commit_that_fails_saves_nothing(path: Path) -> None:
    """And the next one saves all of it."""
    store = SqliteStore(path, ASIDE)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    facts = [("s", b"%d" % number, bytes(900)) for number in range(500)]
    full = saving(5.0, sessions=[session("s")], facts=facts)
    with pytest.raises(StoreError, match="could not be written"):
        store.commit(full)
    assert store.session("s") is None
    store._db.execute("PRAGMA max_page_count = 100000")
    store.commit(full)
    found = store.session("s")
    assert found is not None
    assert len(found.facts) == 500
    store.close()


def test_only_its_owner_may_read_it(path: Path) -> None:
    """Sessions may tell secrets: the file and those beside it."""
    store = SqliteStore(path, ASIDE)
    store.commit(saving(sessions=[session("s")]))
    modes = {each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert modes == {0o600}
    store.close()


def test_one_process_at_a_time(path: Path) -> None:
    """The second one is told so."""
    store = SqliteStore(path, ASIDE)
    with pytest.raises(StoreInUseError, match="in use by another process"):
        SqliteStore(path, ASIDE)
    store.close()
    SqliteStore(path, ASIDE).close()


def test_another_format_is_left_alone(path: Path) -> None:
    """It may be a newer version's: what it knows must not be thrown away."""
    SqliteStore(path, ASIDE).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match=f"format {FORMAT + 1}"):
        SqliteStore(path, ASIDE)
    assert path.read_bytes() == before


def _no_database(path: Path) -> None:
    path.write_bytes(b"this is no database at all, and it is long enough " * 100)


def _of_others(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (x)")
    db.commit()
    db.close()


def _damaged(path: Path) -> None:
    store = SqliteStore(path, ASIDE)
    rows = [session(f"session-{number}") for number in range(500)]
    store.commit(saving(sessions=rows))
    store.close()
    data = bytearray(path.read_bytes())
    for at in range(3 * 4096, len(data), 4096):
        data[at : at + 512] = os.urandom(512)
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [_no_database, _of_others, _damaged])
def test_what_cannot_be_read_is_set_aside(
    path: Path, spoil: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Not deleted: the new store is another file, and it says that something was lost."""
    spoil(path)
    before = path.read_bytes()
    store = SqliteStore(path, ASIDE)
    assert store.lost
    assert store.counts() == (0, 0, 0)
    store.close()
    assert path.with_name(f"spanward.db.{ASIDE}").read_bytes() == before
    assert "set aside" in caplog.text


def test_a_place_that_cannot_be_had(tmp_path: Path) -> None:
    """Said in words, not by a traceback."""
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteStore(tmp_path / "nowhere" / "s.db", ASIDE)
    with pytest.raises(StoreError, match="Is a directory"):
        SqliteStore(tmp_path, ASIDE)


def test_what_is_gone_is_remembered_up_to_a_bound(path: Path) -> None:
    """A name twice is one name."""
    store = SqliteStore(path, ASIDE)
    store.commit(saving(gone=[("session", "a"), ("session", "a"), ("job", "a")]))
    store.commit(saving(gone=[("session", "a")]))
    assert store._db.execute("SELECT count(*) FROM gone").fetchone() == (2,)
    store.close()


def test_a_closed_store_cannot_be_read(path: Path) -> None:
    """A read that fails is an ``OSError`` like a write that does."""
    store = SqliteStore(path, ASIDE)
    store.close()
    with pytest.raises(StoreError, match="could not be read"):
        store.session("s")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.just(CUT)
    | st.integers(min_value=2**63, max_value=2**2000).map(lambda number: -number),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES))
def test_items_come_back_as_they_were(arguments: dict[str, Any]) -> None:
    """With values that were cut and integers of any size, at any depth."""
    item = Item(
        kind="tool.call",
        trace_id=b"t" * 16,
        span_id=b"s" * 8,
        start_ns=1,
        end_ns=2,
        args=arguments,
        attributes={"cut": CUT},
        outer=({"a": 1}, {}),
        ops=("test",),
        withheld=frozenset({"path"}),
    )
    saved = SavedReports(True, 1, (SavedExecution(0, (item,), "s", b"k"),))
    assert decoder(SavedReports)(encode(saved)) == saved


def test_not_a_number_comes_back() -> None:
    """It equals nothing, but it is there."""
    assert math.isnan(decoder(dict[str, float])(encode({"x": math.nan}))["x"])


def test_foreign_bytes_are_no_values() -> None:
    """Neither unknown extensions nor objects of any other type."""
    with pytest.raises(ValueError, match="unknown extension"):
        decoder(dict[str, Any])(b"\x81\xa1x\xd4\x09\x00")
    with pytest.raises(NotImplementedError, match="cannot save a object"):
        encode({"x": object()})


def test_numbers_of_matchers_stay() -> None:
    """A matcher keeps its number; one that was away knows nothing of before its return."""
    first = FIRST.loaded(["a", "b"])
    assert first.loaded(["b", "a"]) is first
    second = first.loaded(["b", "c"])
    third = second.loaded(["a", "b"])
    assert {source: one.number for source, one in first.known.items()} == {"a": 0, "b": 1}
    assert {source: one.number for source, one in third.known.items()} == {"a": 0, "b": 1, "c": 2}
    assert [third.known[source].since for source in ("a", "b")] == [third.epoch, first.epoch]
    assert Numbering(0, {}).loaded([]).epoch == 1
