"""OTLP JSON lines to records: one Export request, TracesData or LogsData a line.

The rules of OTLP/JSON: ids are hex, 64-bit integers are decimal text (numbers are accepted), enums
are integers (names are accepted), unknown fields are ignored (OTLP specification, *JSON Protobuf
Encoding*).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from spanward.item import CUT, Attributes
from spanward.otlp.assembly import (
    OWN_SCOPE,
    OWN_SPAN,
    SPAN_ID_BYTES,
    STATUS_ERROR,
    Assembly,
    identifier,
    moment,
)
from spanward.otlp.malformed import Unreadable
from spanward.otlp.record import Batch, EventRecord, Source, SpanRecord
from spanward.otlp.values import (
    DEEPEST,
    TooDeepError,
    clean,
    integer_of,
    parse_json,
)

_KNOWN: Final = ("resourceSpans", "resourceLogs", "resourceMetrics")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*")
_SEVERITIES: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_FINITE_NAMES: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def read_line(line: str | bytes, wanted: frozenset[str]) -> Batch:
    """The records of one line; only wanted attributes are kept.

    Raises ``Unreadable`` when it is not a line of OTLP JSON.
    """
    try:
        text = line if isinstance(line, str) else line.decode("utf-8-sig")
        data = parse_json(text)
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    except TooDeepError:
        raise Unreadable("nested too deep") from None
    except ValueError:
        raise Unreadable("not JSON") from None
    if not isinstance(data, dict):
        raise Unreadable("not a JSON object")
    if data and not any(key in data for key in _KNOWN):
        raise Unreadable("not OTLP: neither resourceSpans nor resourceLogs")
    road = _Road(wanted)
    road.spans(data)
    road.logs(data)
    return road.assembly.batch


class _Road:
    """Reads one line."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.assembly = Assembly()
        self._wanted = wanted

    def spans(self, data: dict[str, Any]) -> None:
        for resource in _objects(data, "resourceSpans"):
            for scope in _objects(resource, "scopeSpans"):
                source = self._source(resource, scope)
                for span in _objects(scope, "spans"):
                    self._span(source, span)

    def logs(self, data: dict[str, Any]) -> None:
        for resource in _objects(data, "resourceLogs"):
            for scope in _objects(resource, "scopeLogs"):
                source = self._source(resource, scope)
                for record in _objects(scope, "logRecords"):
                    self._log(source, record)

    def _source(self, resource: dict[str, Any], scope: dict[str, Any]) -> Source:
        of_scope, of_resource = _object(scope, "scope"), _object(resource, "resource")
        return Source(
            _text(of_scope, "name"),
            _text(of_scope, "version"),
            self._attributes(of_scope),
            self._attributes(of_resource),
        )

    def _span(self, source: Source, span: dict[str, Any]) -> None:
        trace_id, span_id = _bytes(span, "traceId"), _bytes(span, "spanId")
        if not self.assembly.accepts(trace_id, span_id):
            return
        if _integer(span, "droppedAttributesCount"):
            self.assembly.batch.dropped += 1
        name = _text(span, "name")
        own = name == OWN_SPAN and source.scope == OWN_SCOPE
        start = moment(_integer(span, "startTimeUnixNano"))
        self.assembly.batch.records.append(
            SpanRecord(
                source,
                trace_id,
                span_id,
                identifier(_bytes(span, "parentSpanId"), SPAN_ID_BYTES),
                name,
                start,
                max(start, moment(_integer(span, "endTimeUnixNano"))),
                _status(_object(span, "status").get("code")) == STATUS_ERROR,
                dict(_pairs(span)) if own else self._attributes(span),
                tuple(self._event(event) for event in _objects(span, "events")),
            )
        )

    def _event(self, event: dict[str, Any]) -> EventRecord:
        time = moment(_integer(event, "timeUnixNano"))
        return EventRecord(_text(event, "name"), time, self._attributes(event))

    def _log(self, source: Source, record: dict[str, Any]) -> None:
        if _integer(record, "droppedAttributesCount"):
            self.assembly.batch.dropped += 1
        said = {
            "time": _integer(record, "timeUnixNano"),
            "observed": _integer(record, "observedTimeUnixNano"),
            "severity": _severity(record.get("severityNumber")),
            "severity_text": _text(record, "severityText"),
            "body": _whole_value(record.get("body")),
            "attributes": dict(_pairs(record)),
            "flags": _integer(record, "flags"),
            "trace": _bytes(record, "traceId"),
            "span": _bytes(record, "spanId"),
            "event_name": _text(record, "eventName"),
        }
        self.assembly.log(source, said, self._wanted)

    def _attributes(self, owner: dict[str, Any]) -> Attributes:
        return dict(_pairs(owner, self._wanted))


def _object(owner: dict[str, Any], key: str) -> dict[str, Any]:
    found = owner.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Unreadable(f"{key} is not an object")
    return found


def _objects(owner: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = owner.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unreadable(f"{key} is not a list of objects")
    return found


def _text(owner: dict[str, Any], key: str) -> str:
    found = owner.get(key)
    return clean(found) if isinstance(found, str) else ""


def _bytes(owner: dict[str, Any], key: str) -> bytes:
    found = owner.get(key)
    if not isinstance(found, str) or _HEX.fullmatch(found) is None:
        return b""
    return bytes.fromhex(found)


def _integer(owner: dict[str, Any], key: str) -> int:
    """An unsigned integer, as a number or as text; 0 for anything else."""
    found = owner.get(key)
    if (
        isinstance(found, str)
        and found.isascii()
        and found.isdigit()
        and len(found) <= len(str(2**64))
    ):
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _status(code: Any) -> int:
    if code == "STATUS_CODE_ERROR":
        return STATUS_ERROR
    return code if isinstance(code, int) else 0


def _severity(number: Any) -> int:
    if not isinstance(number, str):
        return number if isinstance(number, int) else 0
    name = number.removeprefix("SEVERITY_NUMBER_")
    level = name.rstrip("234")
    step = int(name[len(level) :] or 1)
    return _SEVERITIES.index(level) * 4 + step if level in _SEVERITIES else 0


def _pairs(
    owner: dict[str, Any], wanted: frozenset[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """The attributes that are there, or those of them that are wanted."""
    for attribute in _objects(owner, "attributes"):
        name = _text(attribute, "key")
        if wanted is None or name in wanted:
            value = _whole_value(attribute.get("value"))
            if value is not None:
                yield name, value


def _whole_value(value: Any) -> Any:
    try:
        return _value(value, DEEPEST)
    except TooDeepError:
        return CUT


def _value(value: Any, levels: int) -> Any:
    """The value of an AnyValue; None for an empty one, CUT for what it may not hold."""
    if not isinstance(value, dict):
        return None
    for kind, read in _KINDS.items():
        if value.get(kind) is not None:
            return read(value[kind], levels)
    return None


def _double(value: Any) -> Any:
    if isinstance(value, str):
        return _FINITE_NAMES.get(value, CUT)
    return float(value) if isinstance(value, int | float) else CUT


def _array(value: Any, levels: int) -> list[Any]:
    return [_value(each, levels - 1) for each in _elements(value, levels)]


def _elements(value: Any, levels: int) -> list[dict[str, Any]]:
    if levels == 0:
        raise TooDeepError("nested too deep")
    return _objects(value, "values") if isinstance(value, dict) else []


def _mapping(value: Any, levels: int) -> dict[str, Any]:
    pairs = _elements(value, levels)
    return {_text(pair, "key"): _value(pair.get("value"), levels - 1) for pair in pairs}


_KINDS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "stringValue": lambda value, _: clean(value) if isinstance(value, str) else CUT,
    "boolValue": lambda value, _: value if isinstance(value, bool) else CUT,
    "intValue": lambda value, _: integer_of(value),
    "doubleValue": lambda value, _: _double(value),
    "arrayValue": _array,
    "kvlistValue": _mapping,
    "bytesValue": lambda value, _: value if isinstance(value, str) else CUT,
}
