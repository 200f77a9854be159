"""OTLP protobuf to records: only what somebody asks for is decoded."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError

from spanward.item import CUT, Attributes
from spanward.otlp import view
from spanward.otlp.assembly import (
    OWN_SCOPE,
    OWN_SPAN,
    SPAN_ID_BYTES,
    STATUS_ERROR,
    Assembly,
    identifier,
    moment,
)
from spanward.otlp.malformed import Malformed
from spanward.otlp.record import Batch, EventRecord, Source, SpanRecord
from spanward.otlp.values import DEEPEST, INT64_MAX, TooDeepError, as_text

_MOST_KNOWN: Final = 8192
"""Attributes remembered, wanted or not. What repeats comes back soon after it is forgotten."""
_LONGEST_KNOWN: Final = 256
"""Bytes of an attribute that is remembered; longer ones seldom repeat."""
_MOST_SOURCES: Final = 256
"""Pairs of resource and scope remembered."""

_KEY_FIRST: Final = 0x0A
"""The tag of field 1 (``key``) as a length and bytes: how every encoder begins a KeyValue."""
_ONE_BYTE: Final = 0x80
"""Lengths below this take one byte."""

_Attribute = tuple[str, Any]
_UNWANTED: Final[_Attribute] = ("", None)


class WireReader:
    """Decodes requests for those who want some attributes: ``wanted`` are their names.

    Keeps bounded memories of what it has decoded, for attributes mostly repeat. Not safe for use
    by several threads.
    """

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._wanted_keys = frozenset(name.encode() for name in wanted)
        self._known: dict[bytes, _Attribute] = {}
        self._sources: dict[tuple[bytes, bytes], Source] = {}

    def traces(self, data: bytes) -> Batch:
        """The spans of an ``ExportTraceServiceRequest``. Raises ``Malformed``."""
        assembly = Assembly()
        try:
            for resource in view.parse_traces(data).resource_spans:
                for scope in resource.scope_spans:
                    source = self._source(resource.resource, scope.scope)
                    self._spans(assembly, source, scope.spans)
        except DecodeError as error:
            raise Malformed(str(error)) from None
        return assembly.batch

    def logs(self, data: bytes) -> Batch:
        """The records of an ``ExportLogsServiceRequest``. Raises ``Malformed``."""
        assembly = Assembly()
        try:
            for resource in view.parse_logs(data).resource_logs:
                for scope in resource.scope_logs:
                    source = self._source(resource.resource, scope.scope)
                    for record in scope.log_records:
                        self._log(assembly, source, record)
        except DecodeError as error:
            raise Malformed(str(error)) from None
        return assembly.batch

    def _spans(self, assembly: Assembly, source: Source, spans: Any) -> None:
        """Read the spans of one scope; one loop, for a call a span is what would cost most."""
        add = assembly.batch.records.append
        may_be_own = source.scope == OWN_SCOPE
        for span in spans:
            trace_id, span_id = span.trace_id, span.span_id
            if not assembly.accepts(trace_id, span_id):
                continue
            if span.dropped_attributes_count:
                assembly.batch.dropped += 1
            name = span.name.decode("utf-8", "replace")
            own = may_be_own and name == OWN_SPAN
            events = span.events
            start, end = span.start_time_unix_nano, span.end_time_unix_nano
            if start > INT64_MAX or end > INT64_MAX:
                start, end = moment(start), moment(end)
            add(
                SpanRecord(
                    source,
                    trace_id,
                    span_id,
                    identifier(span.parent_span_id, SPAN_ID_BYTES),
                    name,
                    start,
                    max(start, end),
                    span.status.code == STATUS_ERROR,
                    (_everything if own else self._attributes)(span.attributes),
                    tuple(map(self._event, events)) if events else (),
                )
            )

    def _event(self, event: Any) -> EventRecord:
        time = moment(event.time_unix_nano)
        return EventRecord(_text(event.name), time, self._attributes(event.attributes))

    def _log(self, assembly: Assembly, source: Source, record: Any) -> None:
        if record.dropped_attributes_count:
            assembly.batch.dropped += 1
        said = {
            "time": record.time_unix_nano,
            "observed": record.observed_time_unix_nano,
            "severity": record.severity_number,
            "severity_text": _text(record.severity_text),
            "body": _whole_value(record.body),
            "attributes": _everything(record.attributes),
            "flags": record.flags,
            "trace": record.trace_id,
            "span": record.span_id,
            "event_name": _text(record.event_name),
        }
        assembly.log(source, said, self._wanted)

    def _source(self, resource: bytes, scope: bytes) -> Source:
        source = self._sources.get((resource, scope))
        if source is not None:
            return source
        read = view.parse_scope(scope)
        source = Source(
            _text(read.name),
            _text(read.version),
            self._attributes(read.attributes),
            self._attributes(view.parse_resource(resource).attributes),
        )
        if len(self._sources) >= _MOST_SOURCES:
            self._sources.clear()
        self._sources[resource, scope] = source
        return source

    def _attributes(self, raw_attributes: Any) -> Attributes:
        """The wanted ones of some raw attributes; a key that stands twice has its last value."""
        found: Attributes = {}
        known = self._known
        for raw in raw_attributes:
            attribute = known.get(raw)
            if attribute is None:
                attribute = self._read(raw)
            if attribute is not _UNWANTED:
                found[attribute[0]] = attribute[1]
        return found

    def _read(self, raw: bytes) -> _Attribute:
        key = _visible_key(raw)
        if key is None or key in self._wanted_keys:
            attribute = _decode(raw)
            if attribute[0] not in self._wanted or attribute[1] is None:
                attribute = _UNWANTED
        else:
            attribute = _UNWANTED
        if len(raw) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[raw] = attribute
        return attribute


def _visible_key(raw: bytes) -> bytes | None:
    """The key of an attribute where it can be seen without parsing; None where it cannot."""
    if len(raw) > 1 and raw[0] == _KEY_FIRST and raw[1] < _ONE_BYTE:
        return raw[2 : 2 + raw[1]]
    return None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _everything(raw_attributes: Any) -> Attributes:
    pairs = map(_decode, raw_attributes)
    return {name: value for name, value in pairs if value is not None}


def _decode(raw: bytes) -> _Attribute:
    """Name and value; CUT for a value that is no message, or is nested too deep."""
    try:
        attribute = view.parse_attribute(raw)
        value = attribute.value
        if value.WhichOneof("value") == "string_value":  # nearly all are
            return attribute.key.decode("utf-8", "replace"), _text(value.string_value)
        return _text(attribute.key), _value(value, DEEPEST)
    except (DecodeError, TooDeepError):
        return _text(_visible_key(raw) or b""), CUT


def _whole_value(raw: bytes) -> Any:
    try:
        return _value(view.parse_value(raw), DEEPEST)
    except (DecodeError, TooDeepError):
        return CUT


def _value(value: Any, levels: int) -> Any:
    """The value of an AnyValue; None for an empty one."""
    match value.WhichOneof("value"):
        case "string_value":
            return _text(value.string_value)
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "bytes_value":
            return as_text(value.bytes_value)
        case "array_value":
            _go_deeper(levels)
            return [_value(each, levels - 1) for each in value.array_value.values]
        case "kvlist_value":
            _go_deeper(levels)
            pairs = value.kvlist_value.values
            return {_text(pair.key): _value(pair.value, levels - 1) for pair in pairs}
        case _:
            return None


def _go_deeper(levels: int) -> None:
    if levels == 0:
        raise TooDeepError("nested too deep")
