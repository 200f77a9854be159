"""What is in ``deploy/`` for Prometheus and Grafana fits together, without any of them running."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.alarm.dashboards import DASHBOARDS, faults, load, panels, queries
from tests.docs.pages import ROOT, anchors, pages
from tests.service.world import exposition

DEPLOY: Final = ROOT / "deploy"
RULES: Final = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
BOARDS: Final = [pytest.param(file, id=file.stem) for file in DASHBOARDS]
_METRIC: Final = re.compile(r"(?<![\w.])spanward_[a-z0-9_]+")
PUSHED: Final = "SpanwardViolation"


@pytest.fixture(scope="module")
def exposed() -> set[str]:
    """The names that a running service exposes, of metrics and of their samples."""
    lines = exposition()
    declared = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    return declared | {line.partition("{")[0].split()[0] for line in lines if line[:1] != "#"}


def test_every_metric_that_is_named_exists(exposed: set[str]) -> None:
    """In alerts and their tests, in dashboards, in all documentation."""
    files = [*pages(), *DEPLOY.rglob("*.md"), *DASHBOARDS, *(DEPLOY / "prometheus").glob("*.yml")]
    named = {(name, file.name) for file in files for name in _METRIC.findall(file.read_text())}
    assert len(named) > 50
    assert sorted(each for each in named if each[0] not in exposed) == []


def test_every_alert_is_whole_and_has_a_page() -> None:
    """Summary, description, severity, and a section of the runbook; and the runbook has no more."""
    runbook = ROOT / "docs" / "runbook.md"
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, rule["alert"]
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (ROOT / file).samefile(runbook)
        assert anchor == rule["alert"].lower()
        assert anchor in anchors(runbook)
        by_spec = "severity)" in rule["expr"]
        assert by_spec or rule["labels"]["severity"] in ("critical", "warning", "info")
    sections = {each for each in anchors(runbook) if each.startswith("spanward")}
    assert sections == {rule["alert"].lower() for rule in RULES} | {PUSHED.lower()}


def test_every_alert_is_tested_to_fire_and_not_to() -> None:
    """By promtool, which another step runs."""
    fires: set[str] = set()
    silent: set[str] = set()
    for file in (DEPLOY / "prometheus").glob("alerts*_test.yml"):
        for test in yaml.safe_load(file.read_text("utf-8"))["tests"]:
            for one in test["alert_rule_test"]:
                (fires if one["exp_alerts"] else silent).add(one["alertname"])
    assert fires == silent == {rule["alert"] for rule in RULES}


@pytest.mark.parametrize("file", BOARDS)
def test_panels_are_whole(file: Path) -> None:
    """Title, description, unit, and the source, windows and variables that the viewer chooses."""
    board = load(file)
    assert faults(board) == []
    assert len(panels(board)) > 5
    assert all("spanward_" in query for query in queries(board))


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda panel: panel.pop(key)


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (_without("title"), "no title"),
        (_without("description"), "no description"),
        (lambda panel: panel["fieldConfig"]["defaults"].pop("unit"), "no unit"),
        (_without("datasource"), "not $datasource"),
        (lambda panel: panel["targets"][0].update(datasource={"uid": "x"}), "not $datasource"),
        (lambda panel: panel["targets"].clear(), "no query"),
        (lambda panel: panel["targets"][0].update(expr="rate(a[5m])"), "the window [5m]"),
        (lambda panel: panel["targets"][0].update(expr='a{b="$nobody"}'), "the variable $nobody"),
        (lambda panel: panel.update(id=1), "id 1 twice"),
    ],
)
def test_a_fault_in_a_panel_is_found(breaks: Callable[[Any], object], told: str) -> None:
    """Each rule can be broken."""
    board = copy.deepcopy(load(DASHBOARDS[0]))
    breaks(panels(board)[0])
    assert any(told in each for each in faults(board))


def test_links_between_dashboards_lead_to_them() -> None:
    """By their ids, which are unique."""
    ids = [load(file)["uid"] for file in DASHBOARDS]
    assert len(set(ids)) == len(ids)
    linked = {name for file in DASHBOARDS for name in re.findall(r"/d/([\w-]+)", file.read_text())}
    assert linked == set(ids)


def test_provisioning_names_what_the_dashboards_use() -> None:
    """A Prometheus as the source of data, and one place for dashboards, of Grafana's first form."""
    folder = DEPLOY / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text("utf-8"))
    (source,) = sources["datasources"]
    assert (sources["apiVersion"], source["type"], source["access"]) == (1, "prometheus", "proxy")
    providers = yaml.safe_load((folder / "dashboards" / "spanward.yml").read_text("utf-8"))
    (provider,) = providers["providers"]
    assert (providers["apiVersion"], provider["type"]) == (1, "file")
    assert provider["options"]["path"].startswith("/")
    scrape = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    (job,) = scrape["scrape_configs"]
    assert source["jsonData"]["timeInterval"] == job["scrape_interval"]
