"""Judging what was recorded: the same dialects and engine as live, with all traces known first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from spanward.dialects import Dialect, Reader
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import Report
from spanward.otlp.record import Batch
from spanward.specs.asking import asked_by
from spanward.specs.spec import Spec
from spanward.verdict import Cause, Verdict

_CLOCKS = Limits(settle=0.0, amend_window=None)
"""Every item is kept, and a settled result stands at once (interface, ``check --format json``)."""
_NOW = 0.0
"""No time passes: recorded telemetry carries its own."""


class Judgement(msgspec.Struct, frozen=True):
    """What came of a recording.

    ``verdicts`` are final, one for each unit and spec, sorted; ``announced`` are those that would
    have been told as the records came. ``rejected`` counts records that were not taken, by reason.
    """

    items: int
    sessions: int
    verdicts: tuple[Verdict, ...]
    announced: tuple[Verdict, ...]
    rejected: dict[str, int]


class Recording:
    """Collects the records of a recording and judges them.

    Give batches in the order in which they were recorded to ``add``; call ``judge`` once.
    """

    def __init__(self, specs: Sequence[Spec], dialects: Iterable[Dialect]) -> None:
        self._specs = specs
        self._reader = Reader(dialects, asked_by(specs, every_item=True))
        self._rejected: Counter[str] = Counter()
        self._reports: list[Report] = []
        self.wanted = self._reader.wanted

    def add(self, batch: Batch) -> None:
        """Take the records of one batch."""
        self._reports += self._reader.reports(batch)
        self._rejected.update(batch.rejected)

    def judge(self) -> Judgement:
        """Judge everything that was added. Raises what the engine could not digest."""
        engine = Engine(self._specs, _CLOCKS)
        engine.foresee(self._reports, _NOW)
        announced = engine.take(self._reports, _NOW)
        announced += engine.finish(Cause.END_OF_INPUT, _NOW)
        for fault in engine.faults:
            raise fault
        items, sessions = engine.totals()
        return Judgement(
            items=items,
            sessions=sessions,
            verdicts=tuple(engine.report()),
            announced=tuple(announcement.verdict for announcement in announced),
            rejected=dict(self._rejected),
        )
