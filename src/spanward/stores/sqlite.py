"""The SQLite store: one file that one process owns, written in one transaction a group.

WAL with synchronous FULL: what ``commit`` returned for survives a crash of the process and of the
machine. Ordinary tables: with blobs of this size WITHOUT ROWID makes the file three times as large.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from spanward.saved import (
    FIRST,
    Changes,
    Numbering,
    SavedCounts,
    SavedJob,
    SavedReports,
    SavedSession,
    SavedTrace,
    SavedTurn,
    Saving,
    Sending,
    Stored,
    Turn,
)
from spanward.stores import StoreError
from spanward.stores.codec import decoder, encode
from spanward.stores.file import taken
from spanward.vault import MOST_GONE
from spanward.verdict import Announcement

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_PUT_SESSION: Final = """
INSERT INTO sessions (name, ended, said_end, urgent, seen, open_units, owner, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET ended = excluded.ended, said_end = excluded.said_end,
    urgent = excluded.urgent, seen = excluded.seen, open_units = excluded.open_units,
    owner = excluded.owner, data = excluded.data
"""
_PUT_FACT: Final = """
INSERT INTO facts (session, key, data) SELECT id, ?, ? FROM sessions WHERE name = ?
ON CONFLICT (session, key) DO UPDATE SET data = excluded.data
"""
_DROP_FACT: Final = """
DELETE FROM facts WHERE key = ? AND session = (SELECT id FROM sessions WHERE name = ?)
"""

_PUT_TURN: Final = """
INSERT INTO turns (session, turn, data) SELECT id, ?, ? FROM sessions WHERE name = ?
ON CONFLICT (session, turn) DO UPDATE SET data = excluded.data
"""
_DROP_TURN: Final = """
DELETE FROM turns WHERE turn = ? AND session = (SELECT id FROM sessions WHERE name = ?)
"""
_PUT_TRACE: Final = """
INSERT INTO traces (id, session, follows, data) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET session = excluded.session, follows = excluded.follows,
    data = excluded.data
"""

_session: Final = decoder(SavedSession)
_turn: Final = decoder(SavedTurn)
_trace: Final = decoder(SavedTrace)
_job: Final = decoder(SavedJob)
_reports: Final = decoder(SavedReports)
_numbering: Final = decoder(Numbering)
_counts: Final = decoder(SavedCounts)
_announcement: Final = decoder(Announcement)


class SqliteStore:
    """The store in the file at ``path``, which is made when it is not there.

    A file that is corrupt, or of something else, is set aside under a name that ends in
    ``aside``, and the store is new and ``lost``. Raises ``StoreInUseError`` when another process
    has it open, ``StoreFormatError`` when another version wrote it, and ``StoreError`` when it
    cannot be had at all.
    """

    keeps = True
    outlives = True

    def __init__(self, path: Path, aside: str) -> None:
        self.vault = self
        self._db, self.lost = taken(path, aside)
        self.damaged = 0
        self._damaged: set[str] = set()
        self.clock: float = self._meta("clock", 0.0, decoder(float))
        self.numbering: Numbering = self._meta("numbering", FIRST, _numbering)

    def commit(self, saving: Saving) -> None:
        """Save all of it in one transaction. Raises ``StoreError`` when nothing was saved."""
        with self._transaction():
            self._put_meta("clock", encode(saving.clock))
            if saving.numbering is not self.numbering:
                self._put_meta("numbering", encode(saving.numbering))
            self._save_changes(saving.changes)
            self._many(
                "INSERT OR REPLACE INTO specs VALUES (?, ?)",
                [(name, encode(counts)) for name, counts in saving.counts.items()],
            )
            self._many("DELETE FROM outbox WHERE number = ?", [(one,) for one in saving.sent])
            self._many(
                "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?)",
                [
                    (one.number, one.emitter, one.at_ns, encode(one.announcement))
                    for one in saving.sendings
                ],
            )
        self.numbering = saving.numbering

    def taken(self) -> None:
        """Do nothing: what was saved stays."""

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        self._db.close()

    # --- what was saved

    def session(self, name: str) -> Stored | None:
        """All that is kept of a session."""
        row = self._one("SELECT id, data FROM sessions WHERE name = ?", name)
        if row is None:
            return None
        saved = self._read(_session, row[1])
        if saved is None:
            self._damaged.add(name)
            return None
        facts = self._all("SELECT data FROM facts WHERE session = ?", row[0])
        kept = self._all("SELECT data FROM turns WHERE session = ? ORDER BY rowid", row[0])
        read = [self._read(_turn, data) for (data,) in kept]
        turns = [turn for turn in read if turn is not None]
        traces = self._all("SELECT id, follows FROM traces WHERE session = ? ORDER BY rowid", name)
        return Stored(
            saved,
            facts=[data for (data,) in facts],
            turns=turns,
            traces=[(trace_id, bool(follows)) for trace_id, follows in traces],
            whole=len(turns) == len(read),
        )

    def trace(self, trace_id: bytes) -> SavedTrace | None:
        """A trace."""
        row = self._one("SELECT data FROM traces WHERE id = ?", trace_id)
        return None if row is None else self._read(_trace, row[0])

    def jobs(self) -> list[SavedJob]:
        """All jobs."""
        read = (self._read(_job, data) for (data,) in self._all("SELECT data FROM jobs"))
        return [job for job in read if job is not None]

    def is_gone(self, kind: str, name: str) -> bool:
        """Whether a session or job was known once and was dropped, or cannot be read."""
        if name in self._damaged:
            return True
        return self._one("SELECT 1 FROM gone WHERE kind = ? AND name = ?", kind, name) is not None

    def reports(self) -> list[tuple[bytes, SavedReports]]:
        """All reports that may still be amended."""
        rows = self._all("SELECT id, data FROM reports")
        read = ((key, self._read(_reports, data)) for key, data in rows)
        return [(key, reports) for key, reports in read if reports is not None]

    def quiet(self, idle: float, said: float, ended: float, most: int) -> list[str]:
        """Sessions of which nothing came since some times; see ``Vault``."""
        found: dict[str, None] = {}
        for which, since in (
            ("ended = 0 AND said_end = 1", said),
            ("ended = 0", idle),
            ("ended = 1", ended),
        ):
            query = f"SELECT name FROM sessions WHERE {which} AND seen <= ? LIMIT ?"  # noqa: S608
            found |= dict.fromkeys(name for (name,) in self._all(query, since, most - len(found)))
        return list(found)

    def quietest(self, most: int, owner: str) -> list[tuple[str, bool, float]]:
        """The sessions of an owner that go first: ended ones, then open ones, quiet ones first."""
        # With a condition as the partial index has it, which SQLite does not see in a parameter.
        which = "owner != '' AND owner = ?" if owner else "owner = ?"
        ordered = (
            f"SELECT name, ended, seen FROM sessions WHERE {which} AND ended = ? "  # noqa: S608
            "ORDER BY seen LIMIT ?"
        )
        rows = self._all(ordered, owner, 1, most)
        rows += self._all(ordered, owner, 0, most - len(rows))
        return [(name, bool(ended), seen) for name, ended, seen in rows]

    def owners(self) -> dict[str, int]:
        """How many sessions each owner has that has a name."""
        query = "SELECT owner, count(*) FROM sessions WHERE owner != '' GROUP BY owner"
        return dict(self._all(query))

    def urgent(self) -> list[str]:
        """Sessions that wait for something."""
        return [name for (name,) in self._all("SELECT name FROM sessions WHERE urgent = 1")]

    def counts(self) -> tuple[int, int, int]:
        """Sessions in all, open ones, and their open units."""
        ((sessions, open_, units),) = self._all("SELECT sessions, open, units FROM totals")
        return sessions, open_, units

    def counts_by_spec(self) -> dict[str, SavedCounts]:
        """The counters of the specs."""
        rows = self._all("SELECT name, data FROM specs")
        read = ((name, self._read(_counts, data)) for name, data in rows)
        return {name: counts for name, counts in read if counts is not None}

    def sendings(self) -> list[Sending]:
        """The announcements that have not gone out, in the order in which they were made."""
        rows = self._all("SELECT number, emitter, at_ns, data FROM outbox ORDER BY number")
        read = ((*row[:3], self._read(_announcement, row[3])) for row in rows)
        return [
            Sending(number, emitter, at_ns, announced)
            for number, emitter, at_ns, announced in read
            if announced is not None
        ]

    # --- one transaction

    def _save_changes(self, changes: Changes) -> None:
        self._many("DELETE FROM sessions WHERE name = ?", [(name,) for name in changes.dropped])
        self._many(
            _PUT_SESSION,
            [
                (
                    *(one.name, one.ended, one.said_end, one.pending, one.seen),
                    *(one.open_units, one.owner, encode(one)),
                )
                for one in changes.sessions
            ],
        )
        put = [(key, data, name) for name, key, data in changes.facts if data is not None]
        self._many(_PUT_FACT, put)
        self._many(_DROP_FACT, [(key, name) for name, key, data in changes.facts if data is None])
        self._save_turns(changes.turns)
        self._save_traces(changes.traces)
        self._many_or_none("jobs", "name", changes.jobs)
        self._many_or_none("reports", "id", changes.reports)
        if changes.gone:
            self._many("INSERT OR IGNORE INTO gone VALUES (?, ?)", changes.gone)
            self._db.execute(
                "DELETE FROM gone WHERE rowid <= (SELECT max(rowid) FROM gone) - ?", (MOST_GONE,)
            )

    def _save_turns(self, turns: list[tuple[str, Turn | None, SavedTurn | None]]) -> None:
        kept = [(encode(turn), saved, name) for name, turn, saved in turns]
        put = [(turn, encode(saved), name) for turn, saved, name in kept if saved is not None]
        self._many(_PUT_TURN, put)
        self._many(_DROP_TURN, [(turn, name) for turn, saved, name in kept if saved is None])

    def _save_traces(self, traces: dict[bytes, SavedTrace | None]) -> None:
        gone = [(trace_id,) for trace_id, saved in traces.items() if saved is None]
        self._many("DELETE FROM traces WHERE id = ?", gone)
        put = [
            (trace_id, saved.home(trace_id), saved.homeless is not None, encode(saved))
            for trace_id, saved in traces.items()
            if saved is not None
        ]
        self._many(_PUT_TRACE, put)

    def _many_or_none(self, table: str, key: str, values: Any) -> None:
        """Put values by key into a table, and delete where the value is None."""
        gone = [(name,) for name, value in values.items() if value is None]
        self._many(f"DELETE FROM {table} WHERE {key} = ?", gone)  # noqa: S608  names of ours
        put = [(name, encode(value)) for name, value in values.items() if value is not None]
        self._many(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", put)  # noqa: S608

    def _many(self, statement: str, rows: Any) -> None:
        if rows:
            self._db.executemany(statement, rows)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):  # it may have been rolled back already
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"the store could not be written: {error}") from error
            raise

    # --- reading

    def _read(self, read: Callable[[bytes], _T], data: bytes) -> _T | None:
        """A saved value; None for one that cannot be read, which is told."""
        try:
            return read(data)
        except ValueError as error:
            self.damaged += 1
            log.error("something in the store cannot be read: %s", error)  # noqa: TRY400
            return None

    def _one(self, query: str, *values: Any) -> Any:
        return next(iter(self._all(query, *values)), None)

    def _all(self, query: str, *values: Any) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store could not be read: {error}") from error

    def _meta(self, key: str, otherwise: Any, read: Any) -> Any:
        row = self._one("SELECT value FROM meta WHERE key = ?", key)
        return otherwise if row is None else read(row[0])

    def _put_meta(self, key: str, value: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
