"""Every case through a real gRPC server: one service a file, as many sessions as it has cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from spanward.verdict import Announcement, Cause

from . import judged, served, wire
from .case import BASE, Case, cases
from .parts import Fields

CASES = cases()
WHOLE = [case for case in CASES if not case.gap and not case.offline]
CUT = [case for case in CASES if case.gap]


@pytest.fixture(scope="module")
def announced(request: pytest.FixtureRequest) -> list[Announcement]:
    """What a service that has the specs of a whole file announces of all its cases."""
    path: Path = request.param
    of_file = [case for case in WHOLE if case.path == path]
    reports = [report for case in of_file for report in case.reports]
    return served.announced(judged.compiled(of_file), wire.requests(reports))


@pytest.mark.parametrize(
    ("announced", "case"),
    [pytest.param(case.path, case, id=case.title) for case in WHOLE],
    indirect=["announced"],
)
def test_served(announced: list[Announcement], case: Case) -> None:
    """What is announced last of each unit is what the case expects."""
    _check(case, [one for one in announced if _is_of(case, one)])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.title) for case in CUT])
def test_served_with_a_gap(case: Case) -> None:
    """In a session that had to be dropped and returns, what no missing item could change stands."""
    sessions = {report["session"] for report in case.reports}
    assert len(sessions) == 1
    before = [_forgotten(session) for session in (*sessions, "another")]
    requests = wire.requests([*before, *case.reports])
    found = served.announced(judged.compiled([case]), requests, max_open=judged.ROOM_FOR_ONE)
    _check(case, [one for one in found if _is_of(case, one)])


def _forgotten(session: str) -> Fields:
    """A step that is dropped with its session when the next session comes."""
    report: Fields = {"kind": "event", "name": "forgotten", "event": 0, "session": session}
    ids = {"trace": session.encode().hex().ljust(32, "f")[:32], "span": "f" * 16}
    return report | ids | {"start": BASE, "end": BASE}


def _is_of(case: Case, one: Announcement) -> bool:
    verdict = one.verdict
    home = verdict.session if verdict.job is None else verdict.job
    trace = f"{case.number:016x}"
    own = home is not None and home.startswith((f"{case.number:03}-", trace))
    return own and verdict.spec == case.spec["name"]


def _check(case: Case, found: Sequence[Announcement]) -> None:
    last = judged.last_of_each(found)
    stand = [one.verdict for one in last if one.verdict.cause is not Cause.MERGED]
    said, expected = judged.compared(stand, case.expect, _fields(case))
    assert sorted(said, key=repr) == sorted(expected, key=repr)
    withdrawn = {one.verdict.session for one in last if one.verdict.cause is Cause.MERGED}
    assert withdrawn == case.withdrawn
    if case.spec.get("unit") != "turn":
        final = sorted((one for one in stand if not one.early), key=judged.listing)
        late = [one for one in case.expect if not one["early"]]
        said, expected = judged.compared(final, late, judged.STANDS)
        assert said == expected


def _fields(case: Case) -> tuple[str, ...]:
    """What an announcement must say rightly.

    What a verdict showed may have grown since, without another result. A turn may have ended
    when the next began. A trace's session was not known beforehand.
    """
    if case.spec.get("unit") == "turn":
        keyed = any("turn_key" in report for report in case.reports)
        return judged.LASTING if keyed else (*judged.LASTING, "turn")
    return judged.LASTING if case.homeless else (*judged.LASTING, *judged.ANNOUNCED)
