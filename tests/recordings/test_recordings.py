"""The example specs, judged on what real runtimes sent: the verdicts that the story demands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from spanward.dialects import DIALECTS
from spanward.errors import Problems, render_all
from spanward.offline import Judgement, Recording
from spanward.otlp.jsonlines import read_line
from spanward.otlp.record import SpanRecord
from spanward.specs.loader import load
from spanward.verdict import Cause, Verdict, Witness

HERE: Final = Path(__file__).parent
EXAMPLES: Final = HERE.parents[1] / "examples"
EXPECTED: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    (HERE / "expected.yaml").read_text(encoding="utf-8")
)
OF_EXAMPLES: Final = {
    "demo": (EXAMPLES / "demo.yaml", EXAMPLES / "session.jsonl"),
    "native": (EXAMPLES / "native", EXAMPLES / "native" / "session.jsonl"),
}
"""What is not a recording in this folder: its specs and its file."""
CALL_ID: Final = "gen_ai.tool.call.id"


def sources(name: str) -> tuple[Path, list[Path]]:
    """The specs that judge a recording, and its files, traces first."""
    if name in OF_EXAMPLES:
        specs, file = OF_EXAMPLES[name]
        return specs, [file]
    return EXAMPLES / "specs", sorted(HERE.glob(f"{name}.*.jsonl"), reverse=True)


def judged(name: str) -> Judgement:
    """A recording, judged."""
    path, files = sources(name)
    problems = Problems()
    specs = load([path], problems)
    assert not problems.found, render_all(problems.found)
    recording = Recording(specs, DIALECTS.values())
    for file in files:
        for line in file.read_bytes().splitlines():
            recording.add(read_line(line, recording.wanted))
    return recording.judge()


def call_ids(name: str) -> dict[str, str]:
    """The call id of each tool span of a recording, by span id."""
    _, files = sources(name)
    records = [
        record
        for file in files
        for line in file.read_bytes().splitlines()
        for record in read_line(line, frozenset({CALL_ID})).records
        if isinstance(record, SpanRecord) and CALL_ID in record.attributes
    ]
    return {record.span_id.hex(): record.attributes[CALL_ID] for record in records}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_story_is_what_the_verdicts_say(name: str) -> None:
    """Every spec on every session: result, when it stood, witnesses by call id, and details."""
    calls = call_ids(name)
    verdicts = judged(name).verdicts
    assert {verdict.session for verdict in verdicts} == set(EXPECTED[name])
    for verdict in verdicts:
        expected = EXPECTED[name][verdict.session or ""].get(key_of(verdict))
        told = told_of(verdict, calls)
        assert verdict.early == (verdict.cause is Cause.ITEM) == (told["decided_by"] is not None)
        if expected is None:
            applies = verdict.operator not in ("each", "before")
            expected = {"result": "pass" if applies else "not_applicable"}
        wanted = {"decided_by": None, "witnesses": []} | expected
        wanted.pop("because", None)
        assert told | wanted == told, (verdict.session, verdict.spec)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_expectation_meets_its_verdict(name: str) -> None:
    """No expected verdict is misspelt and so never compared."""
    given = {(verdict.session, key_of(verdict)) for verdict in judged(name).verdicts}
    expected = {
        (session, key)
        for session, story in EXPECTED[name].items()
        for key in story
        if key != "because"
    }
    assert expected <= given


def key_of(verdict: Verdict) -> str:
    """The spec, and for a turn its number."""
    return verdict.spec if verdict.turn is None else f"{verdict.spec}/{verdict.turn}"


def told_of(verdict: Verdict, calls: dict[str, str]) -> dict[str, Any]:
    """A verdict in the words of the story."""
    told: dict[str, Any] = {
        "result": str(verdict.result),
        "decided_by": verdict.decided_by and step(verdict.decided_by, calls),
        "witnesses": [step(witness, calls) for witness in verdict.witnesses],
    }
    if verdict.details is not None:
        told["indexes"] = [detail["matched_call_index"] for detail in verdict.details]
        told["reasons"] = [detail["unmatched_reason"] for detail in verdict.details]
    return told


def step(witness: Witness, calls: dict[str, str]) -> str:
    """A step by its call id; an event by its name and position."""
    if witness.event is None:
        return calls[witness.span_id]
    return f"{witness.name}@{witness.seq}"


def test_every_recording_has_its_story() -> None:
    """No recording lies here unjudged."""
    here = {file.name.split(".")[0] for file in HERE.glob("*.jsonl")}
    assert here | set(OF_EXAMPLES) == set(EXPECTED)
