"""How much one request may hold: what two bytes on the wire become in memory is bounded."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanward.item import CUT
from spanward.otlp import Malformed, TooMuch
from spanward.otlp.bounds import (
    LARGEST_STRUCTURE,
    MOST_PARTS,
    MOST_RECORDS,
    MOST_SEPARATORS,
    MOST_VALUES,
)
from spanward.otlp.jsonlines import read_line, read_request
from spanward.otlp.record import LogRecord as OurLog
from spanward.otlp.wire import WireReader
from tests.otlp.roads import logs, span, traces

WANTED = frozenset({"a"})


def field(number: int, content: bytes) -> bytes:
    """A field of bytes, as it stands on the wire."""
    length, left = bytearray(), len(content)
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    return bytes([number << 3 | 2, *length, left]) + content


def nested(content: bytes) -> bytes:
    """A request whose one scope has this content."""
    return field(1, field(2, content))


RECORD, ATTRIBUTE, EVENT = b"\x12\x00", b"\x4a\x00", b"\x5a\x00"
"""Each empty, in two bytes: a record of a scope, an attribute and an event of a span."""


@pytest.mark.parametrize("signal", ["traces", "logs"])
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (nested(RECORD * (MOST_RECORDS + 1)), "more than 100,000 spans, events"),
        (nested(b"\x12\x02\x28\x00" * 110_000), "more than 100,000 spans, events"),
        (nested(RECORD * 4_000_000), "parts: send smaller batches"),
        (field(1, b"\x12\x00" * 500_000), "parts: send smaller batches"),
        (b"\x0a\x00" * 500_000, "parts: send smaller batches"),
        (b"\x08\x00" * 500_000, "parts: send smaller batches"),
        (field(1, field(1, b"\x0a\x00" * (MOST_PARTS + 1))), "parts: send smaller batches"),
        (nested(field(1, b"\x1a\x00" * (MOST_PARTS + 1))), "parts: send smaller batches"),
    ],
)
def test_too_many_of_anything_are_refused_before_they_are_made(
    signal: str, data: bytes, told: str
) -> None:
    """Records, scopes, resources, fields of nobody, attributes of resources and of scopes."""
    reader = WireReader(WANTED)
    began = time.process_time()
    with pytest.raises(TooMuch, match=told):
        getattr(reader, signal)(data)
    assert time.process_time() - began < 10  # a third of a second where nobody counts lines


def test_too_many_events_and_attributes_are_refused() -> None:
    """Of one span, and of its events; of a log record."""
    reader = WireReader(WANTED)
    for inner in (
        EVENT * 2 * MOST_RECORDS,
        ATTRIBUTE * (MOST_PARTS + 1),
        field(11, b"\x1a\x00" * (MOST_PARTS + 1)),
    ):
        with pytest.raises(TooMuch):
            reader.traces(nested(field(2, inner)))
    with pytest.raises(TooMuch):
        reader.logs(nested(field(2, b"\x32\x00" * (MOST_PARTS + 1))))


def test_what_is_large_and_usual_is_read() -> None:
    """Megabytes of records, with unknown fields of every kind of the wire beside them."""
    some = [span(attributes=[KeyValue(key="a", value=AnyValue(string_value="x" * 300))])] * 5000
    extra = b"\x98\x06\x07" + b"\x99\x06" + bytes(8) + b"\x9d\x06" + bytes(4) + b"\x9a\x06\x01z"
    data = traces(*some).SerializeToString() + extra
    assert len(WireReader(WANTED).traces(data).records) == 5000
    lines = logs(*[LogRecord(event_name="x" * 300)] * 5000).SerializeToString() + extra
    assert len(WireReader(WANTED).logs(lines).records) == 5000


@pytest.mark.parametrize(
    "data",
    [
        bytes(2**20),  # a tag of no field
        b"\x0b" * 2**20,  # a group without an end
        b"\xff" * 2**20,  # a number without an end
        nested(field(2, b"\xff" * 2**19)),  # a record that is none
        field(1, b"\x0a" + b"\xff" * 2**19),  # a resource that ends too early
    ],
)
def test_what_is_no_message_is_malformed_however_large(data: bytes) -> None:
    """At once: nobody walks through a megabyte of it."""
    for read in (WireReader(WANTED).traces, WireReader(WANTED).logs):
        began = time.process_time()
        with pytest.raises(Malformed):
            read(data)
        assert time.process_time() - began < 1


def test_random_bytes_of_a_large_message_are_refused_or_read() -> None:
    """Flipped bytes anywhere raise nothing else."""
    rng = random.Random(3)
    whole = traces(*[span(events=[Span.Event(name="e" * 90)])] * 2000).SerializeToString()
    outcomes = set()
    for _ in range(25):
        data = bytearray(whole)
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            WireReader(WANTED).traces(bytes(data))
            outcomes.add("read")
        except Malformed:
            outcomes.add("malformed")
    assert outcomes == {"read", "malformed"}


def array(values: int) -> AnyValue:
    """A list of so many empty values."""
    return AnyValue(array_value=ArrayValue(values=[AnyValue()] * values))


def body_of(value: AnyValue) -> object:
    """The body of a log record as it is read."""
    (record,) = WireReader(WANTED).logs(logs(LogRecord(body=value)).SerializeToString()).records
    assert isinstance(record, OurLog)
    return record.body


@pytest.mark.parametrize("whole", [True, False])
def test_a_structure_of_more_than_a_megabyte_is_cut(*, whole: bool) -> None:
    """Two bytes a value become fifty; a text of any length is read."""
    values = LARGEST_STRUCTURE // 2 + (-10 if whole else 1)
    found = span(attributes=[KeyValue(key="a", value=array(values))])
    (record,) = WireReader(WANTED).traces(traces(found).SerializeToString()).records
    for value in (record.attributes["a"], body_of(array(values))):
        assert (value == [None] * values) if whole else (value is CUT)


def test_a_long_text_is_read_whole() -> None:
    """In attributes and bodies, and where the key is long too; what is no text is cut."""
    text = "é" * 2**20
    assert body_of(AnyValue(string_value=text)) == text
    assert body_of(AnyValue(bytes_value=bytes(2**21))) is CUT
    name = "k" * 200
    made = [KeyValue(key=key, value=AnyValue(string_value=text)) for key in ("a", name)]
    record = LogRecord(attributes=made)
    (read,) = WireReader(frozenset({"a", name})).logs(logs(record).SerializeToString()).records
    assert read.attributes == {"a": text, name: CUT}  # such a key takes parsing


def test_the_values_of_a_request_are_counted_together() -> None:
    """Each list is small enough; beyond a million values of them all, the rest is cut."""
    large = KeyValue(key="a", value=array(500_000))
    small = KeyValue(key="a", value=array(300))
    reader = WireReader(WANTED)
    for _ in range(2):  # the next request has its own allowance
        request = logs(*(LogRecord(attributes=[each]) for each in (large, small, large, small)))
        found = reader.logs(request.SerializeToString()).records
        assert [record.attributes["a"] is CUT for record in found] == [False, False, True, False]
    pairs = KeyValueList(values=[KeyValue(key="k")] * 200_000)
    request = logs(*[LogRecord(body=AnyValue(kvlist_value=pairs))] * 6)
    bodies = [each.body for each in reader.logs(request.SerializeToString()).records]  # type: ignore[union-attr]
    assert [body is CUT for body in bodies] == [False] * (MOST_VALUES // 200_000) + [True]


def test_what_was_cut_for_want_of_room_is_read_next_time() -> None:
    """An attribute, a resource and a scope that repeat are not remembered as cut."""
    small = KeyValue(key="a", value=array(3))
    large = KeyValue(key="a", value=array(500_000))
    request = traces(*[span(attributes=[large])] * 2)
    request.MergeFrom(traces(span(attributes=[small])))
    last_one = request.resource_spans[1]
    last_one.resource.attributes.append(small)
    last_one.scope_spans[0].scope.attributes.append(small)
    reader = WireReader(WANTED)
    exhausted = reader.traces(request.SerializeToString()).records
    last = exhausted[-1]
    assert [record.attributes["a"] is CUT for record in exhausted[:2]] == [False, False]
    assert last.source.resource_attributes == {"a": CUT}
    assert last.source.scope_attributes == {"a": CUT}
    assert last.attributes == {"a": CUT}
    del request.resource_spans[0]
    (read,) = reader.traces(request.SerializeToString()).records
    whole = {"a": [None] * 3}
    assert read.attributes == read.source.resource_attributes == whole
    assert read.source.scope_attributes == whole


def test_json_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    """Commas and brackets are counted: no more values are made than there are of them."""
    for many in (b"1,", b"[],", b"{},"):
        data = b'{"resourceSpans":[' + many * (MOST_SEPARATORS // (len(many) - 1) + 1) + b"1]}"
        with pytest.raises(TooMuch, match="more than 4,000,000 values"):
            read_request(data, "traces", WANTED)
    text = json.dumps({"resourceSpans": [], "other": "," * 300_000}).encode()
    assert read_request(text, "traces", WANTED).records == []


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda: read_request(b'{"resourceLogs": []}', "traces", WANTED), "no resourceSpans"),
        (lambda: read_request(b'{"resourceSpans": []}', "logs", WANTED), "no resourceLogs"),
        (lambda: read_request(b"[]", "logs", WANTED), "not a JSON object"),
    ],
)
def test_json_of_another_signal_is_malformed(read: Callable[[], object], told: str) -> None:
    """What it holds would be lost in silence."""
    with pytest.raises(Malformed, match=told):
        read()
    assert read_request(b'{"unknown": 1}', "logs", WANTED).records == []


def test_records_in_json_are_counted_too() -> None:
    """Spans, their events and log records; in a file there may be more."""
    ids = f'"traceId": "{"1" * 32}", "spanId": "{"1" * 16}"'
    events = ",".join(["{}"] * (MOST_RECORDS + 1))
    span_ = (
        f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{{ids}, "events": [{events}]}}]}}]}}]}}'
    )
    with pytest.raises(TooMuch, match="more than 100,000"):
        read_request(span_.encode(), "traces", WANTED)
    assert read_line(span_, WANTED).events == MOST_RECORDS + 1
    log = f'{{"resourceLogs": [{{"scopeLogs": [{{"logRecords": [{events}]}}]}}]}}'
    with pytest.raises(TooMuch, match="more than 100,000"):
        read_request(log.encode(), "logs", WANTED)
