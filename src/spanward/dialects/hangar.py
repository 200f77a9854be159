"""``hangar``, the native dialect: a record is what it says it is (semantics, section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanward.dialects import fields
from spanward.item import APPROVAL, EVENT, NOTHING, ON_LOG, SPAN, TOOL_CALL, Attributes, Item
from spanward.otlp.values import UnfitError, json_arguments

if TYPE_CHECKING:
    from spanward.asked import Asked
    from spanward.dialects.dialect import About
    from spanward.otlp.record import LogRecord, SpanRecord

_KINDS: Final = {"tool.call": TOOL_CALL, "approval": APPROVAL, "test.run": EVENT}
"""The span names that mean something; any other span is a plain one."""

_TOOL_STATUS: Final = "hangar.tool.status"
_APPROVAL_STATUS: Final = "hangar.approval.status"
_EVENT_NAME: Final = "event.name"
_SESSION_END: Final = "session.end"


class Hangar:
    """Reads native records, and every record that no other dialect claims."""

    name = "hangar"
    attributes = fields.ATTRIBUTES | {_TOOL_STATUS, _APPROVAL_STATUS, _EVENT_NAME}

    def claims(self, record: SpanRecord | LogRecord) -> bool:
        return True

    def passes_by(self, record: SpanRecord, asked: Asked) -> bool:
        plain = not asked.spans and record.name not in _KINDS
        return plain and fields.DIFF_FILES not in record.attributes

    def span(self, record: SpanRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        if self.passes_by(record, asked):
            return ()
        return (self.item(record, about, asked),)

    def item(self, record: SpanRecord, about: About, asked: Asked) -> Item:
        """The item of a span, asked for or not."""
        attributes = record.attributes
        kind = _KINDS.get(record.name, SPAN)
        found = fields.columns(attributes)
        found["name"] = fields.text(attributes.get(fields.TOOL_NAME)) or record.name
        if "name" in found.get("withheld", ()):
            found["name"] = None
        if kind is EVENT:
            found["name"] = record.name
        elif kind is TOOL_CALL:
            found["status"] = fields.text(attributes.get(_TOOL_STATUS)) or _status(record)
            if asked.args:
                _read_arguments(attributes, found)
        elif kind is APPROVAL:
            found["status"] = fields.text(attributes.get(_APPROVAL_STATUS))
        return Item(
            kind=kind,
            trace_id=record.trace_id,
            span_id=record.span_id,
            start_ns=record.start_ns,
            end_ns=record.end_ns,
            session=about.belongs.session,
            job=about.belongs.job,
            turn=about.belongs.turn,
            span_name=record.name,
            attributes=asked.of(attributes),
            outer=about.outer,
            principal=about.principal,
            **found,
        )

    def event(self, record: SpanRecord, index: int, about: About, asked: Asked) -> tuple[Item, ...]:
        event = record.events[index]
        own = event.attributes
        belongs = fields.inherited(own, about.belongs)
        return (
            Item(
                kind=EVENT,
                trace_id=record.trace_id,
                span_id=record.span_id,
                event=index,
                start_ns=event.time_ns,
                end_ns=event.time_ns,
                session=belongs.session,
                job=belongs.job,
                turn=belongs.turn,
                name=event.name,
                attributes=asked.of(own),
                outer=(asked.of(record.attributes), *about.outer),
                principal=about.principal,
                ends=event.name == _SESSION_END,
                **fields.columns(own),
            ),
        )

    def log(self, record: LogRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        attributes = record.attributes
        name = (
            record.event_name
            or fields.text(attributes.get(_EVENT_NAME))
            or fields.text(record.body)
            or None
        )
        return (
            Item(
                kind=EVENT,
                trace_id=record.trace_id,
                span_id=record.span_id,
                event=ON_LOG,
                digest=record.digest,
                start_ns=record.time_ns,
                end_ns=record.time_ns,
                session=about.belongs.session,
                job=about.belongs.job,
                turn=about.belongs.turn,
                name=name,
                attributes=asked.of(attributes),
                outer=about.outer,
                principal=about.principal,
                ends=name == _SESSION_END,
                **fields.columns(attributes),
            ),
        )


def _status(record: SpanRecord) -> str:
    return "error" if record.error else "ok"


def _read_arguments(attributes: Attributes, found: dict[str, Any]) -> None:
    """The arguments: a mapping, or the JSON text of one; None for anything else.

    Those that are too much to be read are withheld: a call must not pass unseen for their sake.
    """
    value = attributes.get(fields.ARGUMENTS)
    if isinstance(value, str):
        try:
            value = json_arguments(value)
        except UnfitError:
            found["withheld"] = found.get("withheld", NOTHING) | {"args"}
            return
        except ValueError:
            return
    found["args"] = value if isinstance(value, dict) else None
