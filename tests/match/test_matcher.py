"""The keys of a matcher other than ``where`` and ``args``: true, false, unknown, and why."""

from __future__ import annotations

from typing import Any

import pytest

from spanward.item import Item

from .compiled import call, event, item, matcher, span, warned

EVERY = [call(), item("approval"), event("e"), span()]


def _kinds(text: str, **fields: Any) -> list[str]:
    compiled = warned(text)
    asked = [item(kind, **fields) for kind in ("tool.call", "approval", "event", "span")]
    return [each.kind for each in asked if compiled.answer(each)]


@pytest.mark.parametrize(
    ("text", "fields", "kinds"),
    [
        ("{tool: {}}", {}, ["tool.call"]),
        ("{tool: }", {}, ["tool.call"]),
        ("{approval: {}}", {}, ["approval"]),
        ("{event: e}", {"name": "e"}, ["event"]),
        ("{event: e}", {"name": "E"}, []),
        ("{path: 'a*'}", {"path": "ab"}, ["tool.call", "approval", "event", "span"]),
        ("{span: 'a*'}", {"span_name": "ab"}, ["tool.call", "approval", "event", "span"]),
        ("{span: 'a*'}", {"name": "ab"}, []),
        ("{input: a}", {"input": "bab"}, ["tool.call", "approval", "event"]),
        ("{output: a}", {"output": "bab"}, ["tool.call", "approval", "event"]),
        ("{where: {seq: 1}}", {"seq": 1}, ["tool.call", "approval", "event", "span"]),
        ("{tool: {}, approval: {}}", {}, []),
    ],
)
def test_the_kinds_that_a_matcher_matches(
    text: str, fields: dict[str, Any], kinds: list[str]
) -> None:
    """A plain span is matched by ``where``, ``path`` and ``span`` only."""
    assert _kinds(text, **fields) == kinds
    assert set(kinds) <= warned(text).kinds


def test_a_matcher_knows_the_kinds_it_can_match() -> None:
    """So that dialects need not make items that nobody asks for."""
    assert matcher("{tool: {}}").kinds == {"tool.call"}
    assert matcher("{event: e}").kinds == {"event"}
    assert matcher("{input: e}").kinds == {"tool.call", "approval", "event"}
    assert matcher("{where: {a.b: 1}}").kinds == {"tool.call", "approval", "event", "span"}
    assert warned("{tool: {}, event: e}").kinds == set()
    assert matcher("{span: a}").asks_span_name
    assert not matcher("{path: a}").asks_span_name


@pytest.mark.parametrize(
    ("text", "holds", "not_"),
    [
        ("{tool: {kind: shell}}", {"tool_kind": "shell"}, {"tool_kind": "Shell"}),
        ("{tool: {kind: [a, b]}}", {"tool_kind": "b"}, {"tool_kind": "c"}),
        ("{tool: {skill: s}}", {"skill": "s"}, {"skill": "st"}),
        ("{tool: {ops: [test, delete]}}", {"ops": ("delete",)}, {"ops": ("git.push",)}),
        ("{tool: {ops: test}}", {"ops": ("delete", "test")}, {"ops": ()}),
        ("{tool: {name: ash}}", {"name": "bash"}, {"name": "bASH"}),
        ("{tool: {mcp: {server: s}}}", {"mcp_server": "s"}, {"mcp_server": "t"}),
        (
            "{tool: {mcp: {server: s, tool: [t, u]}}}",
            {"mcp_server": "s", "mcp_tool": "u"},
            {"mcp_server": "s", "mcp_tool": "v"},
        ),
        ("{path: 'src/*'}", {"path": "src/a/b"}, {"path": "lib"}),
        ("{input: '^rm'}", {"input": "rm x"}, {"input": "a rm"}),
        ("{output: e+}", {"output": "see"}, {"output": ""}),
        ("{tool: {kind: a}, input: x}", {"tool_kind": "a", "input": "x"}, {"input": "x"}),
    ],
)
def test_columns_of_a_call(text: str, holds: dict[str, Any], not_: dict[str, Any]) -> None:
    """Exactly, one of several, a part of a name, a glob, a regex; all must hold."""
    compiled = matcher(text)
    assert compiled.answer(call(**holds)) is True
    assert compiled.answer(call(**not_)) is False
    assert compiled.answer(call()) is False


def test_an_approval_is_asked_for_its_operations_and_status() -> None:
    """As a tool call is, with keys of its own."""
    compiled = matcher("{approval: {ops: [delete], status: [requested, denied]}}")
    assert compiled.answer(item("approval", ops=("delete",), status="denied")) is True
    assert compiled.answer(item("approval", ops=("delete",), status="granted")) is False
    assert compiled.answer(call(ops=("delete",), status="denied")) is False


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("{tool: {kind: a}}", "tool_kind", "not reported by this runtime"),
        ("{tool: {ops: a}}", "ops", "not reported by this runtime"),
        ("{tool: {name: a}}", "name", "not reported by this runtime"),
        ("{path: a}", "path", "not reported by this runtime"),
        ("{input: a}", "input", "not captured"),
        ("{output: a}", "output", "not captured"),
        ("{where: {status: a}}", "status", "not reported by this runtime"),
    ],
)
def test_what_is_withheld_is_unknown(text: str, column: str, found: str) -> None:
    """The runtime has it and did not capture it; one key that fails outweighs that."""
    compiled = matcher(text)
    assert compiled.answer(call(withheld=[column])) is None
    key, words = compiled.why(call(withheld=[column])) or ("", "")
    assert key
    assert words == found
    both = matcher(text[:-1] + ", where: {seq: 1}}" if "where" not in text else text)
    assert both.answer(call(withheld=[column], seq=1)) is None
    if "where" not in text:
        assert both.answer(call(withheld=[column], seq=2)) is False


def test_the_setting_that_would_have_captured_it_is_told() -> None:
    """So that the reader can turn it on."""
    asked = call(withheld=["input"], setting="CAPTURE=1")
    assert matcher("{input: a}").why(asked) == ("input", "not captured (CAPTURE=1)")


@pytest.mark.parametrize(
    ("text", "asked", "why"),
    [
        ("{tool: {}}", event("e"), ("tool", "a event item")),
        ("{tool: {kind: a}}", call(tool_kind="b"), ("tool.kind", "'b'")),
        ("{tool: {kind: a}}", call(), ("tool.kind", "nothing")),
        ("{tool: {ops: a}}", call(ops=("b",)), ("tool.ops", "('b',)")),
        ("{tool: {mcp: {tool: a}}}", call(mcp_tool="b"), ("tool.mcp.tool", "'b'")),
        ("{tool: {name: a}}", call(name="b" * 99), ("tool.name", "'" + "b" * 79)),
        ("{input: a}", span(input="a"), ("input", "a plain span")),
        ("{path: a}", call(path="b"), ("path", "'b'")),
        ("{where: {seq: 1}}", call(seq=2), ("where.seq", "2")),
        ("{event: e}", event("e"), None),
    ],
)
def test_why_an_item_does_not_match(text: str, asked: Item, why: tuple[str, str] | None) -> None:
    """The key that fails and what is there instead; nothing for a match."""
    assert matcher(text).why(asked) == why


def test_what_fails_for_certain_is_told_before_what_is_unknown() -> None:
    """Whichever stands first."""
    compiled = matcher("{tool: {kind: a, name: b}}")
    assert compiled.why(call(withheld=["tool_kind"], name="c")) == ("tool.name", "'c'")


def test_no_matcher_matches_everything() -> None:
    """Each key narrows; the kinds exclude one another."""
    for text in ("{tool: {}}", "{approval: {}}", "{event: e}"):
        assert len([each for each in EVERY if matcher(text).answer(each)]) == 1
