"""The SQLite store: one file that one process owns, written in one transaction a group.

WAL with synchronous FULL: what ``commit`` returned for survives a crash of the process and of the
machine. Ordinary tables: with blobs of this size WITHOUT ROWID makes the file three times as large.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from spanward.saved import (
    FIRST,
    Changes,
    Numbering,
    SavedCounts,
    SavedJob,
    SavedReports,
    SavedSession,
    SavedTrace,
    Saving,
    Sending,
)
from spanward.stores import StoreError, StoreFormatError, StoreInUseError
from spanward.stores.codec import decoder, encode
from spanward.verdict import Announcement

log = logging.getLogger(__name__)

APPLICATION: Final = 0x7350_5744
"""What marks a SQLite file as ours: ``sPWD``."""
FORMAT: Final = 1
"""The number of the tables' form. A file with another one is not touched."""
_SIDE_FILES: Final = ("", "-wal", "-shm", "-journal")
_MOST_GONE: Final = 1_000_000
"""Names of dropped sessions that are remembered."""

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, ended INTEGER NOT NULL,
    said_end INTEGER NOT NULL, urgent INTEGER NOT NULL, seen REAL NOT NULL,
    open_units INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX sessions_by_seen ON sessions (ended, seen);
CREATE INDEX sessions_that_end ON sessions (seen) WHERE ended = 0 AND said_end = 1;
CREATE INDEX sessions_urgent ON sessions (urgent) WHERE urgent = 1;
CREATE TABLE totals (sessions INTEGER NOT NULL, open INTEGER NOT NULL, units INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0, 0);
CREATE TRIGGER session_comes AFTER INSERT ON sessions BEGIN
    UPDATE totals SET sessions = sessions + 1, open = open + 1 - new.ended,
        units = units + new.open_units;
END;
CREATE TRIGGER session_changes AFTER UPDATE OF ended, open_units ON sessions
WHEN old.ended != new.ended OR old.open_units != new.open_units BEGIN
    UPDATE totals SET open = open + old.ended - new.ended,
        units = units + new.open_units - old.open_units;
END;
CREATE TRIGGER session_goes AFTER DELETE ON sessions BEGIN
    UPDATE totals SET sessions = sessions - 1, open = open - 1 + old.ended,
        units = units - old.open_units;
    DELETE FROM facts WHERE session = old.id;
END;
CREATE TABLE facts (session INTEGER NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX facts_by_key ON facts (session, key);
CREATE TABLE traces (id BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE jobs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE reports (id BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE gone (kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
CREATE TABLE specs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY, emitter TEXT NOT NULL, at_ns INTEGER NOT NULL, data BLOB NOT NULL
);
"""

_PUT_SESSION: Final = """
INSERT INTO sessions (name, ended, said_end, urgent, seen, open_units, data)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET ended = excluded.ended, said_end = excluded.said_end,
    urgent = excluded.urgent, seen = excluded.seen, open_units = excluded.open_units,
    data = excluded.data
"""
_PUT_FACT: Final = """
INSERT INTO facts (session, key, data) SELECT id, ?, ? FROM sessions WHERE name = ?
ON CONFLICT (session, key) DO UPDATE SET data = excluded.data
"""
_DROP_FACT: Final = """
DELETE FROM facts WHERE key = ? AND session = (SELECT id FROM sessions WHERE name = ?)
"""

_session: Final = decoder(SavedSession)
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

    def __init__(self, path: Path, aside: str) -> None:
        self.vault = self
        self.lost = False
        try:
            self._db = _opened(path)
        except _UnreadableError as error:
            self._db = self._anew(path, aside, str(error))
        self.clock: float = self._meta("clock", 0.0, decoder(float))
        self.numbering: Numbering = self._meta("numbering", FIRST, _numbering)
        self._saved_numbering = self.numbering

    def commit(self, saving: Saving) -> None:
        """Save all of it in one transaction. Raises ``StoreError`` when nothing was saved."""
        with self._transaction():
            self._put_meta("clock", encode(saving.clock))
            if saving.numbering is not self._saved_numbering:
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
        self._saved_numbering = saving.numbering

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        self._db.close()

    # --- what was saved

    def session(self, name: str) -> tuple[SavedSession, list[bytes]] | None:
        """A session and its packed facts."""
        row = self._one("SELECT id, data FROM sessions WHERE name = ?", name)
        if row is None:
            return None
        facts = self._all("SELECT data FROM facts WHERE session = ?", row[0])
        return _session(row[1]), [data for (data,) in facts]

    def trace(self, trace_id: bytes) -> SavedTrace | None:
        """A trace."""
        row = self._one("SELECT data FROM traces WHERE id = ?", trace_id)
        return None if row is None else _trace(row[0])

    def jobs(self) -> list[SavedJob]:
        """All jobs."""
        return [_job(data) for (data,) in self._all("SELECT data FROM jobs")]

    def is_gone(self, kind: str, name: str) -> bool:
        """Whether a session or job was known once and was dropped."""
        return self._one("SELECT 1 FROM gone WHERE kind = ? AND name = ?", kind, name) is not None

    def reports(self) -> list[tuple[bytes, SavedReports]]:
        """All reports that may still be amended."""
        return [(key, _reports(data)) for key, data in self._all("SELECT id, data FROM reports")]

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

    def quietest(self, most: int) -> list[str]:
        """The sessions that go first: ended ones, then open ones, the quietest before others."""
        ordered = "SELECT name FROM sessions WHERE ended = ? ORDER BY seen LIMIT ?"
        rows = self._all(ordered, 1, most)
        rows += self._all(ordered, 0, most - len(rows))
        return [name for (name,) in rows]

    def urgent(self) -> list[str]:
        """Sessions that wait for something."""
        return [name for (name,) in self._all("SELECT name FROM sessions WHERE urgent = 1")]

    def counts(self) -> tuple[int, int, int]:
        """Sessions in all, open ones, and their open units."""
        ((sessions, open_, units),) = self._all("SELECT sessions, open, units FROM totals")
        return sessions, open_, units

    def counts_by_spec(self) -> dict[str, SavedCounts]:
        """The counters of the specs."""
        return {name: _counts(data) for name, data in self._all("SELECT name, data FROM specs")}

    def sendings(self) -> list[Sending]:
        """The announcements that have not gone out, in the order in which they were made."""
        rows = self._all("SELECT number, emitter, at_ns, data FROM outbox ORDER BY number")
        return [Sending(number, name, at, _announcement(data)) for number, name, at, data in rows]

    # --- one transaction

    def _save_changes(self, changes: Changes) -> None:
        self._many("DELETE FROM sessions WHERE name = ?", [(name,) for name in changes.dropped])
        self._many(
            _PUT_SESSION,
            [
                (
                    *(one.name, one.ended, one.said_end, one.pending, one.seen),
                    *(one.open_units, encode(one)),
                )
                for one in changes.sessions
            ],
        )
        put = [(key, data, name) for name, key, data in changes.facts if data is not None]
        self._many(_PUT_FACT, put)
        self._many(_DROP_FACT, [(key, name) for name, key, data in changes.facts if data is None])
        self._many_or_none("traces", "id", changes.traces)
        self._many_or_none("jobs", "name", changes.jobs)
        self._many_or_none("reports", "id", changes.reports)
        if changes.gone:
            self._many("INSERT OR IGNORE INTO gone VALUES (?, ?)", changes.gone)
            self._db.execute(
                "DELETE FROM gone WHERE rowid <= (SELECT max(rowid) FROM gone) - ?", (_MOST_GONE,)
            )

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
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):  # it may have been rolled back already
                self._db.execute("ROLLBACK")
            raise StoreError(f"the store could not be written: {error}") from error

    # --- reading

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

    def _anew(self, path: Path, aside: str, why: str) -> sqlite3.Connection:
        """Set a file aside that is not a store, and begin a new one."""
        kept = path.with_name(f"{path.name}.{aside}")
        log.error(
            "the store %s cannot be read (%s): it is set aside as %s, and every session begins "
            "in a gap for a while",
            path,
            why,
            kept,
        )
        for side in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + side).rename(kept.with_name(kept.name + side))
        self.lost = True
        return _opened(path)


class _UnreadableError(Exception):
    """The file is no store, or no longer."""


def _opened(path: Path) -> sqlite3.Connection:
    """The file, locked and ready. Raises ``_UnreadableError`` when it is no store of ours."""
    _make(path)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
    try:
        _take(db, path)
    except sqlite3.Error as error:
        db.close()
        if error.sqlite_errorname in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise StoreInUseError(f"the store {path} is in use by another process") from error
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(f"the store {path} cannot be used: {error}") from error
        raise _UnreadableError(str(error)) from error
    except BaseException:
        db.close()
        raise
    return db


def _take(db: sqlite3.Connection, path: Path) -> None:
    """Lock a file for good and make it ready. Nothing is written to one that is not ours."""
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    new = _is_new(db, path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")
    if new:
        for statement in _statements(_TABLES):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("COMMIT")
    ((found,),) = db.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise _UnreadableError(found)


def _make(path: Path) -> None:
    """Make the file, for its owner only: sessions may tell secrets. Its side files follow it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"the store {path} cannot be opened: {error.strerror}") from error


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file has no tables yet. Raises when it has tables that are not ours to use."""
    ((application,),) = db.execute("PRAGMA application_id").fetchall()
    ((version,),) = db.execute("PRAGMA user_version").fetchall()
    ((tables,),) = db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    if application == 0 and tables == 0:
        return True
    if application != APPLICATION:
        raise _UnreadableError("it belongs to another program")
    if version != FORMAT:
        raise StoreFormatError(
            f"the store {path} has format {version}, this version reads format {FORMAT}: "
            "use the version that wrote it, or move the file away"
        )
    return False


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, which ``executescript`` would not run in a transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
