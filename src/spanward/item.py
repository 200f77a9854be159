"""An item: one step of an agent's session, as the specs see it.

Dialects make items of spans, span events and log records; matchers ask them questions. An item
never changes: a second report of the same step is merged with the first into a new item.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

TOOL_CALL: Final = "tool.call"
APPROVAL: Final = "approval"
EVENT: Final = "event"
SPAN: Final = "span"
KINDS: Final = (TOOL_CALL, APPROVAL, EVENT, SPAN)

COLUMNS: Final = (
    "name",
    "tool_kind",
    "path",
    "op",
    "input",
    "output",
    "status",
    "mcp_server",
    "mcp_tool",
    "skill",
    "trusted",
    "total",
    "complete",
    "call_id",
    "seq",
    "turn",
    "principal",
)
"""What ``where`` may ask by a short name; every other field is a full attribute name."""

ON_SPAN: Final = -1
"""``Item.event`` of an item born of a span itself."""
ON_LOG: Final = -2
"""``Item.event`` of an item born of a log record."""

CLIP: Final = 500
"""Characters (code points) of ``input`` and ``output`` that specs see."""


class Cut:
    """The value of an attribute that was there but could not be read whole.

    It stands for "something, we do not know what": a matcher that needs it answers unknown.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<cut>"


CUT: Final = Cut()

Attributes = dict[str, Any]
"""Attribute name to value: str, bool, int, float, list, dict or CUT. None never stands here."""

NOTHING: Final[frozenset[str]] = frozenset()


class Item(msgspec.Struct, frozen=True, kw_only=True, eq=True):
    """One step. None in a field means that the runtime did not say.

    Times are Unix nanoseconds, ``end_ns >= start_ns``. ``trace_id`` is 16 bytes and ``span_id`` 8,
    or empty for a log record without them. ``session`` is the id that the record itself carries;
    without one the step belongs to its trace's session. ``turn`` is a number that the runtime
    sent, ``turn_key`` an opaque name of the turn that the dialect found. ``withheld`` names the
    columns (and ``args``) that the runtime has but did not capture; ``setting`` says what would
    have captured them. An element of ``diff_files`` that is no text is None.
    ``principal`` is who sent it, as the service knows by a token or a certificate: None when it
    does not know, or when several did. ``ends`` says that the runtime calls the session ended.
    (Semantics, sections 1 and 6.)
    """

    kind: str
    trace_id: bytes
    span_id: bytes
    start_ns: int
    end_ns: int
    event: int = ON_SPAN
    digest: bytes = b""
    session: str | None = None
    job: str | None = None
    seq: int | None = None
    turn: int | None = None
    turn_key: str | None = None
    call_id: str | None = None
    name: str | None = None
    span_name: str | None = None
    tool_kind: str | None = None
    path: str | None = None
    op: str | None = None
    input: str | None = None
    output: str | None = None
    status: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None
    skill: str | None = None
    trusted: Any = None
    total: Any = None
    complete: Any = None
    ops: tuple[str, ...] | None = None
    args: dict[str, Any] | None = None
    diff_files: tuple[str | None, ...] | None = None
    attributes: Attributes = msgspec.field(default_factory=dict)
    outer: tuple[Attributes, ...] = ()
    withheld: frozenset[str] = NOTHING
    setting: str = ""
    principal: str | None = None
    ends: bool = False

    def attribute(self, name: str) -> Any:
        """The value of an attribute, own first, then the outer ones in order; None when absent."""
        value = self.attributes.get(name)
        if value is not None:
            return value
        for attributes in self.outer:
            value = attributes.get(name)
            if value is not None:
                return value
        return None


class Report(msgspec.Struct, frozen=True):
    """What one record told: whose session it is, and the items it gave (none, one or several).

    ``binds`` is true for a span: only a span's own session can become its trace's session.
    ``sender`` is who sent the record, None when that is not known.
    """

    trace_id: bytes
    span_id: bytes
    start_ns: int
    session: str | None
    binds: bool
    items: tuple[Item, ...]
    sender: str | None = None
