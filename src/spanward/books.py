"""The books: every record that was received has exactly one fate, and they add up.

Records are spans, span events and log records. ``received`` is the sum of the fates that the engine
counts (``judged amended duplicate late not_an_item failed``) and of those that are counted here
(``rejected own_verdict not_an_item refused``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanward.emitters.identity import is_own_verdict
from spanward.otlp.record import SpanRecord
from spanward.request import NO_ITEM, OWN_VERDICT, REFUSED, REJECTED

if TYPE_CHECKING:
    from spanward.engine.counters import Counters
    from spanward.item import Report
    from spanward.otlp.record import Batch
    from spanward.request import Request, Tally


class Books:
    """Of one request: call ``receive``, ``read``, have the engine take the reports, and ``close``.

    Whatever is missing at the end, because something failed on the way, was refused.
    """

    def __init__(self, tally: Tally, counters: Counters) -> None:
        self._tally = tally
        self._counters = counters
        self._received = 0
        self._before = self._fates()

    def receive(self, batch: Batch, request: Request) -> None:
        """Take the records of a request in; our own verdicts are left out of it."""
        tally, of_spans = self._tally, batch.events + batch.lost_events
        taken = len(batch.records) + sum(batch.rejected.values())
        tally.received[request.signal, request.transport] += taken
        tally.events[request.transport] += of_spans
        tally.incomplete += batch.dropped
        self._received = taken + of_spans
        if any(map(_is_own, batch.records)):
            kept = [record for record in batch.records if not _is_own(record)]
            tally.own_verdicts += len(batch.records) - len(kept)
            tally.fates[OWN_VERDICT] += len(batch.records) - len(kept)
            left = batch.events
            batch.records = kept
            tally.fates[OWN_VERDICT] += left - batch.events

    def read(self, batch: Batch, reports: Sequence[Report]) -> None:
        """Some records were rejected, others gave items; the rest are none."""
        fates = self._tally.fates
        fates[REJECTED] += sum(batch.rejected.values()) + batch.lost_events
        items = sum(len(report.items) for report in reports)
        fates[NO_ITEM] += self._received - (self._fates() - self._before) - items

    def close(self) -> None:
        """Strike the balance."""
        self._tally.fates[REFUSED] += self._received - (self._fates() - self._before)

    def _fates(self) -> int:
        return self._tally.fates.total() + self._counters.fates.total()


def _is_own(record: object) -> bool:
    return isinstance(record, SpanRecord) and is_own_verdict(
        record.name, record.source.scope, record.span_id, record.attributes
    )
