"""The rules by promtool, the routes by amtool: right as they are, and wrong when broken."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.alarm.programs import DEPLOY, program
from tests.alarm.test_files import RULES

pytestmark = pytest.mark.external
TESTS: Final = ("alerts_test.yml", "alerts_week_test.yml")
ROUTES: Final = [
    ("alertname=SpanwardNeverViolated severity=critical", "on-call"),
    ("alertname=SpanwardViolation severity=critical", "on-call"),
    ("alertname=SpanwardNeverViolated severity=warning", "team"),
    ("alertname=SpanwardDown severity=critical", "on-call"),
    ("alertname=SpanwardSpecVacuous severity=info", "team"),
]


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A program run to its end."""
    command = [program(name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The Prometheus files, to be broken."""
    return Path(shutil.copytree(DEPLOY / "prometheus", tmp_path / "prometheus"))


def test_the_files_are_right() -> None:
    """The configuration, the rules, and the tests of the rules."""
    for arguments in (
        ("check", "config", DEPLOY / "prometheus" / "prometheus.yml"),
        ("test", "rules", *(DEPLOY / "prometheus" / each for each in TESTS)),
    ):
        done = run("promtool", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run("amtool", "check-config", DEPLOY / "alertmanager" / "alertmanager.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", [rule["alert"] for rule in RULES])
@pytest.mark.parametrize("expr", ["vector(0) > 1", "vector(1) > 0"], ids=["never", "always"])
def test_a_rule_that_is_broken_fails_its_tests(copied: Path, alert: str, expr: str) -> None:
    """One that never fires, and one that always does."""
    rules = copied / "alerts.yml"
    broken: dict[str, Any] = yaml.safe_load(rules.read_text("utf-8"))
    for group in broken["groups"]:
        for rule in group["rules"]:
            if rule["alert"] == alert:
                rule["expr"] = expr
    rules.write_text(yaml.safe_dump(broken), "utf-8")
    test = TESTS[alert == "SpanwardSpecVacuous"]
    done = run("promtool", "test", "rules", copied / test)
    assert done.returncode != 0
    assert f"alertname: {alert}," in done.stdout + done.stderr


def test_broken_files_are_refused(tmp_path: Path, copied: Path) -> None:
    """By the same programs."""
    rules = copied / "alerts.yml"
    rules.write_text(rules.read_text("utf-8").replace("time() - max", "time() - maxx"), "utf-8")
    assert run("promtool", "check", "config", copied / "prometheus.yml").returncode != 0
    routes = tmp_path / "alertmanager.yml"
    right = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text("utf-8")
    routes.write_text(right.replace("receiver: on-call", "receiver: nobody"), "utf-8")
    assert run("amtool", "check-config", routes).returncode != 0


@pytest.mark.parametrize(("labels", "receiver"), ROUTES)
def test_alerts_go_where_they_should(labels: str, receiver: str) -> None:
    """What an agent must never do goes to whoever is on call."""
    file = DEPLOY / "alertmanager" / "alertmanager.yml"
    done = run("amtool", "config", "routes", "test", f"--config.file={file}", *labels.split())
    assert done.stdout.split() == [receiver], done.stderr
