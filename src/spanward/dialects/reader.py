"""The reader: from the records of a batch to reports, each by the dialect that claims it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.dialects import fields
from spanward.item import Report
from spanward.otlp.record import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.asked import Asked
    from spanward.dialects.dialect import Dialect
    from spanward.otlp.record import Batch, LogRecord


class Reader:
    """Reads records for what is asked.

    ``wanted`` are the names of the attributes that dialects or specs read: what a decoder need
    decode.
    """

    def __init__(self, dialects: Iterable[Dialect], asked: Asked) -> None:
        self._dialects = tuple(dialects)
        self._asked = asked
        self.wanted = asked.attributes.union(*(each.attributes for each in self._dialects))

    def reports(self, batch: Batch) -> list[Report]:
        """One report for each record, in their order.

        A record whose ids are too long gives none and is counted in ``batch.rejected``.
        """
        reports = []
        for record in batch.records:
            try:
                reports.append(self._report(record))
            except fields.TooLongError as rejection:
                rejected = batch.rejected
                rejected[rejection.reason] = rejected.get(rejection.reason, 0) + 1
        return reports

    def _report(self, record: SpanRecord | LogRecord) -> Report:
        dialect = next(each for each in self._dialects if each.claims(record))
        session = fields.own_session(record.attributes)
        if not isinstance(record, SpanRecord):
            items = dialect.log(record, self._asked)
            return Report(record.trace_id, record.span_id, record.time_ns, session, False, items)
        items = dialect.span(record, self._asked)
        for index, event in enumerate(record.events):
            items += dialect.event(record, index, event, self._asked)
        return Report(record.trace_id, record.span_id, record.start_ns, session, True, items)
