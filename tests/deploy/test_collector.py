"""The Collector configurations: keys that exist, parts that fit together, and no way back.

A Collector is not run here. ``test_hops.py`` runs another OTLP hop in its place.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deploy.tools import DEPLOY, tool

SCHEMA: Final = Path(__file__).with_name("collector.schema.yaml")
FILES: Final = [*sorted((DEPLOY / "otelcol").glob("*.yaml")), DEPLOY / "compose" / "collector.yaml"]
EACH: Final = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in FILES])
KINDS: Final = ("receivers", "processors", "exporters")

Object = dict[str, Any]


def valid(file: Path) -> tuple[bool, str]:
    """Whether a file is as the schema says, and what the checker says of it."""
    words = [tool("check-jsonschema"), "--schemafile", str(SCHEMA), str(file)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    return ran.returncode == 0, ran.stdout + ran.stderr


def read(file: Path) -> Object:
    """A configuration."""
    found: Object = yaml.safe_load(file.read_text("utf-8"))
    return found


@EACH
def test_its_keys_are_the_documented_ones(file: Path) -> None:
    """By the schema."""
    good, said = valid(file)
    assert good, said


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("tee", "max_elapsed_time", "max_elapse_time"),
        ("tee", "initial_interval: 1s", "initial_interval: 1"),
        ("tee", "otlp_grpc/spanward:", "otlp_gprc/spanward:"),
        ("inline", "check_interval: 1s", ""),
        ("inline", "queue_size: 10000", "queue_size: many"),
        ("balance", "routing_attributes: [spanward.key]", ""),
        ("balance", "routing_key: attributes", "routing_key: session"),
        ("balance", "otlp: # ", "otlp: {endpoint: a:1} # "),
        ("balance", "static:", "statics:"),
    ],
)
def test_the_schema_finds_mistakes(file: str, before: str, after: str, tmp_path: Path) -> None:
    """A key that is misspelt, a value of the wrong kind, one that is missing or too many."""
    text = (DEPLOY / "otelcol" / f"{file}.yaml").read_text("utf-8")
    assert before in text
    (broken := tmp_path / "broken.yaml").write_text(text.replace(before, after), "utf-8")
    assert not valid(broken)[0]


@EACH
def test_its_parts_are_defined_and_used(file: Path) -> None:
    """As the Collector demands of pipelines; and nothing stands there for nothing."""
    config = read(file)
    pipelines = config["service"]["pipelines"].values()
    for kind in KINDS:
        used = {name for pipeline in pipelines for name in pipeline.get(kind, [])}
        assert used == set(config.get(kind, {}))
    assert set(config["service"].get("extensions", [])) == set(config.get("extensions", {}))


def _sends_to_spanward(name: str) -> bool:
    return name.endswith("/spanward") or name == "load_balancing"


@EACH
def test_spanward_gets_everything_in_order_and_for_certain(file: Path) -> None:
    """Traces and logs, by one consumer that never gives up."""
    config = read(file)
    pipelines = config["service"]["pipelines"]
    (name,) = filter(_sends_to_spanward, config["exporters"])
    assert name in pipelines["traces"]["exporters"]
    assert name in pipelines["logs"]["exporters"]
    exporter = config["exporters"][name]
    assert exporter["sending_queue"]["num_consumers"] == 1
    assert exporter["retry_on_failure"]["max_elapsed_time"] == "0s"


@EACH
def test_verdicts_do_not_come_back(file: Path) -> None:
    """They arrive on a port of their own, and no pipeline leads from it to spanward."""
    for name, pipeline in read(file)["service"]["pipelines"].items():
        if any(receiver.endswith("/verdicts") for receiver in pipeline["receivers"]):
            assert name == "traces/verdicts"
            assert not any(map(_sends_to_spanward, pipeline["exporters"]))


def test_the_key_is_a_copy() -> None:
    """What ``groupbyattrs`` moves away from the records is not what spanward reads there."""
    config = read(DEPLOY / "otelcol" / "balance.yaml")
    keys = config["processors"]["groupbyattrs"]["keys"]
    assert keys == config["exporters"]["load_balancing"]["routing_attributes"] == ["spanward.key"]
    for statements in ("trace_statements", "log_statements"):
        written = config["processors"]["transform/key"][statements]
        assert all('.attributes["spanward.key"], ' in statement for statement in written)
    for pipeline in config["service"]["pipelines"].values():
        assert pipeline["processors"] == ["transform/key", "groupbyattrs"]
