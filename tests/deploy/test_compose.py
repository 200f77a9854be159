"""The Compose file: well formed, nothing more open than it must be, and its parts know each other.

No container is started here. What runs in them is: the service with the image's configuration, the
sample agent, Prometheus with the mounted files, and another OTLP hop for the Collector, with the
commands and variables of the Compose file, in one network namespace as there. The ports are fixed,
so ``.ci/run compose`` gives the test a network of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deploy.tools import DEPLOY, ROOT, given, tool
from tests.service.world import figures, otlp_endpoint, page

FILE: Final = DEPLOY / "compose" / "compose.yaml"
SHARED: Final = "service:pod"
PATIENCE: Final = 30.0

Object = dict[str, Any]


def compose(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Compose without a daemon: it reads the file, that is all."""
    command = [tool("docker-compose"), "--project-directory", str(FILE.parent), "--file", str(file)]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def services() -> Object:
    """The services, as Compose reads them: merged, with full paths."""
    ran = compose(FILE, "config", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found: Object = json.loads(ran.stdout)["services"]
    return found


def test_compose_has_nothing_to_complain_of() -> None:
    """Not even a warning."""
    ran = compose(FILE, "config", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("network_mode:", "networkmode:"),
        ("condition: service_healthy", "condition: healthy"),
        ("depends_on: [pod, prometheus]", "depends_on: [pod, prometeus]"),
        ("- store:/var/lib/spanward", "- stores:/var/lib/spanward"),
    ],
)
def test_a_mistake_in_the_file_is_found(before: str, after: str, tmp_path: Path) -> None:
    """So the test above means something."""
    text = FILE.read_text("utf-8")
    assert before in text
    (broken := tmp_path / "compose.yaml").write_text(text.replace(before, after), "utf-8")
    assert compose(broken, "config", "--quiet").returncode != 0


def test_nothing_is_more_open_than_it_must_be(services: Object) -> None:
    """No capabilities, nothing to write on, and ports for this machine only."""
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("network_mode", SHARED) == SHARED, name
        assert all(port["host_ip"] == "127.0.0.1" for port in service.get("ports", [])), name
        for volume in service.get("volumes", []):
            assert volume["type"] == "volume" or volume["read_only"], name


def test_what_is_mounted_is_there(services: Object) -> None:
    """Docker makes an empty folder of what is not."""
    sources = [
        Path(volume["source"])
        for service in services.values()
        for volume in service.get("volumes", [])
        if volume["type"] == "bind"
    ]
    assert len(sources) > 5
    missing = {str(each.relative_to(ROOT)) for each in sources if not each.exists()}
    assert missing == set()


def test_every_image_has_its_version(services: Object) -> None:
    """What worked today works tomorrow."""
    tags = [service["image"].partition(":")[2] for service in services.values()]
    assert all(tag and tag != "latest" for tag in tags)


# --- all of it, running


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that a process does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError):
            if true():
                return
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes, and ends them when the test does."""
    with ExitStack() as stack:

        def start(words: list[str], cwd: Path, **environment: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                words, cwd=cwd, env={"PATH": os.environ["PATH"], **environment}
            )
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            return process

        yield start


def test_a_violation_becomes_an_alert(
    services: Object, started: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """The agent, by way of a hop, to the service; from there to the backend, and to Prometheus."""
    given("SPANWARD_OWN_NETWORK", "the ports are fixed")

    def mounted(service: str) -> list[str]:
        """A command of options, with paths of the container as paths here."""
        words: list[str] = services[service]["command"]
        for volume in services[service]["volumes"]:
            here = volume["source"] if volume["type"] == "bind" else str(tmp_path / service)
            target = f"={volume['target']}"
            words = [f"={here}".join(word.split(target, 1)) for word in words]
        return words

    def hop(listen: int, to: int) -> None:
        started(
            [
                *(tool("rotel"), "start", "--exporter", "otlp", "--batch-timeout", "100ms"),
                *("--otlp-exporter-endpoint", f"http://127.0.0.1:{to}"),
                *("--otlp-grpc-endpoint", f"127.0.0.1:{listen}"),
                *("--otlp-http-endpoint", f"127.0.0.1:{listen + 1000}"),
            ],
            tmp_path,
        )

    with otlp_endpoint() as backend:
        collector = yaml.safe_load((FILE.parent / "collector.yaml").read_text("utf-8"))
        receivers = collector["receivers"]
        agents = receivers["otlp"]["protocols"]["grpc"]["endpoint"]
        verdicts = receivers["otlp/verdicts"]["protocols"]["grpc"]["endpoint"]
        spanward = collector["exporters"]["otlp_grpc/spanward"]["endpoint"]
        hop(port_of(agents), port_of(spanward))
        hop(port_of(verdicts), backend.port)

        started(
            [sys.executable, "-m", "spanward", "serve", "--config", str(DEPLOY / "spanward.yaml")],
            tmp_path,
            **services["spanward"]["environment"],
            SPANWARD_SPECS=str(ROOT / "examples" / "demo.yaml"),
        )
        until(lambda: page(9464, "/readyz") == "ready\n", "the service does not get ready")
        started([tool("prometheus"), *mounted("prometheus")], tmp_path)
        until(lambda: "Healthy" in page(9090, "/-/healthy"), "Prometheus does not get ready")

        environment = services["agent"]["environment"]
        agent = started(
            [sys.executable, str(FILE.parent / "agent.py"), "3"], tmp_path, **environment
        )
        until(lambda: "SpanwardNeverViolated" in firing(), "no alert")
        assert agent.wait(PATIENCE) == 0
        assert any(span.name == "spanward.verdict" for _, span in backend.spans)
        judged = figures(9464)
        assert judged['spanward_spans_received_total{transport="grpc"}'] == 3 + 2 + 2 + 3


def port_of(endpoint: str) -> int:
    """The port of host:port."""
    return int(endpoint.rpartition(":")[2])


def firing() -> set[str]:
    """The names of the alerts that fire in Prometheus."""
    with urllib.request.urlopen("http://127.0.0.1:9090/api/v1/alerts") as answer:
        alerts = json.load(answer)["data"]["alerts"]
    return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}
