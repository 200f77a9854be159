"""The memory store: nothing is saved; what the process knew is gone when it ends."""

from __future__ import annotations

from spanward.saved import SavedCounts, Saving, Sending


class MemoryStore:
    """Keeps nothing beyond the engine itself, so that there is nothing to wait for."""

    def __init__(self) -> None:
        self.vault = None
        self.lost = False
        self.damaged = 0
        self.clock = 0.0

    def commit(self, saving: Saving) -> None:
        """Return at once."""

    def close(self) -> None:
        """Do nothing."""

    def counts_by_spec(self) -> dict[str, SavedCounts]:
        """None."""
        return {}

    def sendings(self) -> list[Sending]:
        """None: what did not go out when the process ended is lost."""
        return []
