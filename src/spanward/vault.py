"""The vault: what the engine asks of a store, to have back what it no longer holds in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from spanward.saved import FIRST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.saved import Numbering, SavedJob, SavedReports, SavedTrace, Stored

MOST_GONE: Final = 1_000_000
"""Names of dropped sessions and jobs that are remembered: one that returns begins in a gap."""


class Vault(Protocol):
    """What was saved. Everything asked for is as of the last ``Changes`` that were saved.

    ``keeps`` is false for a vault in which nothing stays: then nothing is given up for it, what
    it has is wanted back at once (``urgent`` names all of it), and is given once. ``outlives``: it
    may be asked by engines with other specs one day. A session comes with all that is its.
    ``quiet`` gives the names of open sessions of which nothing came since a time, of open ones
    that said that they ended and nothing came since another, and of ended ones since a third;
    ``quietest`` gives (name, ended, seen) of those of an owner that go first when there are too
    many, ended ones before open ones. ``owners`` counts the sessions of each owner that has a name.
    ``urgent`` are the names of sessions that wait for something, ``reports`` all that may be
    amended. ``counts`` are sessions in all, open sessions, and their open units. Whatever cannot
    be read raises ``OSError``.
    """

    @property
    def keeps(self) -> bool: ...
    @property
    def outlives(self) -> bool: ...
    @property
    def numbering(self) -> Numbering: ...

    def session(self, name: str) -> Stored | None: ...
    def trace(self, trace_id: bytes) -> SavedTrace | None: ...
    def jobs(self) -> list[SavedJob]: ...
    def is_gone(self, kind: str, name: str) -> bool: ...
    def quiet(self, idle: float, said: float, ended: float, most: int) -> list[str]: ...
    def quietest(self, most: int, owner: str) -> list[tuple[str, bool, float]]: ...
    def owners(self) -> dict[str, int]: ...
    def urgent(self) -> list[str]: ...
    def reports(self) -> Iterable[tuple[bytes, SavedReports]]: ...
    def counts(self) -> tuple[int, int, int]: ...


class Nothing:
    """The vault of an engine that lives in memory alone."""

    keeps = False
    outlives = False
    numbering = FIRST

    def session(self, name: str) -> None:
        """None: there are no others."""

    def trace(self, trace_id: bytes) -> None:
        """None."""

    def jobs(self) -> list[SavedJob]:
        """None of them."""
        return []

    def is_gone(self, kind: str, name: str) -> bool:
        """False: the registry itself remembers."""
        return False

    def quiet(self, idle: float, said: float, ended: float, most: int) -> list[str]:
        """None of them: all have their deadlines in memory."""
        return []

    def quietest(self, most: int, owner: str) -> list[tuple[str, bool, float]]:
        """None of them."""
        return []

    def owners(self) -> dict[str, int]:
        """Nothing is saved."""
        return {}

    def urgent(self) -> list[str]:
        """None of them."""
        return []

    def reports(self) -> list[tuple[bytes, SavedReports]]:
        """None of them."""
        return []

    def counts(self) -> tuple[int, int, int]:
        """Nothing is saved."""
        return 0, 0, 0


NOTHING: Final[Vault] = Nothing()
