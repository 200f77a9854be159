"""The GenAI conventions: what ``execute_tool`` spans say, and what they leave unsaid."""

from __future__ import annotations

from typing import Any

import pytest

from spanward.dialects import DIALECTS
from spanward.dialects.dialect import About
from spanward.dialects.fields import Belongs
from spanward.item import APPROVAL, CUT, SPAN, TOOL_CALL
from tests.dialects.records import EVERYTHING, NOTHING_ASKED, event, item, log, report, source, span

OPERATION = {"gen_ai.operation.name": "execute_tool"}
CALL: dict[str, Any] = {
    **OPERATION,
    "gen_ai.tool.name": "read_file",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.tool.call.arguments": '{"path": "a"}',
    "gen_ai.tool.call.result": "contents\n",
    "gen_ai.conversation.id": "conv",
}
NOT_REPORTED = {"tool_kind", "ops", "path", "op", "mcp_server", "mcp_tool"}


def test_a_call_with_its_content() -> None:
    """Name, id, arguments, input as their text, output, status; the rest is not reported."""
    made = item(span("execute_tool read_file", CALL))
    assert made.kind == TOOL_CALL
    assert (made.name, made.call_id, made.session) == ("read_file", "c1", "conv")
    assert (made.args, made.input, made.output) == ({"path": "a"}, '{"path": "a"}', "contents")
    assert (made.status, made.span_name) == ("ok", "execute_tool read_file")
    assert made.withheld == NOT_REPORTED


def test_the_older_names_of_pydantic_ai() -> None:
    """Version 2 of its instrumentation."""
    old = {**OPERATION, "tool_arguments": '{"a": 1}', "tool_response": "ok"}
    made = item(span("running tool", old))
    assert (made.args, made.output) == ({"a": 1}, "ok")


def test_strands_says_it_in_events() -> None:
    """Arguments and result of span events; the events are items of their own."""
    events = (
        event("gen_ai.user.message", {"content": "no"}),
        event("gen_ai.tool.message", {"content": '{"x": 7}'}),
        event("gen_ai.choice", {"message": "boom"}),
    )
    call, *others = report(span("execute_tool boom", OPERATION, events=events)).items
    assert (call.args, call.input, call.output) == ({"x": 7}, '{"x": 7}', "boom")
    assert [each.name for each in others] == [each.name for each in events]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({}, False),
        ({"error.type": "ValueError"}, False),
        ({"gen_ai.tool.status": "error"}, False),
        ({}, True),
    ],
)
def test_status(more: dict[str, Any], error: bool) -> None:
    """An error of the span, an error type or a tool status says that it failed."""
    made = item(span("execute_tool x", {**OPERATION, **more}, error=error))
    assert made.status == ("error" if more or error else "ok")


def test_content_that_was_not_captured_is_withheld() -> None:
    """With the setting that would have captured it; a failed call has no result to miss."""
    made = item(span("execute_tool x", OPERATION, source=source("pydantic-ai")))
    assert made.withheld == NOT_REPORTED | {"args", "input", "output"}
    assert "include_content" in made.setting
    failed = item(span("execute_tool x", OPERATION, error=True))
    assert failed.withheld == NOT_REPORTED | {"args", "input"}
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in failed.setting


@pytest.mark.parametrize(
    ("sent", "args", "withheld"),
    [
        ({"k": 1}, {"k": 1}, False),
        ("[1]", None, False),
        ('{"cut off', None, True),
        (CUT, None, True),
    ],
)
def test_arguments(sent: Any, args: Any, withheld: bool) -> None:
    """Structured or text; text that cannot be read was cut, and nothing is said of it."""
    made = item(span("execute_tool x", {**CALL, "gen_ai.tool.call.arguments": sent}))
    assert made.args == args
    assert ("args" in made.withheld) == withheld


def test_arguments_nobody_asks_for_are_not_parsed() -> None:
    """Then they are neither there nor missing."""
    made = item(span("execute_tool x", CALL), NOTHING_ASKED)
    assert made.args is None
    assert "args" not in made.withheld
    assert made.input == '{"path": "a"}'


def test_a_deferred_call_is_an_approval_that_was_requested() -> None:
    """It did not run; it keeps name, id and input, and has no result to miss."""
    deferred = {**CALL, "pydantic_ai.tool.deferral.name": "ApprovalRequired"}
    del deferred["gen_ai.tool.call.result"]
    made = item(span("execute_tool read_file", deferred, error=True))
    assert (made.kind, made.status) == (APPROVAL, "requested")
    assert (made.name, made.call_id, made.args) == ("read_file", "c1", {"path": "a"})
    assert "output" not in made.withheld


def test_native_attributes_on_a_call_are_read_too() -> None:
    """A runtime that says more than the conventions do is believed."""
    made = item(span("execute_tool x", {**CALL, "hangar.shell.ops": ["test"], "hangar.seq": 3}))
    assert (made.ops, made.seq) == (("test",), 3)
    assert "ops" not in made.withheld


def test_what_it_does_not_claim() -> None:
    """Other operations, native names and logs are read natively, and nothing is withheld."""
    assert item(span("chat x", {"gen_ai.operation.name": "chat"})).kind == SPAN
    native = item(span("tool.call", CALL))
    assert (native.kind, native.withheld) == (TOOL_CALL, frozenset())
    assert not item(log(OPERATION)).withheld


def test_alone_it_leaves_the_rest_unread() -> None:
    """With this dialect only, other spans and logs give no items, but name their session."""
    other = report(span("tool.call", {"session.id": "s"}), names=("genai",))
    assert (other.items, other.session, other.binds) == ((), "s", True)
    assert report(log({"session.id": "s"}), names=("genai",)).items == ()
    assert len(report(span("execute_tool x", CALL), names=("genai",)).items) == 1


def test_a_log_that_is_handed_to_it_is_read_natively() -> None:
    """It claims none, but keeps the promise of every dialect."""
    belongs = Belongs("s", None, None)
    (made,) = DIALECTS["genai"].log(log(body="x"), About(belongs, (), None), EVERYTHING)
    assert (made.name, made.session) == ("x", "s")
