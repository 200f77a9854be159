"""The memory store: nothing is saved; what the process knew is gone when it ends."""

from __future__ import annotations


class MemoryStore:
    """Keeps nothing beyond the engine itself, so that there is nothing to wait for."""

    def commit(self) -> None:
        """Return at once."""

    def close(self) -> None:
        """Do nothing."""
