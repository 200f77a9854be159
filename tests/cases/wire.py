"""Reports as OTLP: the protobuf requests that a runtime would send, and the same as JSON lines."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from . import keyed
from .parts import Fields

Request = ExportTraceServiceRequest | ExportLogsServiceRequest

_COLUMNS: Final = {
    "job": "hangar.job.id",
    "seq": "hangar.seq",
    "turn": "hangar.turn",
    "call_id": "gen_ai.tool.call.id",
    "tool_kind": "hangar.tool.kind",
    "path": "hangar.file.repo_path",
    "op": "hangar.file.op",
    "input": "hangar.tool.input",
    "output": "hangar.tool.output",
    "mcp_server": "hangar.mcp.server",
    "mcp_tool": "hangar.mcp.tool",
    "skill": "gen_ai.skill.name",
    "trusted": "hangar.test.trusted",
    "total": "hangar.test.total",
    "complete": "hangar.test.complete",
    "ops": "hangar.shell.ops",
    "diff_files": "hangar.diff.files",
    "turn_key": keyed.TURN_KEY,
}
"""By field of a report: the native attribute (semantics, section 1, *Native names*)."""

_SESSIONS: Final = ("hangar.session.id", "gen_ai.conversation.id", "session.id")
_TOOL_NAME: Final = "gen_ai.tool.name"
_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
_TOOL_STATUS: Final = "hangar.tool.status"
_APPROVAL_STATUS: Final = "hangar.approval.status"
_OPERATION: Final = "gen_ai.operation.name"
_LENT: Final = ("session", "job", "turn", "turn_key")
_CONTENT: Final = frozenset({"args", "input", "output"})
"""What the GenAI conventions leave out unless told to capture it."""
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})


def requests(reports: Sequence[Fields]) -> list[Request]:
    """One request for each record, in order of arrival; a span brings its events along."""
    return [_request(group) for group in _records(reports)]


def line(request: Request) -> str:
    """The request as one line of OTLP JSON: the same message, ids in hex."""
    return json.dumps(_with_hex_ids(MessageToDict(request)), ensure_ascii=False)


def _records(reports: Sequence[Fields]) -> list[list[Fields]]:
    """The reports of each record: a span and its events, some events alone, or a log."""
    records: list[list[Fields]] = []
    for report in reports:
        index = report.get("event")
        if isinstance(index, int) and records and _continues(records[-1], report, index):
            records[-1].append(report)
        else:
            records.append([report])
    return records


def _continues(record: Sequence[Fields], report: Fields, index: int) -> bool:
    last = record[-1]
    if (last["trace"], last["span"]) != (report["trace"], report["span"]):
        return False
    return index == last.get("event", -1) + 1


def _request(record: Sequence[Fields]) -> Request:
    first = record[0]
    resource = _pairs(first.get("resource", {}))
    scope = _pairs(first.get("scope", {}))
    if first.get("event") == "log":
        logs = ExportLogsServiceRequest()
        of_logs = logs.resource_logs.add()
        of_logs.resource.attributes.extend(resource)
        of_scope = of_logs.scope_logs.add(log_records=[_log(first)])
        of_scope.scope.attributes.extend(scope)
        return logs
    traces = ExportTraceServiceRequest()
    of_traces = traces.resource_spans.add()
    of_traces.resource.attributes.extend(resource)
    spans = of_traces.scope_spans.add(spans=[_span(record)])
    spans.scope.attributes.extend(scope)
    return traces


def _span(record: Sequence[Fields]) -> Span:
    """The span of a report, or one that only carries events and says nothing of its own."""
    owner = record[0] if "event" not in record[0] else None
    events = record if owner is None else record[1:]
    span = Span(
        trace_id=bytes.fromhex(record[0]["trace"]), span_id=bytes.fromhex(record[0]["span"])
    )
    if owner is None:
        span.name, span.start_time_unix_nano = "carrier", record[0]["start"]
        span.end_time_unix_nano = record[-1]["end"]
        span.events.extend(Span.Event(name="before") for _ in range(record[0]["event"]))
    else:
        span.name = owner["span_name"]
        span.start_time_unix_nano, span.end_time_unix_nano = owner["start"], owner["end"]
        _fill(span, owner)
    if any(_is_keyed(report) for report in record):
        span.attributes.append(_pair(keyed.MARK, True))
    span.events.extend(_event(report, owner) for report in events)
    return span


def _fill(span: Span, report: Fields) -> None:
    said = _said(report) | _status(span, report)
    if report["kind"] != "event" and report["name"] != report["span_name"]:
        said[_TOOL_NAME] = report["name"]
    if "args" in report:
        said[_ARGUMENTS] = json.dumps(report["args"], ensure_ascii=False)
    if _is_plain_genai(report):
        span.name = f"execute_tool {report['name']}"
        said |= {_OPERATION: "execute_tool", _TOOL_NAME: report["name"]}
        said.pop(keyed.WITHHELD, None)
    span.attributes.extend(_pairs(said))


def _is_keyed(report: Fields) -> bool:
    """Whether only the dialect for tests can read all that a report says."""
    return "turn_key" in report or ("withheld" in report and not _is_plain_genai(report))


def _is_plain_genai(report: Fields) -> bool:
    """Whether a report is what a GenAI runtime sends of a call whose content it did not capture."""
    withheld = set(report.get("withheld", ()))
    return (
        report["kind"] == "tool.call"
        and bool(withheld)
        and withheld <= _CONTENT
        and not _CONTENT & report.keys()
        and report["status"] == "ok"
    )


def _status(span: Span, report: Fields) -> Fields:
    status = report.get("status")
    if report["kind"] == "approval":
        return {} if status is None else {_APPROVAL_STATUS: status}
    if status == "error":
        span.status.code = Status.STATUS_CODE_ERROR
    return {} if status in (None, "ok", "error") else {_TOOL_STATUS: status}


def _event(report: Fields, owner: Fields | None) -> Span.Event:
    lent = {} if owner is None else {key: owner[key] for key in _LENT if key in owner}
    own = {key: v for key, v in report.items() if key not in lent or lent[key] != v}
    return Span.Event(
        name=report["name"], time_unix_nano=report["start"], attributes=_pairs(_said(own))
    )


def _log(report: Fields) -> LogRecord:
    return LogRecord(
        trace_id=bytes.fromhex(report["trace"]),
        span_id=bytes.fromhex(report["span"]),
        time_unix_nano=report["start"],
        event_name=report["name"],
        attributes=_pairs(_said(report)),
    )


def _said(report: Fields) -> Fields:
    """The attributes that a report has of its own; the session under one of its three names."""
    said = {name: report[field] for field, name in _COLUMNS.items() if field in report}
    if "session" in report:
        said[_SESSIONS[report["start"] % len(_SESSIONS)]] = report["session"]
    if "withheld" in report:
        said[keyed.WITHHELD] = sorted(report["withheld"])
    return said | report.get("attributes", {})


def _pairs(attributes: Mapping[str, Any]) -> list[KeyValue]:
    return [_pair(name, value) for name, value in attributes.items()]


def _pair(name: str, value: Any) -> KeyValue:
    pair = KeyValue(key=name, value=AnyValue())
    _set(pair.value, value)
    return pair


def _set(into: AnyValue, value: Any) -> None:
    """Write a value; None leaves it empty."""
    match value:
        case None:
            pass
        case bool():
            into.bool_value = value
        case int():
            into.int_value = value
        case float():
            into.double_value = value
        case str():
            into.string_value = value
        case list():
            into.array_value.SetInParent()
            for element in value:
                _set(into.array_value.values.add(), element)
        case dict():
            into.kvlist_value.SetInParent()
            into.kvlist_value.values.extend(_pairs(value))
        case _:
            raise TypeError(f"no attribute value: {value!r}")


def _with_hex_ids(value: Any) -> Any:
    """OTLP/JSON writes ids in hex where protobuf's own JSON has base64."""
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _hex(each) if key in _IDS else _with_hex_ids(each) for key, each in value.items()}


def _hex(text: str) -> str:
    return b64decode(text).hex()
