"""The example specs, judged on what real runtimes sent: the verdicts that the story demands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanward.dialects import DIALECTS
from spanward.errors import Problems, render_all
from spanward.offline import Judgement, Recording
from spanward.otlp.jsonlines import read_line
from spanward.otlp.record import SpanRecord
from spanward.specs.loader import load
from spanward.verdict import Verdict

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
EXPECTED: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    (HERE / "expected.yaml").read_text(encoding="utf-8")
)
CALL_ID = "gen_ai.tool.call.id"


def judged(name: str) -> Judgement:
    """A recording, traces first, judged by the example specs."""
    problems = Problems()
    specs = load([EXAMPLES / "specs"], problems)
    assert not problems.found, render_all(problems.found)
    recording = Recording(specs, DIALECTS.values())
    for file in sorted(HERE.glob(f"{name}.*.jsonl"), reverse=True):
        for line in file.read_bytes().splitlines():
            recording.add(read_line(line, recording.wanted))
    return recording.judge()


def call_ids(name: str) -> dict[str, str]:
    """The call id of each tool span of a recording, by span id."""
    lines = (HERE / f"{name}.traces.jsonl").read_bytes().splitlines()
    records = [
        record
        for line in lines
        for record in read_line(line, frozenset({CALL_ID})).records
        if isinstance(record, SpanRecord) and CALL_ID in record.attributes
    ]
    return {record.span_id.hex(): record.attributes[CALL_ID] for record in records}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_story_is_what_the_verdicts_say(name: str) -> None:
    """Every spec on every session: result, witnesses by call id, and details."""
    calls = call_ids(name)
    verdicts = judged(name).verdicts
    assert {verdict.session for verdict in verdicts} == set(EXPECTED[name])
    for verdict in verdicts:
        expected = EXPECTED[name][verdict.session or ""].get(verdict.spec)
        told = told_of(verdict, calls)
        if expected is None:
            assert told["result"] in ("pass", "not_applicable"), (verdict.spec, told)
            assert (told["result"] == "pass") == (verdict.operator not in ("each", "before"))
        else:
            assert told | expected == told, (verdict.session, verdict.spec)


def told_of(verdict: Verdict, calls: dict[str, str]) -> dict[str, Any]:
    """A verdict in the words of the story."""
    told: dict[str, Any] = {
        "result": str(verdict.result),
        "witnesses": [calls[witness.span_id] for witness in verdict.witnesses],
    }
    if verdict.details is not None:
        told["indexes"] = [detail["matched_call_index"] for detail in verdict.details]
        told["reasons"] = [detail["unmatched_reason"] for detail in verdict.details]
    return told


def test_every_recording_has_its_story() -> None:
    """No recording lies here unjudged."""
    assert {file.name.split(".")[0] for file in HERE.glob("*.jsonl")} == set(EXPECTED)
