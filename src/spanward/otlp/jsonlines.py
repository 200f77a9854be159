"""OTLP/JSON to records: lines of a file and requests, each one object.

A line is one Export request, TracesData or LogsData, and may have both signals.

The rules of OTLP/JSON: ids are hex, 64-bit integers are decimal text (numbers are accepted), enums
are integers (names are accepted), unknown fields are ignored (OTLP specification, *JSON Protobuf
Encoding*).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from spanward.item import Attributes
from spanward.otlp.assembly import (
    OWN_SCOPE,
    OWN_SPAN,
    STATUS_ERROR,
    Assembly,
    moment,
)
from spanward.otlp.bounds import check_json, check_records
from spanward.otlp.jsonvalues import text, whole_value
from spanward.otlp.malformed import Unreadable
from spanward.otlp.record import Batch, EventRecord, Source, SpanRecord
from spanward.otlp.values import TooDeepError, parse_json

_KNOWN: Final = ("resourceSpans", "resourceLogs", "resourceMetrics")
_SIGNALS: Final = {"traces": "resourceSpans", "logs": "resourceLogs"}
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*")
_UNSIGNED: Final = re.compile(r"[0-9]{1,20}")
"""As many digits as 64 bits need; a longer text is never handed to ``int``."""
_LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_SEVERITIES: Final = {
    f"SEVERITY_NUMBER_{level}{step if step > 1 else ''}": 4 * place + step
    for place, level in enumerate(_LEVELS)
    for step in (1, 2, 3, 4)
}


def read_line(line: str | bytes, wanted: frozenset[str]) -> Batch:
    """The records of one line; only wanted attributes are kept.

    Raises ``Unreadable`` when it is not a line of OTLP JSON.
    """
    data = _object_of(line)
    if data and not any(key in data for key in _KNOWN):
        raise Unreadable("not OTLP: neither resourceSpans nor resourceLogs")
    road = _Road(wanted)
    road.spans(data)
    road.logs(data)
    return road.assembly.batch


def read_request(data: bytes, signal: Literal["traces", "logs"], wanted: frozenset[str]) -> Batch:
    """The records of a request of one signal; only wanted attributes are kept.

    Raises ``Unreadable`` when it is not one, and ``TooMuch`` when it holds too much. One of
    another signal is refused too: what it holds would be lost in silence.
    """
    check_json(data)
    said = _object_of(data)
    own = _SIGNALS[signal]
    if own not in said and any(key in said for key in _KNOWN):
        raise Unreadable(f"no {own} in a request of {signal}")
    road = _Road(wanted, bounded=True)
    (road.spans if signal == "traces" else road.logs)(said)
    return road.assembly.batch


def _object_of(line: str | bytes) -> dict[str, Any]:
    try:
        data = parse_json(line if isinstance(line, str) else line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    except TooDeepError:
        raise Unreadable("nested too deep") from None
    except ValueError:
        raise Unreadable("not JSON") from None
    if not isinstance(data, dict):
        raise Unreadable("not a JSON object")
    return data


class _Road:
    """Reads one line."""

    def __init__(self, wanted: frozenset[str], *, bounded: bool = False) -> None:
        self.assembly = Assembly()
        self._wanted = wanted
        self._bounded = bounded
        self._records = 0

    def spans(self, data: dict[str, Any]) -> None:
        for resource in _objects(data, "resourceSpans"):
            of_resource = self._attributes(_object(resource, "resource"))
            for scope in _objects(resource, "scopeSpans"):
                source = self._source(scope, of_resource)
                for span in self._counted(_objects(scope, "spans")):
                    self._span(source, span)

    def logs(self, data: dict[str, Any]) -> None:
        for resource in _objects(data, "resourceLogs"):
            of_resource = self._attributes(_object(resource, "resource"))
            for scope in _objects(resource, "scopeLogs"):
                source = self._source(scope, of_resource)
                for record in self._counted(_objects(scope, "logRecords")):
                    self._log(source, record)

    def _counted(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same records. Raises ``TooMuch`` when a request has more of them than it may."""
        self._records += len(records)
        if self._bounded:
            check_records(self._records)
        return records

    def _source(self, scope: dict[str, Any], of_resource: Attributes) -> Source:
        said = _object(scope, "scope")
        return Source(
            _text(said, "name"), _text(said, "version"), self._attributes(said), of_resource
        )

    def _span(self, source: Source, span: dict[str, Any]) -> None:
        trace_id, span_id = _bytes(span, "traceId"), _bytes(span, "spanId")
        if not self.assembly.accepts(trace_id, span_id):
            self.assembly.reject(trace_id, len(_objects(span, "events")))
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
                name,
                start,
                max(start, moment(_integer(span, "endTimeUnixNano"))),
                _status(_object(span, "status").get("code")) == STATUS_ERROR,
                dict(_pairs(span)) if own else self._attributes(span),
                tuple(map(self._event, self._counted(_objects(span, "events")))),
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
            "body": whole_value(record.get("body")),
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
    return text(owner.get(key))


def _bytes(owner: dict[str, Any], key: str) -> bytes:
    found = owner.get(key)
    if not isinstance(found, str) or _HEX.fullmatch(found) is None:
        return b""
    return bytes.fromhex(found)


def _integer(owner: dict[str, Any], key: str) -> int:
    """An unsigned integer, as a number or as text; 0 for anything else."""
    found = owner.get(key)
    if isinstance(found, str):
        return int(found) if _UNSIGNED.fullmatch(found) else 0
    return max(_whole(found), 0)


def _whole(number: Any) -> int:
    """An integer, also where a writer made a float of it; 0 for anything else."""
    if isinstance(number, float):
        return int(number) if number.is_integer() else 0
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


def _status(code: Any) -> int:
    return STATUS_ERROR if code == "STATUS_CODE_ERROR" else _whole(code)


def _severity(number: Any) -> int:
    return _SEVERITIES.get(number, 0) if isinstance(number, str) else _whole(number)


def _pairs(
    owner: dict[str, Any], wanted: frozenset[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """The attributes that are there, or those of them that are wanted."""
    for attribute in _objects(owner, "attributes"):
        name = _text(attribute, "key")
        if wanted is None or name in wanted:
            value = whole_value(attribute.get("value"))
            if value is not None:
                yield name, value
