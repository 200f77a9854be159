"""Bounds on what a message may become: two bytes on the wire can be hundreds in memory.

A record without a field is two bytes; read, judged and kept for a while it is a kilobyte. So a
large message is first looked at from far, its parts left as bytes, which costs a few bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_RESOURCES, _SOURCE, _SCOPES, _RECORDS = 1, 1, 2, 2
"""Fields of a request, of what is in it, and so on: of traces and of logs they are the same."""
_VARINT, _LENGTH_DELIMITED = 0, 2
_FIXED: Final = {1: 8, 5: 4}
"""Kinds of values on the wire, and the bytes that those of a fixed length take."""
_MOST_FIELDS: Final = 5 * MOST_RECORDS // 2
"""Fields outside of records, known or not. Each takes a microsecond to be passed over, and records
are passed over twice."""
_SMALL: Final = 256 * 1024
"""A message of so many bytes cannot become much, whatever it holds."""

_TOO_MANY_RECORDS: Final = (
    f"more than {MOST_RECORDS:,} spans, events and log records: send smaller batches"
)
_TOO_MANY_PARTS: Final = f"more than {MOST_PARTS:,} parts: send smaller batches"
_TOO_MANY_VALUES: Final = f"more than {MOST_SEPARATORS:,} values: send smaller batches"


def check_traces(data: bytes) -> None:
    """Raise ``TooMuch`` for a request of too many spans, events or attributes."""
    _check(data, events=True)


def check_logs(data: bytes) -> None:
    """Raise ``TooMuch`` for a request of too many log records or attributes."""
    _check(data, events=False)


def check_json(data: bytes) -> None:
    """Raise ``TooMuch`` for JSON of too many values."""
    if len(data) > _SMALL and sum(map(data.count, (b",", b"{", b"["))) > MOST_SEPARATORS:
        raise TooMuch(_TOO_MANY_VALUES)


def check_records(number: int) -> None:
    """Raise ``TooMuch`` for so many records."""
    if number > MOST_RECORDS:
        raise TooMuch(_TOO_MANY_RECORDS)


def _check(data: bytes, *, events: bool) -> None:
    if len(data) <= _SMALL:
        return
    try:
        _count(data, events=events)
    except DecodeError as error:
        raise Malformed(str(error)) from None


def _count(data: bytes, *, events: bool) -> None:
    """Add up from far what there is, and stop as soon as it is too much.

    Down to the records by views into the message: a copy at each level would be another message.
    """
    count = _Count()
    for resource in count.parts_of(memoryview(data), _RESOURCES):
        for said in count.parts_of(resource, _SOURCE):
            count.add(parts=len(view.parse_resource(bytes(said)).attributes))
        for scope in count.parts_of(resource, _SCOPES):
            for said in count.parts_of(scope, _SOURCE):
                count.add(parts=len(view.parse_scope(bytes(said)).attributes))
            for record in count.parts_of(scope, _RECORDS):
                _count_record(bytes(record), count, events=events)


def _count_record(record: bytes, count: _Count, *, events: bool) -> None:
    if not events:
        # Attributes of log records are all read, for the digest that tells these apart: dear parts.
        count.add(records=1, parts=4 * len(view.parse_far_log(record).attributes))
        return
    read = view.parse_far_span(record)
    count.add(records=1 + len(read.events), parts=len(read.attributes))
    for event in read.events:
        count.add(parts=len(view.parse_far_event(event).attributes))


class _Count:
    """Adds up. Its methods raise ``TooMuch`` when it is too much."""

    def __init__(self) -> None:
        self._records = 0
        self._parts = 0
        self._fields = 0

    def add(self, records: int = 0, parts: int = 0) -> None:
        """Some more."""
        self._records += records
        self._parts += records + parts
        check_records(self._records)
        if self._parts > MOST_PARTS:
            raise TooMuch(_TOO_MANY_PARTS)

    def parts_of(self, message: memoryview, field: int) -> Iterator[memoryview]:
        """The values of one field of a message, each a message itself; the rest is passed over.

        Ends where the message is not well formed: whoever parses it will say so.
        """
        at, size = 0, len(message)
        while at < size:
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise TooMuch(_TOO_MANY_PARTS)
            tag, at = _varint(message, at)
            kind = tag & 7 if tag > 7 else None  # noqa: PLR2004  there is no field 0
            if kind == _LENGTH_DELIMITED:
                length, at = _varint(message, at)
                if tag >> 3 == field:
                    yield message[at : at + length]
                at += length
            elif kind == _VARINT:
                _, at = _varint(message, at)
            elif kind in _FIXED:
                at += _FIXED[kind]
            else:
                return


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number that stands at a place, and the place behind it; behind the end if there is none.

    At most ten bytes, as protobuf has it.
    """
    number = shift = 0
    for byte in message[at : at + 10]:
        number |= (byte & 127) << shift
        at += 1
        if byte < 128:  # noqa: PLR2004  the bit that says that more follows
            return number, at
        shift += 7
    return number, len(message) + 1


class Allowance:
    """How many more values the lists and mappings of one request may have."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def take(self, number: int) -> None:
        """Take some. Raises ``TooMuch`` when there are not as many."""
        if number > self._left:
            raise TooMuch("too many values")
        self._left -= number
