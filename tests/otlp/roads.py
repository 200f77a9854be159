"""One record, both roads in: protobuf as the reference encodes it, and OTLP/JSON made from it."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanward.otlp.jsonlines import read_line
from spanward.otlp.record import Batch
from spanward.otlp.wire import WireReader

TRACE = bytes(range(16))
SPAN = bytes(range(1, 9))
_IDS = ("traceId", "spanId", "parentSpanId")


def traces(*spans: Span, scope: str = "agent") -> ExportTraceServiceRequest:
    """A request of some spans of one scope."""
    request = ExportTraceServiceRequest()
    by_scope = request.resource_spans.add().scope_spans.add()
    by_scope.scope.name = scope
    by_scope.spans.extend(spans)
    return request


def logs(*records: LogRecord) -> ExportLogsServiceRequest:
    """A request of some log records."""
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.extend(records)
    return request


def span(**fields: Any) -> Span:
    """A span with good ids."""
    return Span(**{"trace_id": TRACE, "span_id": SPAN, "name": "s", **fields})


def as_json(message: Message) -> str:
    """A message as a line of OTLP/JSON: hex ids, enums as integers."""
    line = MessageToDict(message, use_integers_for_enums=True)
    return json.dumps(_with_hex_ids(line))


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: b64decode(each).hex() if key in _IDS else _with_hex_ids(each)
        for key, each in value.items()
    }


def by_wire(message: Message, wanted: frozenset[str]) -> Batch:
    """What the protobuf road makes of a message."""
    reader = WireReader(wanted)
    read = reader.logs if isinstance(message, ExportLogsServiceRequest) else reader.traces
    return read(message.SerializeToString())


def by_json(message: Message, wanted: frozenset[str]) -> Batch:
    """What the JSON road makes of a message."""
    return read_line(as_json(message), wanted)
