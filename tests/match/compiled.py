"""Compiles matchers as a spec file writes them, and makes the items that they are asked of."""

from __future__ import annotations

from typing import Any

from spanward.errors import Problem, Problems
from spanward.item import EVENT, SPAN, TOOL_CALL, Item
from spanward.match.matcher import Matcher
from spanward.specs.loader import load_text
from spanward.specs.spec import Spec

_HEAD = "name: a\nassert:\n  never:\n    "


def matcher(text: str) -> Matcher:
    """The matcher that is written so, in one line; there must be no problem with it."""
    problems = Problems()
    specs = load_text(_HEAD + text, "f", problems)
    assert problems.found == ()
    return _only(specs)


def warned(text: str) -> Matcher:
    """The matcher that is written so, whatever is warned of."""
    return _only(load_text(_HEAD + text, "f", Problems()))


def told(text: str) -> list[str]:
    """All that is told of a matcher: column from the matcher's first character, words, (hint)."""
    problems = Problems()
    load_text(_HEAD + text, "f", problems)
    return [_told(problem, len(_HEAD.rpartition("\n")[2])) for problem in problems.found]


def told_of(assertion: str, more: str = "") -> list[str]:
    """All that is told of an assertion, columns counted from its first character."""
    problems = Problems()
    load_text(f"name: a\n{more}assert:\n  {assertion}\n", "f", problems)
    return [_told(problem, 2) for problem in problems.found]


def spec(assertion: str, more: str = "") -> Spec:
    """The spec of an assertion in one line, whatever is warned of."""
    problems = Problems()
    (loaded,) = load_text(f"name: a\n{more}assert:\n  {assertion}\n", "f", problems)
    return loaded


def _only(specs: tuple[Spec, ...]) -> Matcher:
    ((role,),) = [spec.operator.roles for spec in specs]
    return role.matcher


def _told(problem: Problem, indent: int) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    column = problem.place.column - indent
    return f"{column} {problem.severity}: {problem.message}{hint}"


def item(kind: str, **fields: Any) -> Item:
    """An item of a kind; its record is always the same."""
    record: dict[str, Any] = {"trace_id": b"t" * 16, "span_id": b"s" * 8}
    record |= {"start_ns": 1, "end_ns": 2} | fields
    if "withheld" in record:
        record["withheld"] = frozenset(record["withheld"])
    return Item(kind=kind, **record)


def call(**fields: Any) -> Item:
    """A tool call."""
    return item(TOOL_CALL, **fields)


def event(name: str, **fields: Any) -> Item:
    """A span event."""
    return item(EVENT, **({"name": name, "event": 0} | fields))


def span(**fields: Any) -> Item:
    """A plain span."""
    return item(SPAN, **fields)
