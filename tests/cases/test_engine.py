"""Every case through the engine: in order, shuffled, duplicated, and as the service hears it."""

from __future__ import annotations

from random import Random

import pytest

from spanward.verdict import Cause

from . import judged
from .case import Case, cases

CASES = cases()
EVERY = pytest.mark.parametrize("case", [pytest.param(case, id=case.title) for case in CASES])


def test_every_operator_and_matcher_has_cases() -> None:
    """A key of the language without a folder of cases is not covered."""
    operators = "never eventually count before order each all any expected_tools"
    matchers = "tool approval event span path input output where args"
    units = "session turn turn_key turns job"
    rest = "amended late_session gap steers"
    folders = {case.path.parent.name for case in CASES}
    assert folders == set(f"{operators} {matchers} {units} {rest}".split())


@EVERY
def test_in_order(case: Case) -> None:
    """In the order of the file, the verdicts are as expected, to the last field."""
    specs = judged.compiled([case])
    verdicts = judged.offline(specs, judged.reports(specs, case.reports), gap=case.gap)
    said, expected = judged.compared(verdicts, case.expect, judged.ALL)
    assert said == expected


@EVERY
@pytest.mark.parametrize("seed", range(4))
def test_shuffled(case: Case, seed: int) -> None:
    """In any order, results, witnesses, words and details stay."""
    specs = judged.compiled([case])
    told = judged.reports(specs, case.reports)
    Random(seed).shuffle(told)
    verdicts = judged.offline(specs, told, gap=case.gap)
    said, expected = judged.compared(verdicts, case.expect, judged.STANDS)
    assert said == expected


@EVERY
def test_duplicated(case: Case) -> None:
    """Each item told twice on end changes nothing; all told once more at the end, no result."""
    specs = judged.compiled([case])
    told = judged.reports(specs, case.reports)
    twice = [report for report in told for _ in range(2)]
    verdicts = judged.offline(specs, twice, gap=case.gap)
    said, expected = judged.compared(verdicts, case.expect, judged.ALL)
    assert said == expected
    verdicts = judged.offline(specs, told + told[::-1], gap=case.gap)
    said, expected = judged.compared(verdicts, case.expect, judged.STANDS)
    assert said == expected


@EVERY
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_live(case: Case, seed: int | None) -> None:
    """Told item by item, with no session known beforehand, the final verdicts are the same.

    Units whose items turned out to be another session's are withdrawn.
    """
    if case.offline:
        pytest.skip(case.offline)
    specs = judged.compiled([case])
    told = judged.reports(specs, case.reports)
    if seed is not None:
        Random(seed).shuffle(told)
    announced, final = judged.live(specs, told, gap=case.gap)
    said, expected = judged.compared(final, case.expect, judged.STANDS)
    assert said == expected
    last = judged.last_of_each(announced)
    stand = [one.verdict for one in last if one.verdict.cause is not Cause.MERGED]
    in_order = seed is None and not case.homeless
    fields = (*judged.LASTING, *(judged.ANNOUNCED if in_order else ()))
    said, expected = judged.compared(stand, case.expect, fields)
    assert sorted(said, key=repr) == sorted(expected, key=repr)
    if seed is None:
        withdrawn = {one.verdict.session for one in last if one.verdict.cause is Cause.MERGED}
        assert withdrawn == case.withdrawn
