"""Verdicts as figures: what is published of announcements, in plain counters."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from spanward.saved import SavedCounts
from spanward.verdict import Announcement, Result, Verdict

_NANOSECONDS: Final = 1_000_000_000
LATENCIES: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
COMMITS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVALUATIONS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Histogram:
    """Counts observations by upper bounds, in seconds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one observation; a negative one (a clock that differs) counts as zero."""
        seconds = max(seconds, 0.0)
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds


class Example(msgspec.Struct, frozen=True):
    """The step at which a spec failed; ids are hex, ``at`` is Unix seconds."""

    trace_id: str
    span_id: str
    at: float


class VerdictTally:
    """Folds announcements into figures by spec.

    ``verdicts`` counts first announcements by (spec, result), ``revisions`` the others by (spec,
    from, to). ``last_violation`` is the wall time, in seconds, at which a spec last failed, and
    ``examples`` the step at which it last did, where that has ids. The histograms are of no spec:
    they go on from the tally ``before`` this one, which was of other specs.
    """

    def __init__(self, specs: Collection[str], before: VerdictTally | None = None) -> None:
        self.verdicts: Counter[tuple[str, str]] = Counter(
            {(spec, str(result)): 0 for spec in specs for result in Result}
        )
        self.revisions: Counter[tuple[str, str, str]] = Counter()
        self.last_violation: dict[str, float] = {}
        self.examples: dict[str, Example] = {}
        self.latency = Histogram(LATENCIES)
        self.evaluation = Histogram(EVALUATIONS)
        self.commits = Histogram(COMMITS)
        if before is None:
            return
        self.examples = {name: one for name, one in before.examples.items() if name in specs}
        self.latency = before.latency
        self.evaluation = before.evaluation
        self.commits = before.commits

    def load(self, spec: str, saved: SavedCounts) -> None:
        """Go on where the figures of a spec stopped."""
        for result in map(str, Result):
            self.verdicts[spec, result] = saved.verdicts.get(result, 0)
        for before, after, number in saved.revisions:
            self.revisions[spec, before, after] = number
        if saved.last_violation is not None:
            self.last_violation[spec] = saved.last_violation

    def save(self, spec: str, matches: int, violations: int) -> SavedCounts:
        """The figures of a spec, with those of the engine."""
        return SavedCounts(
            matches=matches,
            violations=violations,
            verdicts={str(result): self.verdicts[spec, str(result)] for result in Result},
            revisions=tuple(
                (before, after, number)
                for (name, before, after), number in self.revisions.items()
                if name == spec
            ),
            last_violation=self.last_violation.get(spec),
        )

    def take(
        self, announcements: Sequence[Announcement], violated: Sequence[str], at_ns: int
    ) -> None:
        """Take announcements and violations into account that were made at a wall time.

        ``violated`` names the specs of which an item was a violation, be its unit failed already.
        """
        for spec in violated:
            self.last_violation[spec] = at_ns / _NANOSECONDS
        for announcement in announcements:
            verdict = announcement.verdict
            result = str(verdict.result)
            if announcement.previous is None:
                self.verdicts[verdict.spec, result] += 1
            else:
                self.revisions[verdict.spec, str(announcement.previous), result] += 1
            if verdict.result is Result.FAIL:
                self.last_violation[verdict.spec] = at_ns / _NANOSECONDS
                self._keep_example(verdict, at_ns / _NANOSECONDS)
            if announcement.item_ns is not None:
                self.latency.observe((at_ns - announcement.item_ns) / _NANOSECONDS)

    def _keep_example(self, verdict: Verdict, at: float) -> None:
        steps = ([verdict.decided_by] if verdict.decided_by else []) + list(verdict.witnesses)
        step = next((one for one in steps if one.trace_id and one.span_id), None)
        if step is not None:
            self.examples[verdict.spec] = Example(step.trace_id, step.span_id, at)
