"""The image, built and run: not root, nothing to write on, and nothing lost when it is stopped.

``.ci/run image`` builds it and gives these tests a network of their own, since the image listens
on fixed ports.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import grpc
import pytest

from tests.deploy.container import Container, Image
from tests.deploy.tools import DEPLOY, given, tool
from tests.service.world import NEVER_RM, call, export, figures, otlp_endpoint, page, request

GRPC, HTTP, ADMIN = 4317, 4318, 9464
STORE: Final = "/var/lib/spanward"
SPECS: Final = "/etc/spanward/specs"
FAILED: Final = (
    'spanward_verdicts_total{operator="never",result="fail",severity="critical",spec="never-rm"}'
)
PATIENCE: Final = 30.0
"""Seconds after which something that should happen is said not to."""


@pytest.fixture
def image() -> Image:
    """The image that ``.ci/run image`` built."""
    root = Path(given("SPANWARD_IMAGE_ROOT", "the folder of the image's files"))
    text = given("SPANWARD_IMAGE_CONFIG", "the image's configuration as JSON")
    return Image(root, json.loads(text)["config"])


Run = Callable[..., Container]


@pytest.fixture
def run(image: Image, tmp_path: Path) -> Iterator[Run]:
    """Starts containers with one spec, all on the same volume for the store."""
    (specs := tmp_path / "specs").mkdir()
    (specs / "never-rm.yaml").write_text(NEVER_RM, encoding="utf-8")
    (store := tmp_path / "store").mkdir(mode=0o700)
    os.chown(store, *map(int, image.config["User"].split(":")))
    bwrap = tool("bwrap")
    started: list[Container] = []

    def start(
        environment: dict[str, str] | None = None, command: tuple[str, ...] = ()
    ) -> Container:
        volumes = {STORE: store, SPECS: specs}
        started.append(Container(bwrap, image, volumes, environment, command))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that a process does."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def ready(container: Container) -> bool:
    """Whether its ``/readyz`` says so."""
    assert container.running, container.said
    with suppress(OSError):
        return page(ADMIN, "/readyz") == "ready\n"
    return False


def serving(run: Run, **environment: str) -> Container:
    """A container that is ready."""
    container = run(environment)
    until(lambda: ready(container), "it does not get ready")
    return container


def test_it_is_nobody_and_can_write_nowhere_but_to_its_store(run: Run) -> None:
    """A number that is not root, no capability to be had, a read-only root."""
    script = """
import errno, os, pathlib
print(os.getpid(), os.getuid(), os.getgid(), os.getgroups())
status = dict(x.split(":\\t") for x in open("/proc/self/status").read().splitlines() if ":\\t" in x)
print(status["CapEff"], status["CapBnd"], status["NoNewPrivs"])
for folder in ("/", "/tmp", "/etc/spanward", "/opt/spanward", "/etc/spanward/specs"):
    try:
        (pathlib.Path(folder) / "x").write_text("x")
        print("wrote to", folder)
    except OSError as error:
        print(errno.errorcode[error.errno], end=" ")
pathlib.Path("/var/lib/spanward/x").write_text("x")
"""
    container = run(command=("/opt/spanward/bin/python", "-c", script))
    assert container.wait() == 0, container.said
    none = "0" * 16
    assert container.out == ["1 10001 10001 []", f"{none} {none} 1", "EROFS " * 5]


def test_no_python_is_compiled_at_run_time(run: Run) -> None:
    """Every module comes with its compiled form: it could not be written, and start is quicker."""
    script = """
import pathlib
site = next(pathlib.Path("/opt/spanward/lib").glob("python*/site-packages"))
for source in site.rglob("*.py"):
    if not list((source.parent / "__pycache__").glob(source.stem + ".*.pyc")):
        print(source)
"""
    container = run(command=("/opt/spanward/bin/python", "-c", script))
    assert (container.wait(), container.out, container.said) == (0, [], [])


def test_it_exposes_where_it_listens(image: Image) -> None:
    """The ports of the configuration that is in it."""
    config = (DEPLOY / "spanward.yaml").read_text("utf-8")
    ports = set(re.findall(r"SPANWARD_BIND:-127.0.0.1}:(\d+)", config))
    assert {f"{port}/tcp" for port in ports} == set(image.config["ExposedPorts"])
    assert ports == {str(port) for port in (GRPC, HTTP, ADMIN)}


def test_its_health_is_asked_as_the_image_says(run: Run, image: Image) -> None:
    """``HEALTHCHECK`` fails while nothing runs, and passes when the service is ready."""
    kind, *ask = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    assert run(command=tuple(ask)).wait() == 1
    serving(run)
    assert run(command=tuple(ask)).wait() == 0


def test_a_violation_goes_through_it(run: Run) -> None:
    """In by gRPC and HTTP; out as a line of JSON, a verdict span and a metric."""
    with otlp_endpoint() as backend:
        container = serving(run, SPANWARD_VERDICTS=f"http://127.0.0.1:{backend.port}")
        export(GRPC, request(call("rm", 1)))
        until(lambda: bool(container.out), "no line of JSON")
        verdict = json.loads(container.out[0])
        assert (verdict["spec"], verdict["result"]) == ("never-rm", "fail")
        assert backend.arrived.wait(PATIENCE)
        assert [span.name for _, span in backend.spans] == ["spanward.verdict"]
        post = urllib.request.Request(
            f"http://127.0.0.1:{HTTP}/v1/traces",
            request(call("rm", 2, "s2")),
            {"Content-Type": "application/x-protobuf"},
        )
        urllib.request.urlopen(post, timeout=PATIENCE).close()
        assert figures(ADMIN)[FAILED] == 2
        assert container.stop() == 0, container.said


def test_a_stop_loses_nothing(run: Run) -> None:
    """SIGTERM while an agent sends: exit code 0, and what was acknowledged is there afterwards."""
    with otlp_endpoint() as backend:
        sink = f"http://127.0.0.1:{backend.port}"
        container = serving(run, SPANWARD_VERDICTS=sink)
        acknowledged = 0
        stopping = threading.Event()

        def send() -> None:
            nonlocal acknowledged
            with suppress(grpc.RpcError):  # the service has gone
                while True:
                    number = acknowledged + 1
                    export(GRPC, request(call("rm", number, f"s{number}")))
                    acknowledged = number
                    if number > 20:
                        stopping.set()

        sender = threading.Thread(target=send)
        sender.start()
        assert stopping.wait(PATIENCE)
        assert container.stop() == 0, container.said
        sender.join(PATIENCE)
        told = len(container.out)
        assert told >= acknowledged > 20

        again = serving(run, SPANWARD_VERDICTS=sink)
        assert figures(ADMIN)[FAILED] == told
        export(GRPC, request(call("rm", 1, "s1")))
        assert again.stop() == 0, again.said
        assert again.out == [], "what was announced before is announced again"
