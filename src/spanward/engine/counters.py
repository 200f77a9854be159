"""Plain counters of an engine, read by whoever publishes them."""

from __future__ import annotations

from collections import Counter
from copy import copy


class Counters:
    """What an engine has seen since it was made; every figure only grows.

    ``items`` is by kind, ``sessions_closed`` by reason (``ended idle evicted merged shutdown``);
    ``matches`` (items that concern a spec) and ``violations`` are by the number of the spec.
    ``facts_dropped`` counts those for which a session had no room, ``errors`` the records that
    could not be judged.
    """

    def __init__(self, specs: int) -> None:
        self.items: Counter[str] = Counter()
        self.duplicates = 0
        self.amended = 0
        self.late = 0
        self.not_an_item = 0
        self.facts_dropped = 0
        self.sessions_opened = 0
        self.sessions_closed: Counter[str] = Counter()
        self.matches = [0] * specs
        self.violations = [0] * specs
        self.errors = 0

    def for_specs(self, specs: int) -> Counters:
        """The same figures, for an engine that goes on with other specs; theirs begin at 0."""
        counters = copy(self)
        counters.matches = [0] * specs
        counters.violations = [0] * specs
        return counters
