"""Stores: where facts and announcements are saved before a sender is told that all is well."""

from __future__ import annotations

from typing import Protocol

from spanward.saved import SavedCounts, Saving, Sending
from spanward.vault import Vault


class StoreError(OSError):
    """The store cannot be read or written."""


class StoreInUseError(StoreError):
    """Another process has the store open."""


class StoreFormatError(StoreError):
    """The store was written by another version, which this one cannot read."""


class Store(Protocol):
    """Saves what a group of requests changed, and gives it back.

    ``vault`` is where the engine finds what was saved. ``commit`` returns when all of it is safe,
    and raises ``OSError`` when nothing of it is; until it returned no sender is answered. A store
    whose vault keeps nothing is given only what one engine leaves to the next
    (``Engine.note_all``), which it holds until ``taken``: the next one was made, or will not be.
    ``clock`` is the service's clock as of the last commit, 0.0 for a new store. ``lost`` says that
    there was a store which could not be read, ``damaged`` counts what could not be read of one
    that is otherwise whole. ``sendings`` are the announcements that have not gone out. All of it
    belongs to one thread at a time. ``close`` is called once, last.
    """

    @property
    def vault(self) -> Vault: ...
    @property
    def lost(self) -> bool: ...
    @property
    def damaged(self) -> int: ...
    @property
    def clock(self) -> float: ...

    def commit(self, saving: Saving) -> None: ...
    def taken(self) -> None: ...
    def close(self) -> None: ...
    def counts_by_spec(self) -> dict[str, SavedCounts]: ...
    def sendings(self) -> list[Sending]: ...
