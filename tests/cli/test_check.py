"""``spanward check`` as a program would run it: outputs, exit codes, and what goes where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from spanward.cli import main

SPEC = """
name: never-rm
severity: critical
assert: {never: {tool: {name: rm}}}
---
name: tests-first
assert: {before: {first: {tool: {name: pytest}}, then: {tool: {name: push}}}}
---
name: expected
unit: session
assert: {expected_tools: [{name: rm, args: {path: {fuzzy: "A"}}}]}
"""


def call(tool: str, number: int, **attributes: str) -> dict[str, Any]:
    """A native tool call as OTLP/JSON."""
    known = {"session.id": "s1", "gen_ai.tool.name": tool, **attributes}
    return {
        "traceId": "0" * 31 + "1",
        "spanId": f"{number:016x}",
        "name": "tool.call",
        "startTimeUnixNano": str(1000 * number),
        "endTimeUnixNano": str(1000 * number + 10),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in known.items()],
    }


def line(*spans: dict[str, Any]) -> str:
    """A line of OTLP/JSON."""
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}) + "\n"


ARGUMENTS = {"gen_ai.tool.call.arguments": '{"path": "a"}'}
SESSION = line(call("push", 5)) + "\n" + line(call("rm", 2, **ARGUMENTS), call("pytest", 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A spec file and a recording."""
    (tmp_path / "specs.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "session.jsonl").write_text(SESSION, encoding="utf-8")
    return tmp_path


def check(folder: Path, *options: str, text: str | None = None) -> Result:
    """Run the command; the recording is judged unless files are given."""
    given = [option for option in options if option.endswith((".jsonl", ".gz")) or option == "-"]
    files = [] if given else [str(folder / "session.jsonl")]
    arguments = ["check", "--specs", str(folder / "specs.yaml"), *options, *files]
    return CliRunner().invoke(main, arguments, input=text)


def test_json_has_the_promised_shape(folder: Path) -> None:
    """One entry for each unit and spec, sorted; nothing else on standard output."""
    result = check(folder, "--format", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert list(found) == ["spanward", "specs", "items", "sessions", "verdicts", "counts"]
    assert (found["specs"], found["items"], found["sessions"]) == (3, 3, 1)
    assert found["counts"] == {"pass": 2, "fail": 1, "not_applicable": 0, "unknown": 0}
    expected, never, before = found["verdicts"]
    step = {
        "trace_id": "0" * 31 + "1",
        "span_id": "0" * 15 + "2",
        "event": None,
        "kind": "tool.call",
        "name": "rm",
        "seq": None,
        "turn": None,
        "time_ns": 2000,
    }
    assert never == {
        "spec": "never-rm",
        "operator": "never",
        "severity": "critical",
        "unit": "session",
        "session": "s1",
        "turn": None,
        "job": None,
        "result": "fail",
        "reason": "a forbidden item occurred",
        "early": True,
        "cause": "item",
        "revision": 0,
        "decided_by": step,
        "witnesses": [step],
        "details": None,
    }
    assert (before["result"], before["revision"], before["early"]) == ("pass", 1, True)
    assert expected["details"] == [
        {
            "expected_tool": "rm",
            "args_asserted": {"path": {"fuzzy": "A"}},
            "count": 1,
            "matched_call_index": 1,
            "unmatched_reason": None,
        }
    ]


def test_jsonl_tells_what_was_announced(folder: Path) -> None:
    """In order, revisions included: the push fails, until the earlier test run comes."""
    result = check(folder, "--format", "jsonl")
    told = [json.loads(each) for each in result.stdout.splitlines()]
    assert [(one["spec"], one["result"], one["revision"]) for one in told] == [
        ("tests-first", "fail", 0),
        ("never-rm", "fail", 0),
        ("expected", "pass", 0),
        ("tests-first", "pass", 1),
    ]


def test_the_table_is_for_people(folder: Path) -> None:
    """Result, spec, unit, and why; a line that counts."""
    result = check(folder)
    assert "fail    never-rm" in result.stdout
    assert "a forbidden item occurred" in result.stdout
    assert "3 specs, 3 items, 1 sessions: 2 pass, 1 fail" in result.stdout


def test_foreign_text_cannot_draw_on_the_terminal(folder: Path) -> None:
    """Control characters are shown as escapes, and markup is text."""
    (folder / "session.jsonl").write_text(line(call("rm \x1b[31m[bold]", 1)), encoding="utf-8")
    result = check(folder)
    assert "\x1b" not in result.stdout
    assert "[bold]" in result.stdout.replace("\n", "").replace(" ", "")


def test_only_failures(folder: Path) -> None:
    """The others are counted all the same."""
    found = json.loads(check(folder, "--format", "json", "--only-failures").stdout)
    assert [verdict["spec"] for verdict in found["verdicts"]] == ["never-rm"]
    assert found["counts"]["pass"] == 2
    assert "pass  " not in check(folder, "--only-failures").stdout


def test_output_goes_to_a_file(folder: Path) -> None:
    """And nothing to standard output."""
    result = check(folder, "--format", "json", "--output", str(folder / "out.json"))
    assert result.stdout == ""
    assert json.loads((folder / "out.json").read_text(encoding="utf-8"))["items"] == 3


def test_standard_input_and_gzip(folder: Path) -> None:
    """``-`` and ``.gz``, several files in the order given."""
    packed = folder / "session.jsonl.gz"
    packed.write_bytes(gzip.compress(line(call("ls", 9)).encode()))
    result = check(folder, "--format", "json", str(packed), "-", text=SESSION)
    assert json.loads(result.stdout)["items"] == 4


def test_a_good_session_exits_with_zero(folder: Path) -> None:
    """Nothing failed."""
    (folder / "session.jsonl").write_text(line(call("ls", 1)), encoding="utf-8")
    spec = folder / "specs.yaml"
    spec.write_text("name: a\nassert: {never: {tool: {name: rm}}}", encoding="utf-8")
    assert check(folder).exit_code == 0


def test_a_dialect_may_be_chosen(folder: Path) -> None:
    """With the GenAI dialect alone native calls are nobody's."""
    result = check(folder, "--format", "json", "--dialect", "genai")
    assert json.loads(result.stdout)["items"] == 0


def test_a_mistake_in_a_spec_exits_with_two(folder: Path) -> None:
    """Shown on standard error, with its place; nothing is judged."""
    (folder / "specs.yaml").write_text("name: a\nassert: {nver: {}}\n", encoding="utf-8")
    result = check(folder)
    assert result.exit_code == 2
    assert "specs.yaml:2:" in result.stderr
    assert "did you mean 'never'?" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("options", [("--format", "xml"), ("--nonsense",), ("--specs",)])
def test_a_mistake_in_the_call_exits_with_two(folder: Path, options: tuple[str, ...]) -> None:
    """As usual."""
    assert check(folder, *options).exit_code == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [("{}\nnot json\n", "session.jsonl:2: not JSON"), ("[1]", "session.jsonl:1: not a JSON obj")],
)
def test_one_unreadable_line_exits_with_three(folder: Path, text: str, why: str) -> None:
    """With its number on standard error, and nothing on standard output."""
    (folder / "session.jsonl").write_text(text, encoding="utf-8")
    result = check(folder, "--format", "json")
    assert result.exit_code == 3
    assert why in result.stderr
    assert result.stdout == ""


def test_a_file_that_cannot_be_read_exits_with_three(folder: Path) -> None:
    """Missing, or cut short."""
    assert check(folder, str(folder / "missing.jsonl")).exit_code == 3
    broken = folder / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(SESSION.encode())[:-9])
    assert check(folder, str(broken)).exit_code == 3
    broken.write_bytes(b"no gzip at all")
    assert check(folder, str(broken)).exit_code == 3


def test_rejected_records_are_told(folder: Path) -> None:
    """On standard error, by reason."""
    bad = {**call("rm", 1), "traceId": "00"}
    (folder / "session.jsonl").write_text(line(bad, call("ls", 2)), encoding="utf-8")
    assert "1 records were not taken: bad trace id" in check(folder).stderr
