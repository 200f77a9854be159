"""What operators refuse to load, and what they warn of: semantics, sections 5 and 9."""

from __future__ import annotations

import pytest

from spanward.errors import Problems
from spanward.specs.loader import load_text
from spanward.verdict import Cause, Result, Verdict, as_object


def told(assertion: str, more: str = "") -> list[str]:
    """What is told about an assertion: severity and message."""
    problems = Problems()
    load_text(f"name: a\n{more}assert: {assertion}\n", "a.yaml", problems)
    return [f"{one.severity}: {one.message} | {one.hint}" for one in problems.found]


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("{never: 3}", "a matcher must be a mapping"),
        ("{eventually: []}", "a matcher must be a mapping"),
        ("{count: 3}", "count must be a mapping, not the number 3"),
        ("{count: {min: 1}}", "count needs the key 'match'"),
        ("{count: {match: {tool: {}}}}", "count needs 'min' or 'max', or both"),
        ("{count: {match: {tool: {}}, min: 3, max: 1}}", "count.min is 3, more than count.max"),
        ("{count: {match: {tol: {}}, min: 3, max: 1}}", "count.min is 3, more than count.max"),
        ("{count: {match: {tool: {}}, min: -1}}", "count.min must be an integer of at least 0"),
        ("{count: {match: {tool: {}}, max: true}}", "count.max must be an integer of at least 0"),
        ("{count: {match: {tool: {}}, max: 1, of: 2}}", "unknown key 'of' in count"),
        ("{before: []}", "before must be a mapping, not an empty list"),
        ("{before: {first: {tool: {}}}}", "before needs the key 'then'"),
        ("{before: {first: {tool: {}}, then: 3}}", "a matcher must be a mapping"),
        ("{order: {tool: {}}}", "order takes a list of two or more matchers, not a mapping"),
        ("{order: [{tool: {}}]}", "order takes a list of two or more matchers, not 1"),
        ("{order: [{tool: {}}, 3]}", "a matcher must be a mapping"),
        ("{each: {tool: {}}}", "each needs the key 'requires_prior'"),
        ("{each: {tool: {}}, requires_prior: 3}", "a matcher must be a mapping"),
        ("{each: {tool: {}}, requires_prior: {tool: {}}, within: 3}", "within must be a mapping"),
        (
            "{each: {tool: {}}, requires_prior: {tool: {}}, within: {seq: 1, turns: 1}}",
            "within takes one window: 'seq' or 'turns', not both",
        ),
        (
            "{each: {tool: {}}, requires_prior: {tool: {}}, within: {steps: 1}}",
            "unknown key 'steps' in within",
        ),
        (
            "{each: {tool: {}}, requires_prior: {tool: {}}, within: {seq: 0}}",
            "within.seq must be an integer of at least 1",
        ),
        (
            "{each: {tool: {}}, requires_prior: {tool: {}}, within: {turns: 1.5}}",
            "within.turns must be an integer of at least 0",
        ),
        ("{all: 3}", "all must be a mapping"),
        ("{all: {match: x}}", "all needs the key 'paths'"),
        ("{any: {paths: {from: file.change}}}", "any needs the key 'match'"),
        ("{any: {paths: 3, match: x}}", "any.paths must be a mapping"),
        ("{any: {paths: {of: x}, match: x}}", "any.paths needs the key 'from'"),
        ("{any: {paths: {from: 3}, match: x}}", "any.paths.from must be a text"),
        (
            "{any: {paths: {from: file.changed}, match: x}}",
            "unknown source of paths 'file.changed' | did you mean 'file.change'?",
        ),
        ("{any: {paths: {from: zzz}, match: x}}", "unknown source of paths 'zzz' | sources are:"),
    ],
)
def test_mistakes(assertion: str, message: str) -> None:
    """Each is an error, in these words."""
    found = told(assertion)
    assert any(message in one and one.startswith("error: ") for one in found), found


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("3", "expected_tools must be a list of tools, not the number 3"),
        ("[]", "expected_tools must be a list of tools, not an empty list"),
        ("[3]", "an expected tool must be a text, not the number 3"),
        ("[[a]]", "an expected tool must be a mapping, not a list"),
        ("[{args: {a: 1}}]", "an expected tool needs the key 'name'"),
        ("[{name: a, counts: 2}]", "unknown key 'counts' in an expected tool"),
        ("[{name: a, count: 0}]", "count must be an integer of at least 1"),
        ("[{name: a, count: true}]", "count must be an integer of at least 1"),
        ("[{name: a, args: {}}]", "args must be a mapping, not an empty mapping"),
    ],
)
def test_mistakes_in_expected_tools(tools: str, message: str) -> None:
    """As of any other operator."""
    found = told(f"{{expected_tools: {tools}}}", "unit: session\n")
    assert any(message in one and one.startswith("error: ") for one in found), found


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("{count: {match: {tool: {}}, min: 0}}", "this spec cannot fail"),
        ("{order: [{span: a}, {tool: {}}]}", "'span' in an operator that compares order"),
        ("{before: {first: {tool: {}}, then: {span: a}}}", "'span' in an operator that compares"),
        ("{each: {span: a}, requires_prior: {tool: {}}}", "'span' in an operator that compares"),
    ],
)
def test_warnings(assertion: str, message: str) -> None:
    """Legal, but probably not meant."""
    (found,) = told(assertion)
    assert found.startswith("warning: ")
    assert message in found


def test_numbers_that_json_does_not_have_are_named() -> None:
    """An expected argument may be infinite; JSON has no word for it."""
    details = [{"args_asserted": {"a": [float("inf"), 1.5]}}]
    verdict = Verdict(
        spec="a", operator="expected_tools", severity="info", unit="session", session="s",
        turn=None, job=None, result=Result.FAIL, reason="", early=False, cause=Cause.IDLE,
        revision=0, decided_by=None, witnesses=(), details=details,
    )  # fmt: skip
    assert as_object(verdict)["details"] == [{"args_asserted": {"a": ["inf", 1.5]}}]
