"""What the admin pages read of the worker: the specs that are judged, and their figures.

All three change at once when specs are reloaded, so that a page never shows a spec with the
figures of another.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from spanward.emitters.tally import VerdictTally
from spanward.engine.counters import Counters
from spanward.specs.spec import Spec, bundle_digest

SUCCESS: Final = "success"
FAILURE: Final = "failure"


class Published(msgspec.Struct, frozen=True):
    """The specs in the engine's order, and the counters of both, to be read only."""

    specs: tuple[Spec, ...]
    counters: Counters
    verdicts: VerdictTally
    sha256: str

    @classmethod
    def of(cls, specs: tuple[Spec, ...], counters: Counters, verdicts: VerdictTally) -> Published:
        """With the digest of all specs together."""
        return cls(specs, counters, verdicts, bundle_digest(specs))


class Reloads:
    """How loading went: ``results`` counts reloads by ``success`` and ``failure``.

    ``good`` tells of the last load, the first one at start included; ``good_at`` is when the last
    good one was, Unix seconds.
    """

    def __init__(self, at: float) -> None:
        self.results: Counter[str] = Counter({SUCCESS: 0, FAILURE: 0})
        self.good = True
        self.good_at = at

    def note(self, *, good: bool, at: float) -> None:
        """A reload ended at a wall time."""
        self.results[SUCCESS if good else FAILURE] += 1
        self.good = good
        if good:
            self.good_at = at
