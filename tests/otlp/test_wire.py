"""The protobuf road: what is decoded, what is left, and what is refused."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from spanward.item import CUT
from spanward.otlp import Malformed
from spanward.otlp.record import LogRecord as OurLog
from spanward.otlp.record import SpanRecord
from spanward.otlp.wire import WireReader
from tests.otlp.roads import SPAN, TRACE, by_wire, logs, span, traces

WANTED = frozenset({"a", "b"})


def one(made: object, wanted: frozenset[str] = WANTED) -> SpanRecord:
    """The record of one span."""
    (record,) = by_wire(traces(made), wanted).records  # type: ignore[arg-type]
    assert isinstance(record, SpanRecord)
    return record


def attribute(key: str, **value: object) -> KeyValue:
    """An attribute, with one kind of value or none."""
    return KeyValue(key=key, value=AnyValue(**value))  # type: ignore[arg-type]


def test_only_wanted_attributes_are_kept() -> None:
    """Others never become values; a key that stands twice has its last value."""
    made = span(
        attributes=[
            attribute("a", string_value="first"),
            attribute("nobody", string_value="x"),
            attribute("a", string_value="last"),
            attribute("b"),
        ]
    )
    assert one(made).attributes == {"a": "last"}


def test_a_key_that_cannot_be_peeked_at_is_parsed() -> None:
    """A long key, fields in another order, an empty attribute: decoded all the same."""
    long_key = "k" * 300
    value_first = b"\x12\x03\x0a\x01v\x0a\x01a"
    request = traces(span(attributes=[attribute(long_key, int_value=7)]))
    assert by_wire(request, frozenset({long_key})).records[0].attributes == {long_key: 7}
    data = traces(span(attributes=[attribute("a", string_value="v")])).SerializeToString()
    plain = attribute("a", string_value="v").SerializeToString()
    assert len(plain) == len(value_first)
    (record,) = WireReader(WANTED).traces(data.replace(plain, value_first)).records
    assert record.attributes == {"a": "v"}


def test_what_repeats_is_remembered_within_bounds() -> None:
    """The memory of attributes and of sources is bounded, however many there are."""
    reader = WireReader(WANTED)
    for number in range(9000):
        made = span(attributes=[attribute("a", string_value=f"v{number}")])
        request = traces(made, scope=f"scope {number % 300}")
        (record,) = reader.traces(request.SerializeToString()).records
        assert record.attributes == {"a": f"v{number}"}
    assert len(reader._known) <= 8192
    assert len(reader._sources) <= 256


def test_long_values_are_not_remembered() -> None:
    """They seldom repeat, and would be held for nothing."""
    reader = WireReader(WANTED)
    made = span(attributes=[attribute("a", string_value="x" * 1000)])
    reader.traces(traces(made).SerializeToString())
    assert not reader._known


def test_a_value_that_cannot_be_read_is_cut() -> None:
    """Nested too deep, or no AnyValue at all: there, but not known; the span is taken."""
    deep = AnyValue()
    value = deep
    for _ in range(33):
        value = value.array_value.values.add()
    assert one(span(attributes=[KeyValue(key="a", value=deep)])).attributes == {"a": CUT}
    good = attribute("a", string_value="abcd").SerializeToString()
    bad = good[:5] + b"\x0a\x7f" + good[7:]
    data = traces(span(attributes=[attribute("a", string_value="abcd")])).SerializeToString()
    (record,) = WireReader(WANTED).traces(data.replace(good, bad)).records
    assert record.attributes == {"a": CUT}


def test_a_cut_value_whose_key_cannot_be_seen_is_nobodys() -> None:
    """An attribute of which nothing can be read gives nothing."""
    key = "k" * 200
    good = attribute(key, string_value="abcd").SerializeToString()
    bad = good[:-6] + b"\x0a\x7f" + good[-4:]
    data = traces(span(attributes=[attribute(key, string_value="abcd")])).SerializeToString()
    (record,) = WireReader(frozenset({key})).traces(data.replace(good, bad)).records
    assert record.attributes == {}


def test_a_deep_log_body_is_cut() -> None:
    """A body is bounded like any other value, and a broken one loses no record."""
    good = AnyValue(string_value="x" * 100)
    data = logs(LogRecord(body=good)).SerializeToString()
    deep = b"\x0a\x60" + b"x" * 96
    bodies = []
    for levels in (b"\x2a\x64\x0a\x62" + deep, b"\x0a\x7f" + b"x" * 100):
        broken = data.replace(good.SerializeToString(), levels)
        (record,) = WireReader(WANTED).logs(broken).records
        assert isinstance(record, OurLog)
        bodies.append(record.body)
    assert bodies == [["x" * 96], CUT]


def test_a_log_body_of_many_levels_is_cut() -> None:
    """As many levels as the parser takes, but more than are read."""
    body = AnyValue()
    value = body
    for _ in range(40):
        value = value.array_value.values.add()
    (record,) = by_wire(logs(LogRecord(body=body)), WANTED).records
    assert isinstance(record, OurLog)
    assert record.body is CUT


def test_bad_characters_lose_nothing() -> None:
    """Bytes that are no UTF-8 in a name or a value are replaced, not refused."""
    data = traces(span(name="abc", attributes=[attribute("a", string_value="xyz")]))
    broken = data.SerializeToString().replace(b"abc", b"a\xffc").replace(b"xyz", b"x\xc3z")
    (record,) = WireReader(WANTED).traces(broken).records
    assert isinstance(record, SpanRecord)
    assert record.name == "a\ufffdc"
    assert record.attributes == {"a": "x\ufffdz"}


def test_status_times_and_parent() -> None:
    """Only an error is an error; a span never ends before it starts; a bad parent is none."""
    assert one(span(status=Status(code=Status.STATUS_CODE_ERROR))).error
    assert not one(span(status=Status(code=Status.STATUS_CODE_OK))).error
    backwards = one(span(start_time_unix_nano=9, end_time_unix_nano=4))
    assert (backwards.start_ns, backwards.end_ns) == (9, 9)
    assert one(span(parent_span_id=SPAN)).parent_id == SPAN
    assert one(span(parent_span_id=b"x")).parent_id == b""


def test_bad_ids_are_rejected_by_reason() -> None:
    """The reasons are the labels of the counter."""
    bad = [span(trace_id=b""), span(trace_id=bytes(16)), span(span_id=bytes(8)), span()]
    batch = by_wire(traces(*bad), WANTED)
    assert batch.rejected == {"trace_id": 2, "span_id": 1}
    assert len(batch.records) == 1


def test_left_out_attributes_are_counted() -> None:
    """The sender says that its evidence is incomplete."""
    batch = by_wire(traces(span(dropped_attributes_count=2), span()), WANTED)
    assert batch.dropped == 1


def test_a_verdict_span_is_read_whole() -> None:
    """What may be a verdict of ours keeps every attribute; the same name elsewhere does not."""
    made = span(name="spanward.verdict", attributes=[attribute("x", bool_value=True)])
    for scope, expected in (("spanward", {"x": True}), ("other", {})):
        (record,) = by_wire(traces(made, scope=scope), WANTED).records
        assert record.attributes == expected


def test_a_log_record_has_its_time_or_the_observed_one() -> None:
    """Codex sends only the observed time."""
    records = by_wire(
        logs(
            LogRecord(time_unix_nano=5, observed_time_unix_nano=7, trace_id=TRACE),
            LogRecord(observed_time_unix_nano=7, trace_id=b"odd"),
        ),
        WANTED,
    ).records
    assert [record.time_ns for record in records if isinstance(record, OurLog)] == [5, 7]
    assert [record.trace_id for record in records] == [TRACE, b""]


def test_the_digest_is_of_the_whole_record() -> None:
    """Any difference makes another record, wanted or not; the same record has the same digest."""
    same = LogRecord(time_unix_nano=1, attributes=[attribute("nobody", int_value=1)])
    other = LogRecord(time_unix_nano=1, attributes=[attribute("nobody", int_value=2)])
    records = by_wire(logs(same, same, other), WANTED).records
    digests = [record.digest for record in records if isinstance(record, OurLog)]
    assert digests[0] == digests[1] != digests[2]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_malformed_or_nothing(data: bytes) -> None:
    """No bytes raise anything but ``Malformed``."""
    reader = WireReader(WANTED)
    for read in (reader.traces, reader.logs):
        with contextlib.suppress(Malformed):
            read(data)


def test_mutated_requests_are_malformed_or_read() -> None:
    """Flipped and cut bytes raise nothing but ``Malformed``."""
    rng = random.Random(7)
    whole = traces(
        span(attributes=[attribute("a", string_value="x"), attribute("b", int_value=3)])
    ).SerializeToString()
    outcomes = set()
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = bytes(data[: rng.randint(1, len(data))])
        try:
            WireReader(WANTED).traces(cut)
            outcomes.add("read")
        except Malformed:
            outcomes.add("malformed")
    assert outcomes == {"read", "malformed"}


def test_logs_that_are_no_logs_are_malformed() -> None:
    """The same refusal on the other service."""
    with pytest.raises(Malformed):
        WireReader(WANTED).logs(b"\xff\xff\xff")
