"""``genai``: the ``execute_tool`` spans of OpenTelemetry's GenAI semantic conventions.

Recorded from pydantic-ai, Strands, the Vercel AI SDK and Agent Framework. What these runtimes do
not report (operations, paths, kinds of tools) or did not capture is *withheld*: a spec that needs
it is answered ``unknown``, never silently passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from spanward.dialects import fields
from spanward.dialects.hangar import Hangar
from spanward.item import APPROVAL, CUT, TOOL_CALL, Item
from spanward.otlp.record import LogRecord, SpanRecord
from spanward.otlp.values import json_arguments

if TYPE_CHECKING:
    from spanward.asked import Asked
    from spanward.dialects.dialect import About

_OPERATION: Final = "gen_ai.operation.name"
_EXECUTE_TOOL: Final = "execute_tool"
_NATIVE_NAMES: Final = ("tool.call", "approval", "test.run")
_ARGUMENTS: Final = (fields.ARGUMENTS, "tool_arguments")
"""The second is pydantic-ai's before its version 3 of these conventions."""
_RESULTS: Final = ("gen_ai.tool.call.result", "tool_response")
_DEFERRAL: Final = "pydantic_ai.tool.deferral.name"
_ERROR_TYPE: Final = "error.type"
_TOOL_STATUS: Final = "gen_ai.tool.status"
_ARGUMENTS_EVENT: Final = ("gen_ai.tool.message", "content")
_RESULT_EVENT: Final = ("gen_ai.choice", "message")
"""Strands says both in span events: (event name, attribute)."""

_NOT_REPORTED: Final = ("tool_kind", "ops", "path", "op", "mcp_server", "mcp_tool")

_SETTINGS: Final = {
    "pydantic-ai": "set include_content=True",
    "agent_framework": "set enable_sensitive_data=True",
    "gen_ai": "set recordInputs and recordOutputs",
    "strands.telemetry.tracer": "do not redact tool content",
}
"""By scope name: what would have captured arguments and results."""
_SETTING: Final = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class GenAI:
    """Reads spans with the operation ``execute_tool``; a deferred call is an approval."""

    name = "genai"
    attributes = Hangar.attributes | {
        _OPERATION,
        *_ARGUMENTS,
        *_RESULTS,
        _DEFERRAL,
        _ERROR_TYPE,
        _TOOL_STATUS,
        _ARGUMENTS_EVENT[1],
        _RESULT_EVENT[1],
    }

    def __init__(self) -> None:
        self._native = Hangar()

    def claims(self, record: SpanRecord | LogRecord) -> bool:
        return (
            isinstance(record, SpanRecord)
            and record.attributes.get(_OPERATION) == _EXECUTE_TOOL
            and record.name not in _NATIVE_NAMES
        )

    def passes_by(self, record: SpanRecord, asked: Asked) -> bool:
        return False

    def span(self, record: SpanRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        item = self._native.item(record, about, asked)
        deferred = _DEFERRAL in record.attributes
        status = "requested" if deferred else _status(record)
        found = _content(record, asked)
        if deferred or status == "error":  # no result, so none that was not captured
            found.setdefault("output", None)
        withheld = {column for column in _NOT_REPORTED if getattr(item, column) is None}
        withheld |= {column for column in ("args", "input", "output") if column not in found}
        return (
            structs.replace(
                item,
                kind=APPROVAL if deferred else TOOL_CALL,
                status=status,
                withheld=item.withheld | withheld,
                setting=_SETTINGS.get(record.source.scope, _SETTING),
                **found,
            ),
        )

    def event(self, record: SpanRecord, index: int, about: About, asked: Asked) -> tuple[Item, ...]:
        return self._native.event(record, index, about, asked)

    def log(self, record: LogRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        return self._native.log(record, about, asked)


def _status(record: SpanRecord) -> str:
    attributes = record.attributes
    failed = record.error or _ERROR_TYPE in attributes or attributes.get(_TOOL_STATUS) == "error"
    return "error" if failed else "ok"


def _content(record: SpanRecord, asked: Asked) -> dict[str, Any]:
    """Arguments, input and output; a key that is not there was not captured."""
    found: dict[str, Any] = {}
    arguments = _first(record, _ARGUMENTS, _ARGUMENTS_EVENT)
    if arguments is not None:
        found["input"] = fields.clipped(arguments)
        found |= _parsed(arguments) if asked.args else {"args": None}
    result = _first(record, _RESULTS, _RESULT_EVENT)
    if result is not None:
        found["output"] = fields.clipped(result)
    return found


def _parsed(arguments: Any) -> dict[str, Any]:
    """``args`` as a mapping; JSON that cannot be read was cut, so nothing is said of it."""
    if isinstance(arguments, str):
        try:
            arguments = json_arguments(arguments)
        except ValueError:
            return {}
    return {"args": arguments if isinstance(arguments, dict) else None}


def _first(record: SpanRecord, names: tuple[str, ...], in_event: tuple[str, str]) -> Any:
    """The first value that is there and whole: an attribute, else that of a span event."""
    for name in names:
        value = record.attributes.get(name)
        if value is not None and value is not CUT:
            return value
    event_name, name = in_event
    values = (each.attributes.get(name) for each in record.events if each.name == event_name)
    return next((value for value in values if value is not None and value is not CUT), None)
