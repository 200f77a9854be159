"""Matchers: true, false or unknown (None) of one item (section 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from .items import Item
from .values import argument, passes

Answer = bool | None

COLUMNS = frozenset(
    {"name", "tool_kind", "path", "op", "input", "output", "status", "mcp_server", "mcp_tool"}
    | {"skill", "trusted", "total", "complete", "call_id", "seq", "turn", "principal"}
)


def matches(matcher: Mapping[str, Any], item: Item) -> Answer:
    """Whether an item matches: every key must hold, by Kleene's *and*."""
    return every(_key(key, wanted, item) for key, wanted in matcher.items())


def every(answers: Iterable[Answer]) -> Answer:
    """Kleene's *and*; true of nothing."""
    known = list(answers)
    if False in known:
        return False
    return None if None in known else True


def satisfies(name: str, args: Mapping[str, Any] | None, item: Item) -> Answer:
    """Whether a tool call is one that an entry of `expected_tools` wants."""
    if item.kind != "tool.call":
        return False
    return every([named(name, item), arguments(args, item)])


def named(name: str, item: Item) -> Answer:
    """Whether the tool's name contains the given one."""
    return _column(item, "name", lambda value: name in value)


def arguments(args: Mapping[str, Any] | None, item: Item) -> Answer:
    """Whether every asserted argument is present and matches."""
    if args is None:
        return True
    if "args" in item.withheld:
        return None
    actual = item.columns.get("args") or {}
    return all(key in actual and argument(matcher, actual[key]) for key, matcher in args.items())


def asked_attributes(node: Any) -> set[str]:
    """Every name under a `where` in a spec that is not a column."""
    if isinstance(node, list):
        return set().union(*map(asked_attributes, node))
    if not isinstance(node, Mapping):
        return set()
    found = set().union(*map(asked_attributes, node.values()))
    where = node.get("where")
    return found | (set(where) - COLUMNS if isinstance(where, Mapping) else set())


def _key(key: str, wanted: Any, item: Item) -> Answer:
    if key == "tool":
        return item.kind == "tool.call" and every(_tool(wanted or {}, item))
    if key == "approval":
        return item.kind == "approval" and every(_approval(wanted or {}, item))
    if key == "event":
        return item.kind == "event" and _column(item, "name", lambda value: value == wanted)
    if key == "span":
        name = item.columns.get("span_name")
        return name is not None and fnmatchcase(name, wanted)
    if key == "path":
        return _column(item, "path", lambda value: fnmatchcase(value, wanted))
    if key in ("input", "output"):
        return _column(item, key, lambda value: re.search(wanted, value, re.ASCII) is not None)
    if key == "principal":
        return every([item.kind != "span", _sent_by(wanted, item)])
    if key == "where":
        return every(_where(field, test, item) for field, test in wanted.items())
    raise ValueError(f"no such key: {key}")


def _tool(wanted: Mapping[str, Any], item: Item) -> Iterable[Answer]:
    for key, value in wanted.items():
        if key == "kind":
            yield _one_of(item, "tool_kind", value)
        elif key == "mcp":
            yield from (_one_of(item, f"mcp_{part}", given) for part, given in value.items())
        elif key == "name":
            yield named(value, item)
        elif key == "args":
            yield arguments(value, item)
        elif key == "ops":
            yield _shares(item, value)
        else:
            yield _one_of(item, key, value)


def _approval(wanted: Mapping[str, Any], item: Item) -> Iterable[Answer]:
    for key, value in wanted.items():
        yield _shares(item, value) if key == "ops" else _one_of(item, key, value)


def _one_of(item: Item, column: str, given: Any) -> Answer:
    allowed = given if isinstance(given, list) else [given]
    return _column(item, column, lambda value: value in allowed)


def _shares(item: Item, given: Any) -> Answer:
    wanted = given if isinstance(given, list) else [given]
    return _column(item, "ops", lambda ops: any(op in ops for op in wanted))


def _column(item: Item, column: str, holds: Any) -> Answer:
    if column in item.withheld:
        return None
    value = item.columns.get(column)
    return value is not None and bool(holds(value))


def _sent_by(wanted: Any, item: Item) -> Answer:
    sender = item.columns.get("principal")
    return None if sender is None else sender in (wanted if isinstance(wanted, list) else [wanted])


def _where(field: str, test: Any, item: Item) -> Answer:
    if field in item.withheld:
        return None
    if field == "principal" and item.columns.get("principal") is None:
        return None
    if field == "turn" and item.turn is None and item.columns.get("turn_key") is not None:
        return None
    source = item.columns if field in COLUMNS else item.attributes
    return passes(test, source.get(field))
