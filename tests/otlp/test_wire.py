"""The protobuf road: what is decoded, what is left, and what is refused."""

from __future__ import annotations

import contextlib
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from spanward.item import CUT
from spanward.otlp import Malformed
from spanward.otlp.bounds import Allowance
from spanward.otlp.record import LogRecord as OurLog
from spanward.otlp.record import SpanRecord
from spanward.otlp.wire import WireReader
from spanward.otlp.wirevalues import everything
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


def raw_attribute(raw: bytes) -> dict[str, object]:
    """What a span's one attribute becomes that stands in these bytes on the wire."""
    fields = _field(1, TRACE) + _field(2, SPAN) + _field(9, raw)
    data = _field(1, _field(2, _field(2, fields)))
    (record,) = WireReader(WANTED).traces(data).records
    return record.attributes


def _field(number: int, content: bytes) -> bytes:
    low, high = len(content) & 127, len(content) >> 7
    length = bytes([low | 128, high] if high else [low])
    return bytes([number << 3 | 2]) + length + content


def test_every_kind_of_value_becomes_ours() -> None:
    """Bytes are base64 text; an empty value is missing, and null inside another."""
    pairs = KeyValueList(values=[attribute("k", int_value=1), attribute("k"), attribute("")])
    values = ArrayValue(values=[AnyValue(string_value="x"), AnyValue()])
    expected: list[tuple[KeyValue, object]] = [
        (attribute("a", string_value="x"), "x"),
        (attribute("a", bool_value=False), False),
        (attribute("a", int_value=-(2**63)), -(2**63)),
        (attribute("a", double_value=math.inf), math.inf),
        (attribute("a", bytes_value=b"\xfb\xff"), "+/8="),
        (attribute("a", array_value=values), ["x", None]),
        (attribute("a", kvlist_value=pairs), {"k": None, "": None}),
    ]
    for made, value in expected:
        assert one(span(attributes=[made])).attributes == {"a": value}
    assert one(span(attributes=[attribute("a"), KeyValue(key="b")])).attributes == {}


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


def test_a_key_that_stands_twice_in_one_attribute_is_the_last() -> None:
    """As protobuf has it: what is seen first is not taken for the key, wanted or not."""
    value = b"\x12\x03\x0a\x01v"
    assert raw_attribute(b"\x0a\x06nobody" + value + b"\x0a\x01a") == {"a": "v"}
    assert raw_attribute(b"\x0a\x01a" + value + b"\x0a\x06nobody") == {}


def test_unknown_fields_and_padded_lengths_change_nothing() -> None:
    """Both are allowed on the wire, wherever they stand."""
    key, value, unknown = b"\x0a\x01a", b"\x12\x03\x0a\x01v", b"\x9a\x06\x02zz"
    for raw in (
        unknown + key + value,
        key + unknown + value,
        key + value + unknown,
        b"\x0a\x81\x00a" + value,
        key + b"\x12\x83\x80\x00\x0a\x01v",
    ):
        assert raw_attribute(raw) == {"a": "v"}
    overlong = key + b"\x12\x83\x80\x80\x80\x80\x80\x00\x0a\x01v"
    assert raw_attribute(overlong)["a"] in ("v", CUT)  # protobuf 5 reads it, 7 refuses it
    assert raw_attribute(key) == {}
    assert raw_attribute(b"") == {}


def test_long_values_that_nobody_wants_are_passed_over() -> None:
    """Their lengths take two and three bytes."""
    long = [attribute("nobody", string_value="x" * size) for size in (120, 200, 20_000)]
    assert one(span(attributes=[*long, attribute("a", int_value=1)])).attributes == {"a": 1}


def test_what_repeats_is_remembered_within_bounds() -> None:
    """The memories of attributes, resources and scopes are bounded, however many there are."""
    reader = WireReader(WANTED)
    for number in range(9000):
        request = traces(
            span(attributes=[attribute("a", string_value=f"v{number}")]),
            scope=f"scope {number % 300}",
        )
        of_resource = attribute("b", int_value=number % 300)
        request.resource_spans[0].resource.attributes.append(of_resource)
        (record,) = reader.traces(request.SerializeToString()).records
        assert record.attributes == {"a": f"v{number}"}
        assert record.source.scope == f"scope {number % 300}"
        assert record.source.resource_attributes == {"b": number % 300}
    assert len(reader._known) <= 8192
    assert len(reader._resources) <= 256
    assert len(reader._scopes) <= 256


def test_a_resource_or_scope_that_repeats_is_read_once() -> None:
    """Also from one request to the next."""
    reader = WireReader(WANTED)
    request = traces(span())
    request.resource_spans[0].resource.attributes.append(attribute("a", int_value=1))
    request.resource_spans[0].scope_spans[0].scope.attributes.append(attribute("b", int_value=2))
    data = request.SerializeToString()
    (first,), (second,) = reader.traces(data).records, reader.traces(data).records
    assert first.source.resource_attributes == {"a": 1}
    assert first.source.scope_attributes == {"b": 2}
    assert first.source.resource_attributes is second.source.resource_attributes
    assert first.source.scope_attributes is second.source.scope_attributes


def test_a_long_resource_is_read_once_for_all_its_scopes_and_then_forgotten() -> None:
    """Else one request could cost its size squared, and a few could fill the memory."""
    reader = WireReader(WANTED)
    request = traces(span(), scope="x" * 20_000)
    resource = request.resource_spans[0]
    resource.resource.attributes.append(attribute("a", string_value="x" * 20_000))
    for _ in range(3):
        resource.scope_spans.add().spans.append(span())
    records = reader.traces(request.SerializeToString()).records
    assert len(records) == 4
    assert len({id(record.source.resource_attributes) for record in records}) == 1
    assert not reader._resources
    assert list(reader._scopes) == [b""]


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


def test_a_cut_value_keeps_a_long_key() -> None:
    """However long the key that it begins with."""
    key = "k" * 200
    good = attribute(key, string_value="abcd").SerializeToString()
    bad = good[:-6] + b"\x0a\x7f" + good[-4:]
    data = traces(span(attributes=[attribute(key, string_value="abcd")])).SerializeToString()
    (record,) = WireReader(frozenset({key})).traces(data.replace(good, bad)).records
    assert record.attributes == {key: CUT}


def test_an_attribute_of_which_nothing_can_be_read_is_nobodys() -> None:
    """It gives nothing, and the others are taken."""
    for raw in (b"\xff\xff\xff", b"\x12\x02\x0a\x7f", b"\x0a\xff\xff\xff\xff\xff\xff"):
        assert raw_attribute(raw) == {}
    assert raw_attribute(b"\x0a\x05a") == {}


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


def test_status_and_times() -> None:
    """Only an error is an error; a span never ends before it starts."""
    assert one(span(status=Status(code=Status.STATUS_CODE_ERROR))).error
    assert not one(span(status=Status(code=Status.STATUS_CODE_OK))).error
    backwards = one(span(start_time_unix_nano=9, end_time_unix_nano=4))
    assert (backwards.start_ns, backwards.end_ns) == (9, 9)


def test_events_have_their_time_and_wanted_attributes() -> None:
    """In their order, for their index is part of who they are."""
    events = [
        Span.Event(
            name="first",
            time_unix_nano=2**64 - 1,
            attributes=[attribute("a", int_value=1), attribute("nobody", int_value=2)],
        ),
        Span.Event(name="second", time_unix_nano=3),
    ]
    first, second = one(span(events=events)).events
    assert (first.name, first.time_ns, first.attributes) == ("first", 2**63 - 1, {"a": 1})
    assert (second.name, second.time_ns, second.attributes) == ("second", 3, {})


def test_times_beyond_64_bits_with_a_sign_are_clamped() -> None:
    """OTLP's times are unsigned; what is stored is not."""
    far = one(span(start_time_unix_nano=2**64 - 1, end_time_unix_nano=5))
    assert (far.start_ns, far.end_ns) == (2**63 - 1, 2**63 - 1)
    assert one(span(end_time_unix_nano=2**63)).end_ns == 2**63 - 1


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
    batch = by_wire(logs(LogRecord(dropped_attributes_count=2), LogRecord()), WANTED)
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


@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_mutated_requests_are_malformed_or_read(signal: str) -> None:
    """Flipped and cut bytes raise nothing but ``Malformed``."""
    rng = random.Random(7)
    attributes = [attribute("a", string_value="x"), attribute("b", int_value=3)]
    body = AnyValue()
    body.kvlist_value.values.append(KeyValue(key="k", value=AnyValue(bytes_value=b"x")))
    body.kvlist_value.values.add().value.array_value.values.add().double_value = 1.5
    whole = {
        "traces": traces(span(attributes=attributes)).SerializeToString(),
        "logs": logs(LogRecord(attributes=attributes, body=body)).SerializeToString(),
    }[signal]
    outcomes = set()
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = bytes(data[: rng.randint(1, len(data))])
        try:
            getattr(WireReader(WANTED), signal)(cut)
            outcomes.add("read")
        except Malformed:
            outcomes.add("malformed")
    assert outcomes == {"read", "malformed"}


def test_what_is_read_without_parsing_is_what_parsing_reads() -> None:
    """Whole, flipped, cut and repeated bytes of attributes: a shortcut is taken only when safe."""
    rng = random.Random(11)
    values: list[dict[str, Any]] = [{"int_value": -3}]
    values += ({"string_value": "x" * size} for size in (0, 1, 125, 126, 200))
    seen = 0
    for _ in range(5000):
        key = rng.choice(["a", "b", "c", "d" * 128])
        raw = bytearray(attribute(key, **rng.choice(values)).SerializeToString())
        for _ in range(rng.choice([0, 1, 2])):
            place = rng.randrange(len(raw))
            raw[place:place] = rng.choice([b"", bytes(raw[:place])[:6]])
            raw[place] = rng.randrange(256)
        parsed = everything([bytes(raw)], Allowance())
        assert raw_attribute(bytes(raw)) == {name: parsed[name] for name in parsed.keys() & WANTED}
        seen += bool(parsed)
    assert seen


def test_what_is_no_message_is_malformed() -> None:
    """Cut short, a resource that is none, or no message at all; on both services."""
    reader = WireReader(WANTED)
    for data in (b"\xff\xff\xff", b"\x0a\x05\x0a", b"\x0a\x03\x0a\x01\xff"):
        for read in (reader.traces, reader.logs):
            with pytest.raises(Malformed):
                read(data)
    assert reader.traces(b"").records == reader.logs(b"").records == []
