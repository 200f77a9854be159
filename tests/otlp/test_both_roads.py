"""Protobuf and JSON give the same records and the same digests."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanward.item import CUT
from spanward.otlp.record import LogRecord as OurLog
from tests.otlp.roads import by_json, by_wire, logs, traces

KEYS = st.sampled_from(["a", "b.c", "hangar.seq", "é", "x" * 200, ""])
WANTED = frozenset(["a", "hangar.seq", "é", "x" * 200])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.sampled_from([b"", b"short", bytes(8), bytes(16), b"8 bytes!", b"sixteen bytes..!"])
TIMES = st.integers(0, 2**64 - 1)


def any_values() -> st.SearchStrategy[AnyValue]:
    """Every kind of attribute value, empty ones and nested ones included."""
    scalars = st.one_of(
        st.just(AnyValue()),
        st.builds(AnyValue, string_value=TEXT),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
        st.builds(AnyValue, double_value=st.floats(allow_nan=False)),
        st.builds(AnyValue, bytes_value=st.binary(max_size=5)),
    )

    def nested(inner: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
        return st.one_of(
            st.lists(inner, max_size=3).map(_array),
            st.lists(st.tuples(KEYS, inner), max_size=3).map(_kvlist),
        )

    return st.recursive(scalars, nested, max_leaves=6)


def _array(values: list[AnyValue]) -> AnyValue:
    made = AnyValue()
    made.array_value.values.extend(values)
    made.array_value.SetInParent()
    return made


def _kvlist(pairs: list[tuple[str, AnyValue]]) -> AnyValue:
    made = AnyValue()
    made.kvlist_value.values.extend(KeyValue(key=key, value=value) for key, value in pairs)
    made.kvlist_value.SetInParent()
    return made


ATTRIBUTES = st.lists(st.builds(KeyValue, key=KEYS, value=any_values()), max_size=5)

SPANS: st.SearchStrategy[Any] = st.builds(
    Span,
    trace_id=IDS,
    span_id=IDS,
    parent_span_id=IDS,
    name=TEXT,
    start_time_unix_nano=TIMES,
    end_time_unix_nano=TIMES,
    attributes=ATTRIBUTES,
    dropped_attributes_count=st.integers(0, 2),
    events=st.lists(
        st.builds(Span.Event, name=TEXT, time_unix_nano=TIMES, attributes=ATTRIBUTES), max_size=2
    ),
)

LOGS: st.SearchStrategy[Any] = st.builds(
    LogRecord,
    time_unix_nano=st.sampled_from([0, 5, 2**64 - 1]),
    observed_time_unix_nano=TIMES,
    severity_number=st.integers(0, 24),
    severity_text=TEXT,
    body=any_values(),
    attributes=ATTRIBUTES,
    dropped_attributes_count=st.integers(0, 2),
    flags=st.integers(0, 2**32 - 1),
    trace_id=IDS,
    span_id=IDS,
    event_name=TEXT,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(SPANS, max_size=3), st.sampled_from(["agent", "spanward"]))
def test_spans_are_the_same_by_both_roads(spans: list[Span], scope: str) -> None:
    """Records, rejections and counts agree for any spans."""
    message = traces(*spans, scope=scope)
    assert by_json(message, WANTED) == by_wire(message, WANTED)


@settings(max_examples=300, deadline=None)
@given(st.lists(LOGS, max_size=3))
def test_log_records_are_the_same_by_both_roads(records: list[LogRecord]) -> None:
    """Records and digests agree for any log records."""
    message = logs(*records)
    assert by_json(message, WANTED) == by_wire(message, WANTED)


def test_numbers_that_are_none_have_one_digest() -> None:
    """NaN equals nothing, but the record that holds it is the same by both roads."""
    doubles = [float("nan"), float("inf"), float("-inf"), -0.0, 5.0, 1e300]
    message = logs(*(LogRecord(body=AnyValue(double_value=double)) for double in doubles))
    wire, line = by_wire(message, WANTED).records, by_json(message, WANTED).records
    digests = [record.digest for record in wire if isinstance(record, OurLog)]
    assert digests == [record.digest for record in line if isinstance(record, OurLog)]
    assert len(set(digests)) == len(doubles)


def test_the_deepest_value_is_the_same_by_both_roads() -> None:
    """One level more is cut on both."""
    for make in (lambda inner: _array([inner]), lambda inner: _kvlist([("k", inner)])):
        value = AnyValue(string_value="deep")
        for _ in range(32):
            value = make(value)
        message = logs(LogRecord(body=value))
        (wire,), (line,) = by_wire(message, WANTED).records, by_json(message, WANTED).records
        assert wire == line
        assert isinstance(wire, OurLog)
        assert wire.body is not CUT
