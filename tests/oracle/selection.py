"""`expected_tools`: which calls each entry of a list of expected tools selects (section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import order
from .items import Item
from .matching import Answer, named, satisfies
from .values import argument, shown

Entry = str | Mapping[str, Any]


def expected_tools(
    entries: Sequence[Entry], items: Sequence[Item], hopeful: bool
) -> tuple[bool, list[Item]]:
    """Whether every entry has its calls, and the first satisfying call of each entry."""
    first, met = [], True
    for entry in entries:
        chosen = _chosen(entry, _calls(items), hopeful)
        first += chosen[:1]
        met = met and len(chosen) >= _count(entry)
    return met, first


def wanted_calls(entries: Sequence[Entry], item: Item) -> list[Answer]:
    """What each entry answers of one item."""
    return [satisfies(_name(entry), _args(entry), item) for entry in entries]


def details(entries: Sequence[Entry], items: Sequence[Item]) -> list[dict[str, Any]]:
    """The report of each entry, as the fearful side sees it."""
    calls = _calls(items)
    return [_detail(entry, calls) for entry in entries]


def _detail(entry: Entry, calls: Sequence[Item]) -> dict[str, Any]:
    chosen = _chosen(entry, calls, hopeful=False)
    met = len(chosen) >= _count(entry)
    return {
        "expected_tool": _name(entry),
        "args_asserted": _args(entry),
        "count": _count(entry),
        "matched_call_index": calls.index(chosen[0]) if met else -1,
        "unmatched_reason": None if met else _reason(entry, calls, len(chosen)),
    }


def _reason(entry: Entry, calls: Sequence[Item], satisfied: int) -> str:
    candidates = [call for call in calls if named(_name(entry), call) is True]
    if not candidates:
        return f"no call to '{_name(entry)}' found"
    if satisfied == 0:
        return _argument_reason(_args(entry) or {}, candidates[-1])
    return f"expected {_count(entry)} matching call(s), got {satisfied}"


def _argument_reason(args: Mapping[str, Any], call: Item) -> str:
    actual = call.columns.get("args") or {}
    for key, matcher in args.items():
        if "args" in call.withheld:
            return f"arg '{key}' not captured"
        if key not in actual:
            return f"arg '{key}' missing"
        if not argument(matcher, actual[key]):
            return f"arg '{key}' mismatch: expected {shown(matcher)}, got {repr(actual[key])[:80]}"
    raise AssertionError("a candidate that satisfies every argument is a satisfying call")


def _calls(items: Sequence[Item]) -> list[Item]:
    return order.listed(item for item in items if item.kind == "tool.call")


def _chosen(entry: Entry, calls: Sequence[Item], hopeful: bool) -> list[Item]:
    answers = [(call, satisfies(_name(entry), _args(entry), call)) for call in calls]
    return [call for call, answer in answers if (hopeful if answer is None else answer)]


def _name(entry: Entry) -> str:
    return entry if isinstance(entry, str) else str(entry["name"])


def _args(entry: Entry) -> Mapping[str, Any] | None:
    return None if isinstance(entry, str) else entry.get("args")


def _count(entry: Entry) -> int:
    return 1 if isinstance(entry, str) else int(entry.get("count", 1))
