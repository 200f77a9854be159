"""Records for the dialects, short to write."""

from __future__ import annotations

from typing import Any

from spanward.asked import Asked
from spanward.dialects import DIALECTS, Reader
from spanward.item import Item, Report
from spanward.otlp.record import Batch, EventRecord, LogRecord, Source, SpanRecord

TRACE = bytes(range(1, 17))
SPAN = bytes(range(1, 9))
EVERYTHING = Asked(attributes=frozenset({"x.y", "x.z"}), args=True, spans=True)
NOTHING_ASKED = Asked(attributes=frozenset(), args=False, spans=False)


def source(
    scope: str = "agent",
    scope_attributes: dict[str, Any] | None = None,
    resource: dict[str, Any] | None = None,
) -> Source:
    """A scope of a resource."""
    return Source(scope, "", scope_attributes or {}, resource or {})


def span(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> SpanRecord:
    """A span from 10 to 20 ns."""
    fields: dict[str, Any] = {
        "source": source(),
        "trace_id": TRACE,
        "span_id": SPAN,
        "name": name,
        "start_ns": 10,
        "end_ns": 20,
        "error": False,
        "attributes": attributes or {},
        "events": (),
        **more,
    }
    return SpanRecord(**fields)


def event(name: str, attributes: dict[str, Any] | None = None, time_ns: int = 15) -> EventRecord:
    """An event of a span."""
    return EventRecord(name, time_ns, attributes or {})


def log(attributes: dict[str, Any] | None = None, **more: Any) -> LogRecord:
    """A log record at 12 ns."""
    fields: dict[str, Any] = {
        "source": source(),
        "trace_id": TRACE,
        "span_id": b"",
        "time_ns": 12,
        "event_name": "",
        "body": None,
        "attributes": attributes or {},
        "digest": b"d" * 16,
        **more,
    }
    return LogRecord(**fields)


def report(
    record: SpanRecord | LogRecord, asked: Asked = EVERYTHING, names: tuple[str, ...] = ()
) -> Report:
    """The report of one record, by all dialects or some."""
    dialects = [DIALECTS[name] for name in names or DIALECTS]
    (made,) = Reader(dialects, asked).reports(Batch([record], {}))
    return made


def item(record: SpanRecord | LogRecord, asked: Asked = EVERYTHING) -> Item:
    """The first item of one record."""
    return report(record, asked).items[0]
