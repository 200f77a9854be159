"""Plain counters of an engine, read by whoever publishes them."""

from __future__ import annotations

from collections import Counter
from copy import copy
from typing import Final

JUDGED: Final = "judged"
AMENDED: Final = "amended"
DUPLICATE: Final = "duplicate"
LATE: Final = "late"
NOT_AN_ITEM: Final = "not_an_item"
FAILED: Final = "failed"
FATES: Final = (JUDGED, AMENDED, DUPLICATE, LATE, NOT_AN_ITEM, FAILED)
"""Of an item's report: it was the first; it changed its item; it said nothing new; it came too late
to say it; it belongs to no session; it met a fault of ours."""


class Counters:
    """What an engine has seen since it was made; every figure only grows.

    ``items`` is by kind, ``fates`` by what became of an item's report: one of ``FATES``.
    ``absorbed`` counts facts that came with their trace to a session that knew their item.
    ``sessions_closed`` is by reason (``ended idle evicted merged shutdown``); ``matches`` (items
    that concern a spec) and ``violations`` are by the number of the spec. ``facts_dropped`` counts
    those for which a session had no room, ``errors`` the records that could not be judged.
    """

    def __init__(self, specs: int) -> None:
        self.items: Counter[str] = Counter()
        self.fates: Counter[str] = Counter()
        self.absorbed = 0
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
