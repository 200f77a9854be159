"""The parts of a report that an item of a case gives: what it says, and what follows from that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

Fields = dict[str, Any]

LENT: Final = ("session", "job", "turn", "turn_key")
"""What a span event takes from its span when it has none of its own."""
_SPAN_NAMES: Final = {"tool.call": "tool.call", "approval": "approval", "event": "test.run"}


def event(item: Fields) -> Fields:
    """Where the item was born: on a span (nothing), a span event, or a log record."""
    index, log = item.pop("event", None), item.pop("log", False)
    if log:
        return {"event": "log"}
    if index is None and item["kind"] == "event" and item["name"] != "test.run":
        index = 0
    return {} if index is None else {"event": index}


def owner(report: Fields, before: Sequence[Fields]) -> Fields | None:
    """The report of the span that a span event belongs to; it and its events stand just before."""
    index = report.get("event")
    if not isinstance(index, int):
        return None
    ids = (report["trace"], report["span"])
    if not any((one["trace"], one["span"]) == ids and "event" not in one for one in before):
        return None
    found = before[-1 - index]
    assert (found["trace"], found["span"]) == ids and "event" not in found, report
    return found


def lent(owner: Fields) -> Fields:
    """What a span lends its events."""
    return {key: owner[key] for key in LENT if key in owner}


def name(item: Fields, report: Fields) -> Fields:
    """The names: a plain span's is that of its span, a call or approval without one has its own."""
    kind = item.pop("kind")
    if "event" in report:
        return {"name": item.pop("name")}
    span_name = item.pop("span_name", item.get("name") if kind == "span" else _SPAN_NAMES[kind])
    return {"span_name": span_name, "name": item.pop("name", span_name)}


def content(item: Fields) -> Fields:
    """All that is left to say; null says nothing."""
    return {key: value for key, value in item.items() if value is not None}


def digest(report: Fields) -> str:
    """What tells two log records apart, in hex."""
    text = json.dumps(report, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
