"""Plain counters of an engine, read by whoever publishes them."""

from __future__ import annotations

from collections import Counter


class Counters:
    """What an engine has seen since it was made; every figure only grows.

    ``items`` is by kind, ``sessions_closed`` by reason (``ended idle evicted shutdown merged``),
    ``violations``, ``matches`` and ``errors`` by spec name.
    """

    def __init__(self) -> None:
        self.items: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.duplicates = 0
        self.amended = 0
        self.late = 0
        self.not_an_item = 0
        self.sessions_opened = 0
        self.sessions_closed: Counter[str] = Counter()
        self.bindings_forgotten = 0
        self.violations: Counter[str] = Counter()
        self.matches: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
