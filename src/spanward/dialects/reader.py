"""The reader: from the records of a batch to reports, each by the dialect that claims it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward.dialects import fields
from spanward.dialects.dialect import About, Dialect
from spanward.item import Item, Report
from spanward.otlp.record import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.asked import Asked
    from spanward.item import Attributes
    from spanward.otlp.record import Batch, LogRecord, Source


_Told = tuple[str | None, tuple[Item, ...]]
"""The session that a record itself names, and the items that it gives."""
_NO_ITEMS: Final[tuple[Item, ...]] = ()


class Reader:
    """Reads records for what is asked.

    ``wanted`` are the names of the attributes that dialects or specs read: what a decoder need
    decode.
    """

    def __init__(self, dialects: Iterable[Dialect], asked: Asked) -> None:
        self._dialects = tuple(dialects)
        self._asked = asked
        self._sender: str | None = None
        self._source: Source | None = None
        self._outer: tuple[Attributes, ...] = ()
        self.wanted = asked.attributes.union(*(each.attributes for each in self._dialects))

    def reports(self, batch: Batch, sender: str | None = None) -> list[Report]:
        """One report for each record that tells of a session or an item, in their order.

        ``sender`` is who sent them, None when that is not known. A record whose ids are too long
        gives none, or is left out of its span's if it is an event; it is counted in
        ``batch.rejected``.
        """
        self._sender = sender
        reports = []
        for record in batch.records:
            try:
                if isinstance(record, SpanRecord):
                    start, (session, items) = record.start_ns, self._of_span(record, batch)
                else:
                    start, (session, items) = record.time_ns, self._of_log(record)
            except fields.TooLongError as rejection:
                _reject(batch, rejection)
                if isinstance(record, SpanRecord):
                    batch.lost_events += len(record.events)
                continue
            if session is not None or items:
                binds = isinstance(record, SpanRecord)
                reports.append(
                    Report(record.trace_id, record.span_id, start, session, binds, items, sender)
                )
        return reports

    def _of_log(self, record: LogRecord) -> _Told:
        dialect = self._reader_of(record)
        if dialect is None:
            return fields.own_session(record.attributes), _NO_ITEMS
        about = self._about(record)
        return about.belongs.session, dialect.log(record, about, self._asked)

    def _of_span(self, record: SpanRecord, batch: Batch) -> _Told:
        dialect, events = self._reader_of(record), record.events
        if dialect is None or (not events and dialect.passes_by(record, self._asked)):
            return fields.own_session(record.attributes), _NO_ITEMS
        about = self._about(record)
        items = dialect.span(record, about, self._asked)
        for index in range(len(events)):
            try:
                items += dialect.event(record, index, about, self._asked)
            except fields.TooLongError as rejection:
                _reject(batch, rejection)
                batch.bad_events += 1
        return about.belongs.session, items

    def _about(self, record: SpanRecord | LogRecord) -> About:
        belongs = fields.belongs(record.attributes, record.source.resource_attributes)
        return About(belongs, self._outer_of(record.source), self._sender)

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
