"""Random cases: specs, and reports in order of arrival with duplicates and amendments."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import combinations
from random import Random
from typing import Any

from hypothesis import strategies as st

from .records import (
    PRINCIPALS,
    SESSIONS,
    Fields,
    World,
    columns,
    position,
    record,
    reports_of,
    times,
    world,
)
from .specimens import spec

Case = tuple[list[dict[str, Any]], list[Fields]]

_KEPT_COLUMNS = frozenset({"kind", "name", "call_id", "status"})
"""What an amendment on the wire leaves alone: a record's kind and what the dialect fills in."""


def case(seed: int, *, wire: bool = False, most_records: int = 16, specs: int = 6) -> Case:
    """The case of a seed: (specs, reports). With `wire`, only what the native dialect carries.

    On the wire, a report without `event` is a span, and its events follow it at once, by index.
    """
    return draw(Random(seed), wire=wire, most_records=most_records, specs=specs)


def cases(*, wire: bool = False, most_records: int = 16) -> st.SearchStrategy[Case]:
    """The same cases for hypothesis, by seed."""
    seeds = st.integers(min_value=0, max_value=2**48)
    return seeds.map(lambda seed: case(seed, wire=wire, most_records=most_records))


def draw(rng: Random, *, wire: bool = False, most_records: int = 16, specs: int = 6) -> Case:
    """A case drawn from `rng`."""
    made = [spec(rng, f"spec-{n:02}") for n in range(specs)]
    while True:
        arriving = [r for one in _arrivals(rng, wire, most_records) for r in reports_of(one)]
        if not undecided_ties(arriving):
            return made, arriving


def undecided_ties(reports: Sequence[Fields]) -> bool:
    """Whether the page leaves open which of two reports stands, or which session a trace has.

    Two such cases: reports of one item at the same times, only one of which carries a session;
    and one span that names two sessions at the same start.
    """
    return any(_tied(a, b) for a, b in combinations(reports, 2))


def _tied(a: Fields, b: Fields) -> bool:
    sessions = {a.get("session"), b.get("session")}
    if len(sessions) == 1 or a["start"] != b["start"]:
        return False
    same_record = all(a.get(k) == b.get(k) for k in ("trace", "span", "event", "digest"))
    both_own = None not in sessions
    if both_own:
        return same_record and a.get("event") is None
    calls = a["kind"] == b["kind"] == "tool.call" and a.get("call_id") == b.get("call_id")
    return a["end"] == b["end"] and (same_record or calls)


def _arrivals(rng: Random, wire: bool, most_records: int) -> list[Fields]:
    """Records in order of arrival: some again as they were, some amended."""
    w = world(rng, wire=wire)
    ids = rng.sample(range(1, 100), most_records)
    records = [record(w, number) for number in ids[: rng.randint(1, most_records)]]
    again = [deepcopy(one) for one in records if w.some(0.12)]
    amended = [amendment(w, one) for one in records if w.some(0.25)]
    calls = [one for one in records if "call_id" in one["self"] and w.some(0.4)]
    echoes = [echo(w, one, 100 + n) for n, one in enumerate(calls)]
    arriving = records + again + amended + echoes
    if not wire and w.some(0.35):
        for one in arriving:
            _sign(w, one)
    if w.some(0.7):
        rng.shuffle(arriving)
    else:
        arriving.sort(key=lambda one: (one["self"]["end"], one["self"]["start"]))
    return arriving


def _sign(w: World, one: Fields) -> None:
    """Have a record sent by somebody, or by nobody who is known; its events are his too."""
    sender = w.pick((*PRINCIPALS, PRINCIPALS[0], None))
    if sender is not None:
        for report in [one["self"], *one["events"]]:
            report["principal"] = sender


def amendment(w: World, one: Fields) -> Fields:
    """The same record, reported once more with other content."""
    later = deepcopy(one)
    for report in [later["self"], *later["events"]]:
        if w.some(0.7):
            _amend(w, report)
    if later["events"] and w.some(0.2):
        later["events"].pop()
    own = later["self"]
    if "session" in own and "call_id" not in own and w.some(0.1):
        own["session"] = w.pick(SESSIONS)
    return later


def echo(w: World, one: Fields, number: int) -> Fields:
    """Another record about the same call id: at other times it is another execution."""
    other = deepcopy(one)
    own = other["self"]
    own["span"] = f"{number:016x}"
    _amend(w, own)
    if w.some(0.6):
        own |= times(w, instant=1.0 if own.get("event") == "log" else 0.3)
    other["events"] = []
    return other


def _amend(w: World, report: Fields) -> None:
    if w.some(0.3):
        instant = report.get("event") == "log" or "span" not in report
        report |= times(w, instant=1.0 if instant else 0.3)
    if w.some(0.3):
        report |= position(w)
    if w.some(0.1):
        report["job"] = w.pick(("j1", "j2"))
    name = report.get("name", "")
    fresh = columns(w, report["kind"], name)
    kept = _KEPT_COLUMNS if w.wire else _KEPT_COLUMNS - {"status", "name"}
    for column in sorted((fresh.keys() | report.keys()) & _amendable(fresh)):
        if column in kept or not w.some(0.5):
            continue
        report.pop(column, None)
        if column in fresh:
            report[column] = fresh[column]
    _keep_withheld_absent(report)


def _amendable(fresh: Fields) -> set[str]:
    """The columns that an amendment may change or leave out."""
    optional = "path op input output ops args mcp_server mcp_tool skill total diff_files attributes"
    return fresh.keys() | set(optional.split())


def _keep_withheld_absent(report: Fields) -> None:
    hidden = [column for column in report.pop("withheld", ()) if column not in report]
    if hidden:
        report["withheld"] = hidden
