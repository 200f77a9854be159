"""The reader: from the records of a batch to reports, each by the dialect that claims it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.dialects import fields
from spanward.dialects.dialect import About, Dialect
from spanward.item import Report
from spanward.otlp.record import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.asked import Asked
    from spanward.item import Attributes, Item
    from spanward.otlp.record import Batch, LogRecord, Source


class Reader:
    """Reads records for what is asked.

    ``wanted`` are the names of the attributes that dialects or specs read: what a decoder need
    decode.
    """

    def __init__(self, dialects: Iterable[Dialect], asked: Asked) -> None:
        self._dialects = tuple(dialects)
        self._asked = asked
        self._source: Source | None = None
        self._outer: tuple[Attributes, ...] = ()
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
        belongs = fields.belongs(record.attributes, record.source.resource_attributes)
        about = About(belongs, self._outer_of(record.source))
        dialect = self._reader_of(record)
        items: tuple[Item, ...] = ()
        if not isinstance(record, SpanRecord):
            if dialect is not None:
                items = dialect.log(record, about, self._asked)
            start, binds = record.time_ns, False
        else:
            if dialect is not None:
                items = dialect.span(record, about, self._asked)
                for index in range(len(record.events)):
                    items += dialect.event(record, index, about, self._asked)
            start, binds = record.start_ns, True
        return Report(record.trace_id, record.span_id, start, belongs.session, binds, items)

    def _reader_of(self, record: SpanRecord | LogRecord) -> Dialect | None:
        """The first dialect that claims a record; None when it is nobody's."""
        for dialect in self._dialects:
            if dialect.claims(record):
                return dialect
        return None

    def _outer_of(self, source: Source) -> tuple[Attributes, ...]:
        """What is asked of a source's attributes; records of one source come together."""
        if source is not self._source:
            self._source = source
            self._outer = (
                self._asked.of(source.scope_attributes),
                self._asked.of(source.resource_attributes),
            )
        return self._outer
