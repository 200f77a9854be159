"""Every query of every dashboard, asked of a live Prometheus that scrapes a live service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.error import HTTPError

import pytest

from tests.alarm.dashboards import DASHBOARDS, load, queries
from tests.alarm.programs import Prometheus, Spanward, chain, program, until
from tests.service.world import NEVER_RM, TESTS_FIRST, call, export, request

pytestmark = pytest.mark.external
_VARIABLES: Final = {"job": ".*", "spec": "tests-first", "__range": "1h", "__rate_interval": "1m"}
_LABEL_VALUES: Final = re.compile(r"label_values\((.*), (\w+)\)")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that scraped a service which has failures, passes and a revision to tell of."""
    program("prometheus")
    program("alertmanager")
    folder = tmp_path_factory.mktemp("dashboards")
    (folder / "specs.yaml").write_text(f"{NEVER_RM}---{TESTS_FIRST}", "utf-8")
    with chain(folder) as alerting:
        spanward = Spanward(folder, f"emitters: {{jsonl: {{path: {folder / 'verdicts'}}}}}\n")
        spanward.begin()
        try:
            made = alerting.start_prometheus(spanward.admin)
            until(lambda: made.query("spanward_violations_total == 0"))
            export(spanward.grpc, request(call("rm", 1)))
            export(spanward.grpc, request(call("push", 9, "s2")))
            until(lambda: made.query('spanward_verdicts_total{spec="tests-first"} > 0'))
            export(spanward.grpc, request(call("pytest", 3, "s2")))
            until(lambda: made.query("count_over_time(spanward_verdict_revisions_total[1m]) > 1"))
            yield made
        finally:
            spanward.end()


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in DASHBOARDS])
def test_every_query_finds_something(prometheus: Prometheus, file: Path) -> None:
    """None has a mistake, and none asks for a metric or a label that is not there."""
    board = load(file)
    assert len(queries(board)) > 8
    empty = []
    for query in queries(board):
        text = query
        for name, value in _VARIABLES.items():
            text = text.replace(f"${name}", value)
        values = _LABEL_VALUES.fullmatch(text)
        if values is not None:
            found = prometheus.api(f"label/{values[2]}/values", **{"match[]": values[1]})
        else:
            found = prometheus.query(text)
        if not found:
            empty.append(query)
    assert empty == []


def test_a_query_with_a_mistake_is_refused(prometheus: Prometheus) -> None:
    """And one for what is not there finds nothing."""
    with pytest.raises(HTTPError) as refusal:
        prometheus.query("sum by spec (up)")
    refusal.value.close()
    assert prometheus.query("sum(rate(spanward_no_such_total[1m]))") == []
