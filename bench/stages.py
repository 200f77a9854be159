"""The cost of each stage in one process, in microseconds a span, without gRPC and threads."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from spanward.dialects import DIALECTS, Reader
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.engine.plan import Plan
from spanward.errors import Problems, render_all
from spanward.otlp.wire import WireReader
from spanward.specs.asking import asked_by
from spanward.specs.loader import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.specs.spec import Spec

WARM_UP: Final = 0.2
"""The share of the requests that is not measured."""
SECONDS_A_REQUEST: Final = 0.01
"""How far the engine's clock moves from one request to the next."""


def specs_of(path: Path) -> tuple[Spec, ...]:
    """The specs of a folder. Raises ``ValueError`` when one is wrong."""
    problems = Problems()
    specs = load([path], problems)
    if problems.errors:
        raise ValueError(render_all(problems.errors))
    return specs


def costs(
    requests: Sequence[bytes], spans: int, specs: Sequence[Spec], runs: int
) -> dict[str, float]:
    """The median cost of each stage over some runs, each with fresh objects and memories.

    ``spans`` is how many spans a request has. ``matchers`` is part of ``engine``.
    """
    measured = [_once(requests, spans, specs) for _ in range(runs)]
    return {stage: median(run[stage] for run in measured) for stage in measured[0]}


def _once(requests: Sequence[bytes], spans: int, specs: Sequence[Spec]) -> dict[str, float]:
    reader = Reader(DIALECTS.values(), asked_by(specs))
    wire = WireReader(reader.wanted)
    dispatch = Plan(specs).dispatch
    engine = Engine(specs, Limits())
    taken = {"decode": 0.0, "dialect": 0.0, "matchers": 0.0, "engine": 0.0}
    measured_from = int(len(requests) * WARM_UP)
    for number, request in enumerate(requests):
        if number == measured_from:
            taken = dict.fromkeys(taken, 0.0)
        start = time.perf_counter()
        batch = wire.traces(request)
        decoded = time.perf_counter()
        reports = reader.reports(batch)
        read = time.perf_counter()
        for report in reports:
            for item in report.items:
                dispatch.answers(item)
        asked = time.perf_counter()
        engine.take(reports, number * SECONDS_A_REQUEST)
        judged = time.perf_counter()
        taken["decode"] += decoded - start
        taken["dialect"] += read - decoded
        taken["matchers"] += asked - read
        taken["engine"] += judged - asked
    measured = (len(requests) - measured_from) * spans
    return {stage: seconds / measured * 1e6 for stage, seconds in taken.items()}
