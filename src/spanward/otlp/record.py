"""Records: what the telemetry says, once foreign values have become ours.

Only the attributes that somebody asks for are here (see ``otlp.wire``); the rest was never decoded.
"""

from __future__ import annotations

from typing import Any

import msgspec

from spanward.item import Attributes


class Source(msgspec.Struct, frozen=True):
    """Where records come from: one scope of one resource, shared by all its records."""

    scope: str
    version: str
    scope_attributes: Attributes
    resource_attributes: Attributes


class EventRecord(msgspec.Struct, frozen=True):
    """An event of a span; its place in the span's list is its index."""

    name: str
    time_ns: int
    attributes: Attributes


class SpanRecord(msgspec.Struct, frozen=True):
    """A span. ``trace_id`` is 16 bytes, ``span_id`` 8; neither is zero."""

    source: Source
    trace_id: bytes
    span_id: bytes
    name: str
    start_ns: int
    end_ns: int
    error: bool
    attributes: Attributes
    events: tuple[EventRecord, ...]


class LogRecord(msgspec.Struct, frozen=True):
    """A log record. ``time_ns`` is its time, else its observed time; ids may be empty.

    ``digest`` is 16 bytes over the whole record, the same for the same record on every road in.
    """

    source: Source
    trace_id: bytes
    span_id: bytes
    time_ns: int
    event_name: str
    body: Any
    attributes: Attributes
    digest: bytes


class Batch(msgspec.Struct):
    """The records of one request or line, in their order, and what was not taken.

    ``rejected`` counts records by reason (``trace_id``, ``span_id``), ``bad_events`` those of them
    that are span events, ``lost_events`` the events of rejected spans. ``dropped`` counts the
    records whose sender says that it left attributes out.
    """

    records: list[SpanRecord | LogRecord]
    rejected: dict[str, int]
    bad_events: int = 0
    lost_events: int = 0
    dropped: int = 0

    @property
    def events(self) -> int:
        """The span events of the spans that are here."""
        return sum(len(each.events) for each in self.records if isinstance(each, SpanRecord))
