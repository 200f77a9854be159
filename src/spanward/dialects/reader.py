"""The reader: from the records of a batch to reports, each by the dialect that claims it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.dialects import fields
from spanward.dialects.dialect import About, Dialect
from spanward.item import Item, Report
from spanward.otlp.record import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.asked import Asked
    from spanward.item import Attributes
    from spanward.otlp.record import Batch, LogRecord, Source


_NO_ITEMS: tuple[Item, ...] = ()


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

        A record whose ids are too long gives none, or is left out of its span's if it is an event;
        it is counted in ``batch.rejected``.
        """
        reports = []
        for record in batch.records:
            try:
                reports.append(self._report(record, batch))
            except fields.TooLongError as rejection:
                _reject(batch, rejection)
        return reports

    def _report(self, record: SpanRecord | LogRecord, batch: Batch) -> Report:
        dialect = self._reader_of(record)
        if isinstance(record, SpanRecord):
            return self._span_report(record, dialect, batch)
        if dialect is None:
            session, items = fields.own_session(record.attributes), _NO_ITEMS
        else:
            about = self._about(record)
            session, items = about.belongs.session, dialect.log(record, about, self._asked)
        return Report(record.trace_id, record.span_id, record.time_ns, session, False, items)

    def _span_report(self, record: SpanRecord, dialect: Dialect | None, batch: Batch) -> Report:
        quiet = dialect is None or dialect.passes_by(record, self._asked)
        if dialect is None or (quiet and not record.events):
            session, items = fields.own_session(record.attributes), _NO_ITEMS
        else:
            about = self._about(record)
            session, items = about.belongs.session, dialect.span(record, about, self._asked)
            for index in range(len(record.events)):
                try:
                    items += dialect.event(record, index, about, self._asked)
                except fields.TooLongError as rejection:
                    _reject(batch, rejection)
        return Report(record.trace_id, record.span_id, record.start_ns, session, True, items)

    def _about(self, record: SpanRecord | LogRecord) -> About:
        belongs = fields.belongs(record.attributes, record.source.resource_attributes)
        return About(belongs, self._outer_of(record.source))

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


def _reject(batch: Batch, rejection: fields.TooLongError) -> None:
    batch.rejected[rejection.reason] = batch.rejected.get(rejection.reason, 0) + 1
