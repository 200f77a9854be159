"""Stores: where facts and announcements are saved before a sender is told that all is well."""

from __future__ import annotations

from typing import Protocol


class Store(Protocol):
    """Saves what a group of requests changed.

    ``commit`` returns when everything that was taken since the last commit is safe, and raises
    ``OSError`` when it is not; until it returned no sender is answered. ``close`` is called once,
    last.
    """

    def commit(self) -> None: ...
    def close(self) -> None: ...
