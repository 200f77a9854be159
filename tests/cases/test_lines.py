"""Every case as OTLP JSON lines, the way ``spanward check`` reads recordings."""

from __future__ import annotations

import pytest

from spanward.dialects import DIALECTS
from spanward.offline import Recording
from spanward.otlp.jsonlines import read_line

from . import judged, wire
from .case import Case, cases
from .keyed import Keyed

CASES = [pytest.param(case, id=case.title) for case in cases() if not case.gap]
"""A recording has no gap: its beginning is all there is."""


@pytest.mark.parametrize("case", CASES)
def test_recorded(case: Case) -> None:
    """Written down as OTLP and read again, the verdicts are as expected, to the last field."""
    specs = judged.compiled([case])
    recording = Recording(specs, [Keyed(), *DIALECTS.values()])
    for request in wire.requests(case.reports):
        recording.add(read_line(wire.line(request), recording.wanted))
    judgement = recording.judge()
    assert not judgement.rejected
    said, expected = judged.compared(judgement.verdicts, case.expect, judged.ALL)
    assert said == expected
