"""The native dialect: semantics, section 1."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spanward.item import APPROVAL, CUT, EVENT, ON_LOG, SPAN, TOOL_CALL
from tests.dialects.records import NOTHING_ASKED, event, item, log, report, source, span

FULL: dict[str, Any] = {
    "hangar.session.id": "s1",
    "hangar.job.id": "j1",
    "hangar.seq": 7,
    "hangar.turn": 2,
    "hangar.tool.kind": "shell",
    "hangar.shell.ops": ["test", 3, "git.push"],
    "hangar.mcp.server": "files",
    "hangar.mcp.tool": "read",
    "gen_ai.skill.name": "review",
    "gen_ai.tool.name": "bash",
    "gen_ai.tool.call.id": "c1",
    "hangar.tool.input": "in\n\n",
    "hangar.tool.output": "x" * 501,
    "hangar.file.repo_path": "src/a.py",
    "hangar.file.op": "edit",
    "hangar.test.trusted": True,
    "hangar.test.total": 12,
    "hangar.test.complete": False,
    "hangar.diff.files": ["a", None, "b"],
    "gen_ai.tool.call.arguments": '{"n": 1}',
    "x.y": 1.5,
    "nobody": 1,
}


def test_every_native_name_has_its_column() -> None:
    """All names of the page, on one tool call."""
    made = item(span("tool.call", FULL))
    assert made.kind == TOOL_CALL
    assert (made.session, made.job, made.seq, made.turn) == ("s1", "j1", 7, 2)
    assert (made.tool_kind, made.mcp_server, made.mcp_tool) == ("shell", "files", "read")
    assert made.ops == ("test", "git.push")
    assert (made.skill, made.name, made.call_id, made.status) == ("review", "bash", "c1", "ok")
    assert (made.input, made.output) == ("in\n", "x" * 500)
    assert (made.path, made.op) == ("src/a.py", "edit")
    assert (made.trusted, made.total, made.complete) == (True, 12, False)
    assert made.diff_files == ("a", None, "b")
    assert made.args == {"n": 1}
    assert made.attributes == {"x.y": 1.5}
    assert (made.span_name, made.start_ns, made.end_ns) == ("tool.call", 10, 20)
    assert not made.withheld


@pytest.mark.parametrize(
    ("name", "kind"),
    [("tool.call", TOOL_CALL), ("approval", APPROVAL), ("test.run", EVENT), ("chat", SPAN)],
)
def test_the_span_name_says_the_kind(name: str, kind: str) -> None:
    """A record is what it says it is; its name is its span's when it names no tool."""
    made = item(span(name))
    assert (made.kind, made.name) == (kind, name)


def test_an_event_is_named_as_an_event_and_the_others_after_their_tool() -> None:
    """A tool name does not rename a test run."""
    tool = {"gen_ai.tool.name": "bash"}
    assert [item(span(name, tool)).name for name in ("approval", "chat", "test.run")] == [
        "bash",
        "bash",
        "test.run",
    ]


def test_status_is_of_calls_and_approvals_only() -> None:
    """A call says it, else its span does; an approval says it or not; nothing else has one."""
    assert item(span("tool.call", error=True)).status == "error"
    assert item(span("tool.call", {"hangar.tool.status": "denied"}, error=True)).status == "denied"
    assert item(span("approval", {"hangar.approval.status": "allowed"})).status == "allowed"
    assert item(span("approval", error=True)).status is None
    assert item(span("chat", {"hangar.tool.status": "ok"}, error=True)).status is None


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"k": 1}, {"k": 1}),
        ('{"k": [1.5]}', {"k": [1.5]}),
        ("[1]", None),
        ("{broken", None),
        (7, None),
        (CUT, None),
    ],
)
def test_arguments_are_a_mapping_or_the_json_text_of_one(sent: Any, expected: Any) -> None:
    """Anything else is no arguments; what was cut is withheld."""
    made = item(span("tool.call", {"gen_ai.tool.call.arguments": sent}))
    assert made.args == expected
    assert made.withheld == ({"args"} if sent is CUT else set())


@pytest.mark.parametrize(
    ("sent", "expected"),
    [(5, 5), (5.0, 5), (5.5, None), ("5", None), (True, None), (math.inf, None), (math.nan, None)],
)
def test_seq_and_turn_are_integers_or_nothing(sent: Any, expected: int | None) -> None:
    """Text and fractions are none."""
    made = item(span("tool.call", {"hangar.seq": sent, "hangar.turn": sent}))
    assert (made.seq, made.turn) == (expected, expected)


def test_sessions_are_named_in_three_ways() -> None:
    """The native name first; what is no text, or empty, names nothing."""
    names = ("hangar.session.id", "gen_ai.conversation.id", "session.id")
    sent: dict[str, Any] = {"session.id": "c"}
    assert report(span("x", sent)).session == "c"
    sent["gen_ai.conversation.id"] = "b"
    assert report(span("x", sent)).session == "b"
    sent["hangar.session.id"] = "a"
    assert report(span("x", sent)).session == "a"
    assert report(span("x", dict.fromkeys(names, 5) | {"session.id": ""})).session is None


def test_scope_and_resource_never_name_a_session_or_a_turn() -> None:
    """But the resource gives the job to every item that has none."""
    named = {"session.id": "s", "hangar.turn": 3, "hangar.job.id": "j9"}
    far = source(scope_attributes=named, resource=named)
    made = report(span("tool.call", source=far, events=(event("e"),)))
    assert made.session is None
    for each in made.items:
        assert (each.session, each.turn, each.job) == (None, None, "j9")
    assert item(log(source=far)).job == "j9"
    assert item(span("tool.call", {"hangar.job.id": "own"}, source=far)).job == "own"


def test_an_event_inherits_what_it_does_not_say() -> None:
    """Session, job and turn come from the span, never the seq, the path or the status."""
    made = report(
        span("tool.call", FULL, events=(event("steer"), event("e", {"x.z": 2}))),
    )
    bare, other = made.items[1:]
    for each in (bare, other):
        assert each.kind == EVENT
        assert (each.session, each.job, each.turn) == ("s1", "j1", 2)
        assert (each.seq, each.path, each.status, each.ops, each.args) == (None,) * 5
        assert each.span_name is None
    assert (bare.name, bare.event, bare.start_ns, bare.end_ns) == ("steer", 0, 15, 15)
    assert other.event == 1
    assert other.attribute("x.z") == 2


def test_an_event_may_say_all_of_it_itself() -> None:
    """What it says is what counts."""
    own = {"session.id": "own", "hangar.job.id": "oj", "hangar.turn": 9, "hangar.seq": 4}
    (_, made) = report(span("tool.call", FULL, events=(event("e", own),))).items
    assert (made.session, made.job, made.turn, made.seq) == ("own", "oj", 9, 4)
    odd = {"hangar.turn": "nine"}
    (_, made) = report(span("tool.call", FULL, events=(event("e", odd),))).items
    assert made.turn == 2


def test_attributes_are_looked_up_from_the_inside_out() -> None:
    """Own, then the span's, then the scope's, then the resource's."""
    far = source(scope_attributes={"x.y": "scope"}, resource={"x.y": "resource", "x.z": "resource"})
    record = span("chat", {"x.y": "span"}, source=far, events=(event("e"), event("f", {"x.y": 0})))
    whole, bare, own = report(record).items
    assert [each.attribute("x.y") for each in (whole, bare, own)] == ["span", "span", 0]
    assert [each.attribute("x.z") for each in (whole, bare, own)] == ["resource"] * 3
    assert whole.attribute("x.nothing") is None


@pytest.mark.parametrize(
    ("fields", "attributes", "name"),
    [
        ({"event_name": "a", "body": "c"}, {"event.name": "b"}, "a"),
        ({"body": "c"}, {"event.name": "b"}, "b"),
        ({"body": "c"}, {}, "c"),
        ({"body": {"c": 1}}, {"event.name": 4}, None),
    ],
)
def test_a_log_is_an_event_named_in_three_ways(
    fields: dict[str, Any], attributes: dict[str, Any], name: str | None
) -> None:
    """Its event name, an attribute, or a body that is text."""
    made = item(log(attributes, **fields))
    assert (made.kind, made.name, made.event) == (EVENT, name, ON_LOG)
    assert (made.start_ns, made.end_ns, made.digest) == (12, 12, b"d" * 16)


def test_session_end_ends() -> None:
    """As a span event, and as a log record."""
    (_, ended) = report(span("tool.call", events=(event("session.end"),))).items
    assert ended.ends
    assert item(log(event_name="session.end")).ends
    assert not item(log(event_name="session.ended")).ends


def test_plain_spans_are_items_only_for_those_who_ask() -> None:
    """Unless they carry a diff, which ``all`` and ``any`` read on any record."""
    assert report(span("chat", {"session.id": "s"}), NOTHING_ASKED).items == ()
    assert len(report(span("chat", {"hangar.diff.files": ["a"]}), NOTHING_ASKED).items) == 1
    assert item(span("tool.call", {"gen_ai.tool.call.arguments": "{}"}), NOTHING_ASKED).args is None


def test_a_plain_span_that_nobody_asks_for_still_has_its_events() -> None:
    """They make the session's units, and may be asked for themselves."""
    record = span("chat", {"session.id": "s"}, events=(event("steer"),))
    (made,) = report(record, NOTHING_ASKED).items
    assert (made.kind, made.session) == (EVENT, "s")


def test_structured_input_is_seen_as_json() -> None:
    """A mapping or a number as input is text all the same."""
    made = item(span("tool.call", {"hangar.tool.input": {"a": "é"}, "hangar.tool.output": 5}))
    assert (made.input, made.output) == ('{"a":"é"}', "5")


def test_lists_may_be_single_texts_and_nothing_else() -> None:
    """One operation or path need not be a list; a number is none."""
    single = {"hangar.shell.ops": "test", "hangar.diff.files": "a.py"}
    made = item(span("tool.call", single))
    assert (made.ops, made.diff_files) == (("test",), ("a.py",))
    made = item(span("tool.call", dict.fromkeys(single, 7)))
    assert (made.ops, made.diff_files) == (None, None)


def test_what_was_cut_is_withheld() -> None:
    """A value that could not be read whole is neither there nor absent."""
    cut = dict.fromkeys(
        ["hangar.file.repo_path", "hangar.shell.ops", "gen_ai.tool.name", "x.y"], CUT
    )
    made = item(span("tool.call", cut))
    assert made.withheld >= {"path", "ops", "name"}
    assert made.attribute("x.y") is CUT


def test_arguments_that_are_too_much_to_read_are_withheld() -> None:
    """A call must not pass unseen because its arguments are deep or many: they are unknown."""
    deep = '{"a":' * 65 + "1" + "}" * 65
    many = '{"a":[' + "1," * 100_001 + "1]}"
    for text in (deep, many):
        made = item(span("tool.call", {"gen_ai.tool.call.arguments": text}))
        assert made.args is None
        assert made.withheld == {"args"}
