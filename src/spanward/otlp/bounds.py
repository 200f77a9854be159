"""Bounds on what a message may become: two bytes on the wire can be hundreds in memory.

A record without a field is two bytes; read, judged and kept for a while it is a kilobyte. So a
large message is first looked at from far, its parts left as bytes, which costs a few bytes each.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from spanward.otlp import view
from spanward.otlp.malformed import Malformed, TooMuch

MOST_RECORDS: Final = 100_000
"""Spans, span events and log records of one request. Senders' own batches hold some thousands."""
MOST_PARTS: Final = 2_000_000
"""Their attributes, and the lists that all of these stand in: 64 MiB of usual spans are half."""
MOST_SEPARATORS: Final = 4_000_000
"""Commas and opening brackets of a request in JSON: no more values than that are made of it."""
MOST_VALUES: Final = 1_000_000
"""Values in lists and mappings, of all attributes of a request."""
LARGEST_STRUCTURE: Final = 1024 * 1024
"""Bytes of a list or mapping in an attribute; a longer one is not parsed."""
_SMALL: Final = 256 * 1024
"""A message of so many bytes cannot become much, whatever it holds."""

_RECORDS = f"more than {MOST_RECORDS:,} spans, events and log records: send smaller batches"
_PARTS = f"more than {MOST_PARTS:,} parts: send smaller batches"
_SEPARATORS = f"more than {MOST_SEPARATORS:,} values: send smaller batches"


def check_traces(data: bytes) -> None:
    """Raise ``TooMuch`` for a request of too many spans, events or attributes."""
    _check(data, events=True)


def check_logs(data: bytes) -> None:
    """Raise ``TooMuch`` for a request of too many log records or attributes."""
    _check(data, events=False)


def check_json(data: bytes) -> None:
    """Raise ``TooMuch`` for JSON of too many values."""
    if len(data) > _SMALL and sum(map(data.count, (b",", b"{", b"["))) > MOST_SEPARATORS:
        raise TooMuch(_SEPARATORS)


def check_records(number: int) -> None:
    """Raise ``TooMuch`` for so many records."""
    if number > MOST_RECORDS:
        raise TooMuch(_RECORDS)


def _check(data: bytes, *, events: bool) -> None:
    if len(data) <= _SMALL:
        return
    try:
        _count(data, events=events)
    except DecodeError as error:
        raise Malformed(str(error)) from None


def _count(data: bytes, *, events: bool) -> None:
    """Add up from far what there is, and stop as soon as it is too much."""
    records = parts = 0
    resources = view.parse_far_request(data).resources
    parts += len(resources)
    for each in resources:
        resource = view.parse_far_resource(each)
        scopes = resource.scopes
        parts += len(scopes) + len(view.parse_resource(resource.resource).attributes)
        _check_parts(parts + records)
        for inner in scopes:
            scope = view.parse_far_scope(inner)
            found = scope.records
            parts += len(view.parse_scope(scope.scope).attributes)
            records += len(found)
            check_records(records)
            _check_parts(parts + records)
            for record in found:
                parts, records = _of_record(record, parts, records, events=events)
                check_records(records)
                _check_parts(parts + records)
    _check_parts(parts + records)


def _of_record(record: bytes, parts: int, records: int, *, events: bool) -> tuple[int, int]:
    if not events:
        return parts + len(view.parse_far_log(record).attributes), records
    read = view.parse_far_span(record)
    records += len(read.events)
    check_records(records)
    of_events = sum(len(view.parse_far_event(event).attributes) for event in read.events)
    return parts + len(read.attributes) + of_events, records


def _check_parts(number: int) -> None:
    if number > MOST_PARTS:
        raise TooMuch(_PARTS)


class Allowance:
    """How many more values the lists and mappings of one request may have."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def take(self, number: int) -> None:
        """Take some. Raises ``TooMuch`` when there are not as many."""
        if number > self._left:
            raise TooMuch("too many values")
        self._left -= number
