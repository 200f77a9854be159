"""The JSON road: OTLP/JSON as collectors and runtimes write it, and what is no such line."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanward.item import CUT
from spanward.otlp import Unreadable
from spanward.otlp.jsonlines import read_line
from spanward.otlp.record import LogRecord, SpanRecord

WANTED = frozenset({"a"})
TRACE = "0102030405060708090a0b0c0d0e0f10"
SPAN = "0102030405060708"


def span_line(**fields: Any) -> str:
    """A line with one span."""
    made = {"traceId": TRACE, "spanId": SPAN, "name": "s", **fields}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]})


def log_line(**fields: Any) -> str:
    """A line with one log record."""
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [fields]}]}]})


def one(line: str) -> SpanRecord:
    """The record of a line with one span."""
    (record,) = read_line(line, WANTED).records
    assert isinstance(record, SpanRecord)
    return record


def value_of(value: Any) -> Any:
    """What a span's attribute becomes."""
    attributes = one(span_line(attributes=[{"key": "a", "value": value}])).attributes
    return attributes.get("a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"stringValue": "\ud800"}, "\ufffd"),
        ({"stringValue": 3}, CUT),
        ({"intValue": "42"}, 42),
        ({"intValue": 42}, 42),
        ({"intValue": 42.0}, 42),
        ({"intValue": 4.5}, CUT),
        ({"intValue": True}, CUT),
        ({"intValue": "abc"}, CUT),
        ({"intValue": "9" * 19}, CUT),
        ({"intValue": "9" * 5000}, CUT),
        ({"intValue": 2**63}, CUT),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": "Infinity"}, math.inf),
        ({"doubleValue": "x"}, CUT),
        ({"doubleValue": []}, CUT),
        ({"boolValue": False}, False),
        ({"boolValue": "true"}, CUT),
        ({"bytesValue": "AAEC"}, "AAEC"),
        ({"bytesValue": 1}, CUT),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, [1, None]),
        ({"arrayValue": {}}, []),
        ({"arrayValue": 3}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({"kvlistValue": {"values": [{"key": "k"}]}}, {"k": None}),
        ({}, None),
        (None, None),
        ("text", None),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    """Every kind of AnyValue, as it should be and as it should not."""
    found = value_of(value)
    assert found is CUT if expected is CUT else found == expected
    assert type(found) is type(expected)


def test_a_deep_value_is_cut() -> None:
    """Deeper than protobuf itself would go: there, but not known."""
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(33):
        value = {"arrayValue": {"values": [value]}}
    assert value_of(value) is CUT
    assert value_of(value["arrayValue"]["values"][0]) is not CUT


def test_ids_status_and_times() -> None:
    """Hex of any case, enums as names or numbers, times as text or numbers."""
    record = one(
        span_line(
            traceId=TRACE.upper(),
            parentSpanId="zz",
            status={"code": "STATUS_CODE_ERROR"},
            startTimeUnixNano="7",
            endTimeUnixNano=9,
            droppedAttributesCount=2,
        )
    )
    assert record.trace_id.hex() == TRACE
    assert record.parent_id == b""
    assert record.error
    assert (record.start_ns, record.end_ns) == (7, 9)
    assert one(span_line(status={"code": 2})).error
    assert not one(span_line(status={"code": "STATUS_CODE_OK"})).error
    assert one(span_line(startTimeUnixNano=-5, endTimeUnixNano=True)).start_ns == 0


def test_bad_ids_are_rejected() -> None:
    """As on the wire."""
    assert read_line(span_line(traceId="00"), WANTED).rejected == {"trace_id": 1}
    assert read_line(span_line(spanId=7), WANTED).rejected == {"span_id": 1}


def test_dropped_attributes_are_counted() -> None:
    """The sender says that its evidence is incomplete."""
    assert read_line(span_line(droppedAttributesCount=3), WANTED).dropped == 1
    assert read_line(log_line(droppedAttributesCount="1"), WANTED).dropped == 1


def test_severities_have_names_or_numbers() -> None:
    """Both are the same record; a name that is none is no severity."""
    info, other = "SEVERITY_NUMBER_INFO", "SEVERITY_NUMBER_INFO2"
    numbers: list[Any] = [9, info, 10, other, "NONSENSE", 0, []]
    digests = [
        record.digest
        for number in numbers
        for record in read_line(log_line(severityNumber=number), WANTED).records
        if isinstance(record, LogRecord)
    ]
    assert digests[0] == digests[1]
    assert digests[2] == digests[3]
    assert digests[4] == digests[5] == digests[6]
    assert len(set(digests)) == 3


def test_what_is_no_event_of_ours_is_left() -> None:
    """Metrics, an empty object and a byte order mark are fine, and empty."""
    for line in ('{"resourceMetrics": []}', "{}", b'\xef\xbb\xbf{"resourceSpans": null}'):
        assert read_line(line, WANTED).records == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("[]", "not a JSON object"),
        ('{"spans": []}', "not OTLP: neither resourceSpans nor resourceLogs"),
        ('{"resourceSpans": {}}', "resourceSpans is not a list of objects"),
        ('{"resourceSpans": [1]}', "resourceSpans is not a list of objects"),
        ('{"resourceSpans": [{"scopeSpans": [{"scope": 1}]}]}', "scope is not an object"),
        ("[" * 100_000, "nested too deep"),
        ('{"resourceSpans": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    ],
)
def test_unreadable_lines_say_why(line: str | bytes, why: str) -> None:
    """The words are for a person who looks at the file."""
    with pytest.raises(Unreadable) as error:
        read_line(line, WANTED)
    assert str(error.value) == why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords",
             "attributes", "key", "value", "traceId", "events", "status", "code", "arrayValue",
             "values", "kvlistValue", "severityNumber", "scope", "resource"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(JSON)
def test_any_json_is_read_or_unreadable(value: Any) -> None:
    """Nothing but ``Unreadable`` is raised, whatever stands where."""
    with contextlib.suppress(Unreadable):
        read_line(json.dumps(value), WANTED)
