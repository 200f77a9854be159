"""A view schema: OTLP's messages with what is not always read left as bytes.

On the wire a nested message, a string and bytes are the same thing: a length and that many bytes.
So a schema may declare an attribute as ``bytes`` and be compatible with the real one, and what is
never looked at is never turned into Python objects, which is what costs. Strings are declared as
bytes too, so that one bad character does not lose a whole request.
Source: opentelemetry-proto, trace, logs, resource and common, field by field.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

_TYPES: Final = {
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
}

_SPANS: Final = {
    "TracesData": {1: "*ResourceSpans resource_spans"},
    "ResourceSpans": {1: "bytes resource", 2: "*ScopeSpans scope_spans"},
    "ScopeSpans": {1: "bytes scope", 2: "*Span spans"},
    "Span": {
        1: "bytes trace_id",
        2: "bytes span_id",
        5: "bytes name",
        7: "fixed64 start_time_unix_nano",
        8: "fixed64 end_time_unix_nano",
        9: "*bytes attributes",
        10: "uint32 dropped_attributes_count",
        11: "*Event events",
        15: "bytes status",
    },
    "Event": {
        1: "fixed64 time_unix_nano",
        2: "bytes name",
        3: "*bytes attributes",
        4: "uint32 dropped_attributes_count",
    },
    "Status": {3: "int32 code"},
}

_LOGS: Final = {
    "LogsData": {1: "*ResourceLogs resource_logs"},
    "ResourceLogs": {1: "bytes resource", 2: "*ScopeLogs scope_logs"},
    "ScopeLogs": {1: "bytes scope", 2: "*LogRecord log_records"},
    "LogRecord": {
        1: "fixed64 time_unix_nano",
        2: "int32 severity_number",
        3: "bytes severity_text",
        5: "bytes body",
        6: "*bytes attributes",
        7: "uint32 dropped_attributes_count",
        8: "fixed32 flags",
        9: "bytes trace_id",
        10: "bytes span_id",
        11: "fixed64 observed_time_unix_nano",
        12: "bytes event_name",
    },
}

_FAR: Final = {
    "FarSpan": {9: "*bytes attributes", 11: "*bytes events"},
    "FarEvent": {3: "*bytes attributes"},
    "FarLog": {6: "*bytes attributes"},
}
"""Records with every part left as bytes: to be counted."""

_COMMON: Final = {
    "Resource": {1: "*bytes attributes"},
    "Scope": {1: "bytes name", 2: "bytes version", 3: "*bytes attributes"},
    "KeyValue": {1: "bytes key", 2: "AnyValue value"},
    "KeyValueList": {1: "*KeyValue values"},
    "ArrayValue": {1: "*AnyValue values"},
    "AnyValue": {
        1: "|bytes string_value",
        2: "|bool bool_value",
        3: "|int64 int_value",
        4: "|double double_value",
        5: "|ArrayValue array_value",
        6: "|KeyValueList kvlist_value",
        7: "|bytes bytes_value",
    },
}
"""``*`` marks a repeated field, ``|`` a member of the oneof ``value``."""


_MESSAGES: Final = {**_SPANS, **_LOGS, **_FAR, **_COMMON}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="spanward/view.proto", package="spanward.view", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if any(text.startswith("|") for text in fields.values()):
            message.oneof_decl.add(name="value")
        for number, text in fields.items():
            _add_field(message, number, text)
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, number: int, text: str) -> None:
    kind, name = text.lstrip("*|").split()
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if text.startswith("*"):
        field.label = _Field.LABEL_REPEATED
    if text.startswith("|"):
        field.oneof_index = 0
    if kind in _TYPES:
        field.type = _TYPES[kind]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".spanward.view.{kind}"


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"spanward.view.{name}"))
        for name in _MESSAGES
    }


_VIEW: Final = _classes()

parse_traces: Final = _VIEW["TracesData"].FromString
parse_logs: Final = _VIEW["LogsData"].FromString
parse_resource: Final = _VIEW["Resource"].FromString
parse_scope: Final = _VIEW["Scope"].FromString
parse_status: Final = _VIEW["Status"].FromString
parse_attribute: Final = _VIEW["KeyValue"].FromString
parse_value: Final = _VIEW["AnyValue"].FromString
parse_far_span: Final = _VIEW["FarSpan"].FromString
parse_far_event: Final = _VIEW["FarEvent"].FromString
parse_far_log: Final = _VIEW["FarLog"].FromString
"""Each gives a message of the view, and raises ``DecodeError`` for bytes that are not one."""
