"""The engine agrees with the batch oracle, which shares no code with it, on generated sessions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from spanward.engine.engine import Engine
from spanward.item import Report
from spanward.specs.spec import Spec
from spanward.verdict import Cause
from tests.engine.judged import OFFLINE, Fields, as_reports, compiled, offline, shape
from tests.oracle import sessions
from tests.oracle.judge import judge

BLOCK = 50
"""Sessions a test; the seeds of a failing block are in its name."""

ARRIVAL = ("early", "cause", "decided_by", "revision")
"""What depends on the order of arrival, and is outside the promise (semantics, section 6)."""


def comparable(verdicts: Sequence[Fields]) -> list[Fields]:
    """Verdicts without what the page leaves open.

    How often a turn or job was revised while amendments made it come and go is not decided.
    """
    return [
        verdict if verdict["unit"] == "session" else {**verdict, "revision": None}
        for verdict in verdicts
    ]


def lasting(verdicts: Sequence[Fields]) -> list[Fields]:
    """What may not depend on the order of arrival."""
    return [
        {key: value for key, value in verdict.items() if key not in ARRIVAL} for verdict in verdicts
    ]


def live(specs: Sequence[Spec], reports: Sequence[Report]) -> list[Fields]:
    """Judged as reports arrive, one by one, sessions becoming known on the way."""
    engine = Engine(specs, OFFLINE)
    for report in reports:
        engine.take([report], 0.0)
    engine.finish(Cause.END_OF_INPUT, 0.0)
    assert not engine.faults, engine.faults
    return [shape(verdict) for verdict in engine.report()]


def blocks(sessions_in_all: int) -> Any:
    """Parametrize a test by the first seeds of blocks."""
    return pytest.mark.parametrize("first", range(0, sessions_in_all, BLOCK))


@blocks(2000)
def test_every_verdict_is_the_oracles(first: int) -> None:
    """Result, early, cause, deciding item, witnesses and details agree on every session."""
    for seed in range(first, first + BLOCK):
        specs, reports = sessions.case(seed)
        loaded = compiled(specs)
        judged = offline(loaded, as_reports(loaded, reports))
        assert comparable(judged) == comparable(judge(specs, reports)), f"seed {seed}"


@blocks(200)
def test_every_prefix_is_the_oracles(first: int) -> None:
    """They agree after every single report."""
    for seed in range(first, first + BLOCK):
        specs, reports = sessions.case(seed, most_records=6, specs=4)
        loaded = compiled(specs)
        for length in range(1, len(reports) + 1):
            judged = offline(loaded, as_reports(loaded, reports[:length]))
            expected = comparable(judge(specs, reports[:length]))
            assert comparable(judged) == expected, f"seed {seed}, {length} reports"


@blocks(1000)
def test_order_and_repetition_change_nothing_in_the_end(first: int) -> None:
    """Shuffled and with reports repeated: the same results, witnesses and details."""
    for seed in range(first, first + BLOCK):
        specs, reports = sessions.case(seed)
        loaded = compiled(specs)
        expected = lasting(judge(specs, reports))
        rng = Random(seed)
        arriving = [*reports, *rng.choices(reports, k=8)]
        rng.shuffle(arriving)
        assert lasting(offline(loaded, as_reports(loaded, arriving))) == expected, f"seed {seed}"


@blocks(1000)
def test_sessions_found_late_change_nothing_in_the_end(first: int) -> None:
    """Nothing known beforehand, records shuffled, traces bound and bound anew on the way."""
    for seed in range(first, first + BLOCK):
        specs, reports = sessions.case(seed)
        loaded = compiled(specs)
        expected = lasting(judge(specs, reports))
        arriving = list(reports)
        Random(seed).shuffle(arriving)
        assert lasting(live(loaded, as_reports(loaded, arriving))) == expected, f"seed {seed}"


@blocks(300)
def test_a_gap_leaves_standing_what_the_oracle_leaves(first: int) -> None:
    """With the beginning of every unit lost, only what no missing item could change stands."""
    for seed in range(first, first + BLOCK):
        specs, reports = sessions.case(seed)
        loaded = compiled(specs)
        arriving = as_reports(loaded, reports)
        engine = Engine(loaded, OFFLINE)
        _lose_beginnings(engine, reports)
        engine.foresee(arriving, 0.0)
        engine.take(arriving, 0.0)
        engine.finish(Cause.END_OF_INPUT, 0.0)
        expected = [_without_details(verdict) for verdict in judge(specs, reports, gap=True)]
        judged = [_without_details(shape(verdict)) for verdict in engine.report()]
        assert comparable(judged) == comparable(expected), f"seed {seed}"


def _lose_beginnings(engine: Engine, reports: Sequence[Fields]) -> None:
    """Let all sessions and jobs of the reports begin as if they had been dropped before."""
    registry = engine._registry
    for report in reports:
        registry._gone |= dict.fromkeys([report["trace"], report.get("session") or ""])
        if report.get("job") is not None:
            registry.job(report["job"], 0.0).gap = True


def _without_details(verdict: Fields) -> Fields:
    """An unknown of a gap has no details: there may be calls that nobody knows of."""
    return verdict if verdict["result"] != "unknown" else {**verdict, "details": None}
