"""``tool:`` and ``approval:``: tests of a tool call, and of a decision about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward import expect
from spanward.item import APPROVAL, TOOL_CALL
from spanward.match.args import compile_args
from spanward.match.columns import ColumnIn, KindIs, OpsAny, TextHolds, contains
from spanward.node import Mapping, Scalar

if TYPE_CHECKING:
    from spanward.errors import Problems
    from spanward.match.truth import Test
    from spanward.node import Entry, Node

_TOOL_KEYS: Final = ("kind", "ops", "mcp", "skill", "name", "args")
_APPROVAL_KEYS: Final = ("ops", "status")
_MCP_COLUMNS: Final = {"server": "mcp_server", "tool": "mcp_tool"}


def compile_tool(node: Node, problems: Problems) -> list[Test]:
    """The tests of ``tool``; ``tool: {}`` and ``tool:`` alone mean any tool call."""
    tests: list[Test] = [KindIs("tool", TOOL_CALL)]
    if isinstance(node, Scalar) and node.value is None:
        return tests
    for entry in _entries(node, _TOOL_KEYS, "tool", problems):
        tests += _compile_tool_key(entry, problems)
    return tests


def compile_approval(node: Node, problems: Problems) -> list[Test]:
    """The tests of ``approval``; ``approval: {}`` means any."""
    tests: list[Test] = [KindIs("approval", APPROVAL)]
    for entry in _entries(node, _APPROVAL_KEYS, "approval", problems):
        if entry.key == "ops":
            tests += _compile_ops(entry, "approval.ops", problems)
        else:
            tests += _compile_column(entry, "approval.status", "status", problems)
    return tests


def _entries(node: Node, keys: tuple[str, ...], what: str, problems: Problems) -> tuple[Entry, ...]:
    if isinstance(node, Mapping) and not node.entries:
        return ()
    found = expect.mapping(node, what, problems)
    if found is None:
        return ()
    expect.known_keys(found, keys, what, problems)
    return tuple(entry for entry in found.entries if entry.key in keys)


def _compile_tool_key(entry: Entry, problems: Problems) -> list[Test]:
    match entry.key:
        case "ops":
            return _compile_ops(entry, "tool.ops", problems)
        case "mcp":
            return _compile_mcp(entry.value, problems)
        case "name":
            part = expect.text(entry.value, "tool.name", problems)
            return [] if part is None else [TextHolds("tool.name", "name", contains(part))]
        case "args":
            args = compile_args(entry.value, problems)
            return [] if args is None else [args]
        case "kind":
            return _compile_column(entry, "tool.kind", "tool_kind", problems)
        case column:
            return _compile_column(entry, f"tool.{column}", column, problems)


def _compile_mcp(node: Node, problems: Problems) -> list[Test]:
    found = expect.mapping(node, "tool.mcp", problems)
    if found is None:
        return []
    expect.known_keys(found, _MCP_COLUMNS, "tool.mcp", problems)
    tests: list[Test] = []
    for entry in found.entries:
        if entry.key in _MCP_COLUMNS:
            key = f"tool.mcp.{entry.key}"
            tests += _compile_column(entry, key, _MCP_COLUMNS[entry.key], problems)
    return tests


def _compile_ops(entry: Entry, key: str, problems: Problems) -> list[Test]:
    values = expect.texts(entry.value, key, problems)
    return [] if values is None else [OpsAny(key, values)]


def _compile_column(entry: Entry, key: str, column: str, problems: Problems) -> list[Test]:
    values = expect.texts(entry.value, key, problems)
    return [] if values is None else [ColumnIn(key, column, values)]
