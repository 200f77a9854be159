"""What ``deploy/release/build`` made: complete, of this version, naming nothing of a machine."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import spanward
from tests.deploy.tools import DEPLOY, ROOT, given

VERSION: Final = spanward.__version__
Object = dict[str, Any]


@pytest.fixture
def made() -> Path:
    """The folder that ``.ci/run release`` had built."""
    return Path(given("SPANWARD_RELEASE", "a folder that deploy/release/build filled"))


@pytest.fixture
def bill(made: Path) -> Object:
    """The bill of materials."""
    found: Object = json.loads((made / f"spanward-{VERSION}.cdx.json").read_text("utf-8"))
    return found


def locked() -> dict[str, str]:
    """Name and version of what the image installs on Linux."""
    text = (DEPLOY / "image" / "requirements.txt").read_text("utf-8")
    lines = re.findall(r"^([a-z0-9-]+)==([^\s;]+)([^\\\n]*)", text, re.MULTILINE)
    return {name: version for name, version, marker in lines if "win32" not in marker}


def test_all_of_it_is_there_with_its_sums(made: Path) -> None:
    """A wheel, its source, the chart and the bill, and nothing else."""
    lines = (made / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    names = {
        f"spanward-{VERSION}{end}" for end in ("-py3-none-any.whl", ".tar.gz", ".tgz", ".cdx.json")
    }
    assert {file.name for file in made.iterdir()} == {*names, "SHA256SUMS"}
    for name in names:
        assert hashlib.sha256((made / name).read_bytes()).hexdigest() == sums[name]


def test_the_bill_names_what_the_image_installs(bill: Object) -> None:
    """Each package of the lock in its version, with its licence, and no other."""
    named = {re.sub(r"[-_.]+", "-", c["name"]).lower(): c for c in bill["components"]}
    assert {name: each["version"] for name, each in named.items()} == locked()
    unlicensed = [name for name, each in named.items() if not each.get("licenses")]
    assert unlicensed == ["protobuf"], "the tool makes none of its metadata"
    project = bill["metadata"]["component"]
    assert (project["name"], project["version"]) == ("spanward", VERSION)


def test_the_bill_says_who_needs_whom(bill: Object) -> None:
    """The packages that the project names in ``pyproject.toml`` are its own."""
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    ours = needs[bill["metadata"]["component"]["bom-ref"]]
    wanted = re.findall(
        r'^    "([a-z0-9-]+)>=',
        (ROOT / "pyproject.toml").read_text("utf-8").split("dependencies = [")[1].split("]")[0],
        re.MULTILINE,
    )
    assert len(ours) == len(wanted) > 10


def test_it_names_nothing_of_the_machine(made: Path, bill: Object) -> None:
    """No folder in which it was built."""
    text = json.dumps(bill)
    assert "file:" not in text
    assert "/tmp/" not in text  # noqa: S108  no file is made there
    with tarfile.open(made / f"spanward-{VERSION}.tar.gz") as source:
        assert {member.mtime for member in source} == {next(iter(source.getmembers())).mtime}


def test_the_wheel_and_the_source_are_whole(made: Path) -> None:
    """The types' marker and the demo's files; tests and documentation in the source."""
    with zipfile.ZipFile(made / f"spanward-{VERSION}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    assert {"spanward/py.typed", "spanward/examples/demo.yaml"} <= names
    assert not [name for name in names if name.startswith("tests")]
    with tarfile.open(made / f"spanward-{VERSION}.tar.gz") as source:
        folders = {name.split("/")[1] for name in source.getnames()}
    assert {"src", "tests", "docs", "examples", "LICENSE"} <= folders


def test_the_chart_has_the_alerts_in_it(made: Path) -> None:
    """What is a link in the repository is a file in the package."""
    with tarfile.open(made / f"spanward-{VERSION}.tgz") as chart:
        member = chart.getmember("spanward/files/alerts.yml")
        assert member.isfile()
        file = chart.extractfile(member)
        assert file is not None
        assert yaml.safe_load(file)["groups"]
