"""What the documentation says of the product's outputs: commands, JSON, verdict spans, metrics."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanward.cli import main
from spanward.emitters.spans import VerdictSpans
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import TOOL_CALL, Item, Report
from spanward.verdict import Announcement, Result, Verdict, as_object
from tests.docs.examples import compiled
from tests.docs.pages import ROOT, Block, blocks, names_in, pages, table
from tests.service.world import NEVER_RM, exposition

VERDICTS_PAGE: Final = ROOT / "docs" / "verdicts.md"
BLOCKS: Final = [block for each in pages() for block in blocks(each)]
EXAMPLES: Final = ROOT / "examples"
SESSION: Final = EXAMPLES / "session.jsonl"
WIDTH: Final = 100
"""Columns of the terminal in which commands are shown."""


def _of_kind(info: str) -> list[Any]:
    return [pytest.param(block, id=block.title) for block in BLOCKS if block.info == info]


@pytest.mark.parametrize("block", _of_kind("console"))
def test_commands(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command, run at the top of the repository, prints what is shown."""
    monkeypatch.chdir(ROOT)
    command, _, shown = block.text.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "spanward"
    done = CliRunner().invoke(main, words[1:], env={"COLUMNS": str(WIDTH)})
    assert [line.rstrip() for line in done.output.splitlines()] == shown.splitlines()


def _judged_demo() -> list[dict[str, Any]]:
    done = CliRunner().invoke(
        main,
        ["check", "--specs", str(EXAMPLES / "demo.yaml"), "--format", "jsonl", str(SESSION)],
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _holds(shown: Any, actual: Any) -> bool:
    """Whether all that is shown is there; of mappings some keys may be left out."""
    if isinstance(shown, dict):
        return all(key in actual and _holds(inner, actual[key]) for key, inner in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(actual) and all(map(_holds, shown, actual))
    return bool(shown == actual)


@pytest.mark.parametrize("block", _of_kind("json verdict"))
def test_verdicts_of_the_demo(block: Block) -> None:
    """The verdict that is shown is one of the demo's recording, some fields left out."""
    shown = json.loads(block.text)
    assert any(_holds(shown, actual) for actual in _judged_demo())


def test_the_first_spec_is_one_of_the_demo() -> None:
    """What the README shows a verdict of is the spec that gave it."""
    first = next(b for b in BLOCKS if b.page == ROOT / "README.md" and b.info == "yaml spec")
    assert first.text in (EXAMPLES / "demo.yaml").read_text("utf-8")


def _first_column(heading: str) -> list[str]:
    return [name for row in table(VERDICTS_PAGE, heading) for name in names_in(row[0])]


def _announcement() -> Announcement:
    """A failed verdict with a label, as an engine announces it."""
    ids = (b"\1" * 16, b"\1" * 8)
    item = Item(
        kind=TOOL_CALL, trace_id=ids[0], span_id=ids[1], start_ns=1, end_ns=2, session="s1",
        name="rm",
    )  # fmt: skip
    engine = Engine(compiled(NEVER_RM.replace("payments", "platform")), Limits())
    return engine.take([Report(*ids, 1, "s1", True, (item,))], 0.0)[0]


def test_the_keys_of_the_json_object() -> None:
    """The table has the keys of a verdict and the time that the emitter adds."""
    keys = {*as_object(_announcement().verdict), "time"}
    assert set(_first_column("The JSON object")) == keys
    assert keys == {*Verdict.__struct_fields__, "time"}


def test_the_attributes_of_the_span() -> None:
    """The table has those that are there on some verdict span, and no others."""
    sent = InMemorySpanExporter()
    one = _announcement()
    VerdictSpans(sent, frozenset(map(str, Result)), "0").emit([*_variants(one)], 1)
    attributes = {name for span in sent.get_finished_spans() for name in span.attributes or {}}
    assert set(_first_column("The span")) == attributes


def _variants(one: Announcement) -> Iterator[Announcement]:
    """The announcement as of a session, of a turn known by its key, and of a job."""
    yield one
    for unit in ({"turn": 1}, {"job": "j"}):
        verdict = msgspec.structs.replace(one.verdict, **unit)
        yield msgspec.structs.replace(one, verdict=verdict, turn_key="k")


def test_the_metrics() -> None:
    """The table has what ``/metrics`` has, and nothing else."""
    names = {line.split()[2] for line in exposition() if line.startswith("# TYPE")}
    assert set(_first_column("Metrics")) == names
