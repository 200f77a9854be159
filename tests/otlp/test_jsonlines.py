"""The JSON road: OTLP/JSON as collectors and runtimes write it, and what is no such line."""

from __future__ import annotations

import contextlib
import json
import math
import random
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
        ({"intValue": "-" + "9" * 18}, -999999999999999999),
        ({"intValue": "1_0"}, CUT),
        ({"intValue": "\u0661"}, CUT),
        ({"intValue": math.inf}, CUT),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": 1.5}, 1.5),
        ({"doubleValue": "-1.5e3"}, -1500.0),
        ({"doubleValue": "Infinity"}, math.inf),
        ({"doubleValue": 10**400}, CUT),
        ({"doubleValue": "1" + "0" * 5000}, CUT),
        ({"doubleValue": True}, CUT),
        ({"doubleValue": "x"}, CUT),
        ({"doubleValue": "1_0"}, CUT),
        ({"doubleValue": []}, CUT),
        ({"boolValue": False}, False),
        ({"boolValue": "true"}, CUT),
        ({"bytesValue": "AAEC"}, "AAEC"),
        ({"bytesValue": "-_8"}, "+/8="),
        ({"bytesValue": "+/8="}, "+/8="),
        ({"bytesValue": "A"}, CUT),
        ({"bytesValue": "\ud800"}, CUT),
        ({"bytesValue": 1}, CUT),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}, None]}}, [1, None, None]),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "x"}]}}, CUT),
        ({"arrayValue": {"values": [1]}}, CUT),
        ({"arrayValue": {"values": 3}}, CUT),
        ({"arrayValue": {}}, []),
        ({"arrayValue": 3}, CUT),
        ({"kvlistValue": {"values": [1]}}, CUT),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({"kvlistValue": {"values": [{"key": "k"}]}}, {"k": None}),
        ({}, None),
        (None, None),
        ("text", CUT),
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
            status={"code": "STATUS_CODE_ERROR"},
            startTimeUnixNano="7",
            endTimeUnixNano=9,
            droppedAttributesCount=2,
        )
    )
    assert record.trace_id.hex() == TRACE
    assert record.error
    assert (record.start_ns, record.end_ns) == (7, 9)
    assert one(span_line(status={"code": 2})).error
    assert not one(span_line(status={"code": "STATUS_CODE_OK"})).error
    assert one(span_line(status={"code": 2.0})).error
    assert not one(span_line(status={"code": [2]})).error
    odd = one(span_line(startTimeUnixNano=-5, endTimeUnixNano=True))
    assert (odd.start_ns, odd.end_ns) == (0, 0)
    assert one(span_line(startTimeUnixNano=1.7e18)).start_ns == 1_700_000_000_000_000_000
    assert one(span_line(startTimeUnixNano=0.5)).start_ns == 0
    assert one(span_line(startTimeUnixNano="9" * 5000)).start_ns == 0
    assert one(span_line(startTimeUnixNano=10**300)).start_ns == 2**63 - 1


def test_events_have_their_time_and_wanted_attributes() -> None:
    """As on the wire."""
    attributes = [{"key": key, "value": {"intValue": 1}} for key in ("a", "nobody")]
    event = {"name": "e", "timeUnixNano": str(2**64 - 1), "attributes": attributes}
    first, second = one(span_line(events=[event, {}])).events
    assert (first.name, first.time_ns, first.attributes) == ("e", 2**63 - 1, {"a": 1})
    assert (second.name, second.time_ns, second.attributes) == ("", 0, {})


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
    long_name = log_line(severityNumber=info + "2" * 5000)
    assert [record.digest for record in read_line(long_name, WANTED).records] == [digests[5]]  # type: ignore[union-attr]


def test_a_resource_is_read_once_for_all_its_scopes() -> None:
    """Else a line could cost its size squared."""
    made = {"traceId": TRACE, "spanId": SPAN}
    attributes = [{"key": "a", "value": {"intValue": 1}}]
    scopes = [{"scope": {"name": name}, "spans": [made]} for name in ("one", "two")]
    resource = {"resource": {"attributes": attributes}, "scopeSpans": scopes}
    first, second = read_line(json.dumps({"resourceSpans": [resource]}), WANTED).records
    assert (first.source.scope, second.source.scope) == ("one", "two")
    assert first.source.resource_attributes == {"a": 1}
    assert first.source.resource_attributes is second.source.resource_attributes


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


NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), 2**63, 2**64, 1.7e18])
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    NUMBERS.map(str),
    st.text(max_size=5),
    st.sampled_from(
        ["\ud800", "-_8", "9" * 5000, "SEVERITY_NUMBER_INFO" + "2" * 5000, [], {}, [1]]
    ),
)
VALUES = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue",
             "kvlistValue", "values", "key", "value"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip
FIELDS = st.sampled_from(
    ["traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano", "flags",
     "droppedAttributesCount", "timeUnixNano", "observedTimeUnixNano", "severityNumber",
     "severityText", "body", "eventName", "status", "events"]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(VALUES, st.dictionaries(FIELDS, ODD, max_size=4))
def test_any_value_is_taken_cut_or_unreadable(value: Any, fields: dict[str, Any]) -> None:
    """Whatever a value or a field is; and what is taken can be written as UTF-8."""
    fields = {**fields, "attributes": [{"key": "a", "value": value}]}
    for line in (span_line(**fields), log_line(**{"body": value, **fields})):
        with contextlib.suppress(Unreadable):
            for record in read_line(line, WANTED).records:
                json.dumps(record.attributes, ensure_ascii=False, default=repr).encode()


def test_mutated_lines_are_read_or_unreadable() -> None:
    """Changed and cut characters raise nothing but ``Unreadable``."""
    rng = random.Random(7)
    attributes = [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}]
    whole = [span_line(attributes=attributes), log_line(attributes=attributes, flags=1)]
    outcomes = set()
    for _ in range(3000):
        line = list(rng.choice(whole))
        for _ in range(rng.randint(1, 3)):
            line[rng.randrange(len(line))] = rng.choice('{}[]",:0e\\ \ud800')
        try:
            read_line("".join(line[: rng.choice([len(line), rng.randint(1, len(line))])]), WANTED)
            outcomes.add("read")
        except Unreadable:
            outcomes.add("unreadable")
    assert outcomes == {"read", "unreadable"}


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
