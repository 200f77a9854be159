"""How ``check`` writes what it found: a table for people, JSON and JSON lines for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

import spanward
from spanward.errors import visible
from spanward.offline import Judgement
from spanward.verdict import Result, Verdict, Witness, as_object

Write = Callable[[Judgement, int, "Shown", TextIO], None]
"""(judgement, number of specs, which verdicts to show, where to) → nothing."""

Shown = Callable[[Verdict], bool]

_STYLES: Final = {
    Result.PASS: "green",
    Result.FAIL: "bold red",
    Result.UNKNOWN: "yellow",
    Result.NOT_APPLICABLE: "dim",
}


def write_json(judgement: Judgement, specs: int, shown: Shown, out: TextIO) -> None:
    """One JSON object, in the shape of the interface page. Counts are of all verdicts."""
    result = {
        "spanward": spanward.__version__,
        "specs": specs,
        "items": judgement.items,
        "sessions": judgement.sessions,
        "verdicts": [as_object(verdict) for verdict in judgement.verdicts if shown(verdict)],
        "counts": _counts(judgement.verdicts),
    }
    out.write(_dumped(result) + "\n")


def write_jsonl(judgement: Judgement, specs: int, shown: Shown, out: TextIO) -> None:
    """The verdicts as they were announced, revisions included, one JSON object a line."""
    for verdict in judgement.announced:
        if shown(verdict):
            out.write(_dumped(as_object(verdict)) + "\n")


def write_table(judgement: Judgement, specs: int, shown: Shown, out: TextIO) -> None:
    """A table of the verdicts and a line that counts them."""
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    verdicts = [verdict for verdict in judgement.verdicts if shown(verdict)]
    if verdicts:
        console.print(_table(verdicts))
    counts = ", ".join(f"{n} {name}" for name, n in _counts(judgement.verdicts).items() if n)
    console.print(
        f"{specs} specs, {judgement.items} items, {judgement.sessions} sessions: "
        f"{counts or 'no verdicts'}"
    )


FORMATS: Final[dict[str, Write]] = {
    "table": write_table,
    "json": write_json,
    "jsonl": write_jsonl,
}


def _table(verdicts: Iterable[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("result", no_wrap=True)
    table.add_column("spec", no_wrap=True, overflow="ignore")  # names are searched for: whole ones
    table.add_column("unit", no_wrap=True, overflow="ignore")
    table.add_column("why", overflow="fold", ratio=1)
    for verdict in verdicts:
        result = Text(str(verdict.result), style=_STYLES[verdict.result])
        table.add_row(result, Text(verdict.spec), Text(unit_words(verdict)), Text(_why(verdict)))
    return table


def unit_words(verdict: Verdict) -> str:
    """The unit of a verdict, in words."""
    if verdict.job is not None:
        return f"job {visible(verdict.job)}"
    session = f"session {visible(verdict.session or '')}"
    return session if verdict.turn is None else f"{session}, turn {verdict.turn}"


def step_words(witness: Witness) -> str:
    """A step, in words: what it is, and where in its log when that is known."""
    name = visible(witness.name or "")
    position = "" if witness.seq is None else f" (seq {witness.seq})"
    return f"{witness.kind} {name}{position}".replace("  ", " ")


def _why(verdict: Verdict) -> str:
    reason = visible(verdict.reason)
    if not verdict.witnesses:
        return reason
    steps = ", ".join(step_words(witness) for witness in verdict.witnesses[:3])
    more = len(verdict.witnesses) - 3
    return f"{reason}: {steps}" + (f" and {more} more" if more > 0 else "")


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    counts = dict.fromkeys(map(str, Result), 0)
    for verdict in verdicts:
        counts[str(verdict.result)] += 1
    return counts


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
