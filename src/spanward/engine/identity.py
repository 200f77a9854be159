"""What makes two reports the same item (semantics, section 1, ``id``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward.item import ON_LOG, TOOL_CALL

if TYPE_CHECKING:
    from spanward.item import Item


def is_call(item: Item) -> bool:
    """Whether an item is known by its call id, not by its record."""
    return item.kind == TOOL_CALL and item.call_id is not None


def call_key(call_id: str, execution: int) -> bytes:
    """The key of a call's fact in its session's table."""
    return b"c%b\0%d" % (call_id.encode(), execution)


def is_call_key(key: bytes) -> bool:
    """Whether a fact's key is that of a call known by its id."""
    return key[:1] == b"c"


def renumbered(key: bytes, execution: int) -> bytes:
    """The key of another execution of the same call."""
    return b"%b\0%d" % (key[: key.rindex(b"\0")], execution)


def call_identity(call_id: str, session: str) -> bytes:
    """The identity of a call, over all sessions; the length tells the two apart."""
    named = session.encode()
    return b"c%d\0%b%b" % (len(named), named, call_id.encode())


def record_identity(item: Item) -> bytes:
    """The identity of everything else: its record. It is also the key of its fact."""
    if item.event == ON_LOG:
        return b"l" + item.digest
    place = (item.event + 1).to_bytes(4, "big")
    return b"r%b%b%b" % (item.trace_id, item.span_id, place)
