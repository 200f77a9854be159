"""What ``deploy/README.md`` says is so: links, ports, steps and the figure of exposure."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.tools import DEPLOY, ROOT, given, tool
from tests.docs.pages import anchors, links, names_in, table

PAGE: Final = DEPLOY / "README.md"


@pytest.mark.parametrize("page", [PAGE, DEPLOY / "helm" / "values" / "README.md"], ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the repository, and to a heading when one is named."""
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_ports_are_those_of_the_configuration() -> None:
    """And of nothing else."""
    config = (DEPLOY / "spanward.yaml").read_text("utf-8")
    ports = set(re.findall(r"SPANWARD_BIND:-127.0.0.1}:(\d+)", config))
    assert {row[0] for row in table(PAGE, "Ports")} == ports


def test_what_was_checked_is_checked() -> None:
    """Every step that is named exists."""
    ran = subprocess.run(
        [str(ROOT / ".ci" / "run"), "--list"], capture_output=True, text=True, check=True
    )
    steps = {names_in(row[1])[0] for row in table(PAGE, "What was checked, and how")}
    assert steps <= set(ran.stdout.split())


def test_the_example_values_are_listed() -> None:
    """All of them, by name."""
    folder = DEPLOY / "helm" / "values"
    listed = {names_in(row[0])[0] for row in table(folder / "README.md", "Example values")}
    assert listed == {file.name for file in folder.glob("*.yaml")}


def test_the_exposure_is_the_measured_one() -> None:
    """By the version of systemd that the step has."""
    given("SPANWARD_NEED_TOOLS", "another version of systemd may count otherwise")
    words = [tool("systemd-analyze"), "security", "--offline=yes", "--no-pager"]
    unit = str(DEPLOY / "systemd" / "spanward.service")
    ran = subprocess.run([*words, unit], capture_output=True, text=True, check=False)
    (figure,) = re.findall(r"Overall exposure level for \S+: (\d+\.\d)", ran.stdout)
    assert f"its exposure is {figure} of 10" in PAGE.read_text("utf-8").replace("\n", " ")
