"""The file of the SQLite store: whose it is, which form it has, and who may have it open."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spanward.stores import StoreError, StoreFormatError, StoreInUseError

log = logging.getLogger(__name__)

APPLICATION: Final = 0x7350_5744
"""What marks a SQLite file as ours: ``sPWD``."""
FORMAT: Final = 2
"""The number of the tables' form. A file with another one is not touched."""
_SIDE_FILES: Final = ("", "-wal", "-shm", "-journal")

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, ended INTEGER NOT NULL,
    said_end INTEGER NOT NULL, urgent INTEGER NOT NULL, seen REAL NOT NULL,
    open_units INTEGER NOT NULL, owner TEXT NOT NULL, data BLOB NOT NULL
);
CREATE INDEX sessions_by_seen ON sessions (ended, seen);
CREATE INDEX sessions_that_end ON sessions (seen) WHERE ended = 0 AND said_end = 1;
CREATE INDEX sessions_of_owner ON sessions (owner, ended, seen) WHERE owner != '';
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
    DELETE FROM turns WHERE session = old.id;
END;
CREATE TABLE facts (session INTEGER NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX facts_by_key ON facts (session, key);
CREATE TABLE turns (session INTEGER NOT NULL, turn BLOB NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX turns_by_turn ON turns (session, turn);
CREATE TABLE traces (
    id BLOB PRIMARY KEY, session TEXT NOT NULL, follows INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX traces_of_session ON traces (session);
CREATE TABLE jobs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE reports (id BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE gone (kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
CREATE TABLE specs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY, emitter TEXT NOT NULL, at_ns INTEGER NOT NULL, data BLOB NOT NULL
);
"""


def taken(path: Path, aside: str) -> tuple[sqlite3.Connection, bool]:
    """The file, locked and ready, and whether it is a new one in place of one set aside.

    Raises ``StoreError``, or one of its kinds, when it cannot be had.
    """
    try:
        return _opened(path), False
    except _UnreadableError as error:
        why = str(error)
    kept = _set_aside(path, aside)
    log.error(
        "the store %s cannot be read (%s): it is set aside as %s, and every session begins in a "
        "gap for a while",
        path,
        why,
        kept,
    )
    return _opened(path), True


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


def _set_aside(path: Path, name: str) -> Path:
    """Give a file, and those beside it, a name that ends in ``name``; where it is now."""
    kept = path.with_name(f"{path.name}.{name}")
    for side in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + side).rename(kept.with_name(kept.name + side))
    return kept
