"""The real Prometheus, Alertmanager and spanward as processes, and a receiver of webhooks.

They run by the files in ``deploy/``, with other addresses. Without the programs a test that needs
them fails where CI is set, and is skipped with the reason elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.docs.pages import ROOT
from tests.service.test_push import Receiver, receiver

DEPLOY = ROOT / "deploy"
_NAMES = {
    "prometheus": ("prometheus",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),
}
_HINT = "on Debian: apt-get install prometheus prometheus-alertmanager"
_PATIENCE = 60.0
"""Seconds in which anything that is waited for must have come."""
_T = TypeVar("_T")


def program(name: str) -> str:
    """Where a program is; without it the test fails in CI and is skipped elsewhere."""
    for each in _NAMES.get(name, (name,)):
        found = shutil.which(each)
        if found is not None:
            return found
    if os.environ.get("CI"):
        pytest.fail(f"{name} is not installed; {_HINT}")
    pytest.skip(f"NOT CHECKED: {name} is not installed; {_HINT}")


def until(what: Callable[[], _T | None], patience: float = _PATIENCE) -> _T:
    """What some question gives, asked until it gives something; fails after some seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            found = what()
        except OSError:
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.01)


def free_port() -> int:
    """A port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def ask(url: str) -> Any:
    """The JSON at a URL."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


class Spanward:
    """A service over a folder with specs and a store; it can be killed and begun again."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.grpc, self.admin = free_port(), free_port()
        self._config = folder / "spanward.yaml"
        self._log = folder / "spanward.log"
        self._config.write_text(
            f"receivers: {{otlp_grpc: {{endpoint: 127.0.0.1:{self.grpc}}}}}\n"
            f"admin: {{endpoint: 127.0.0.1:{self.admin}, token_file: {folder / 'token'}}}\n"
            f"specs: {{paths: {folder / 'specs.yaml'}}}\n"
            f"sessions: {{settle: 200ms}}\n"
            f"store: {{path: {folder / 'spanward.db'}}}\n{more}",
            "utf-8",
        )
        (folder / "token").write_text("t", "utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start, and wait until it is ready."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spanward", "serve", "--config", str(self._config)],
                stdout=log,
                stderr=log,
            )
        until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz").read())

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None


class Prometheus:
    """The real one; ``query`` and ``api`` ask it."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def api(self, path: str, **parameters: str) -> Any:
        """What its HTTP API answers; raises HTTPError when it does not like the question."""
        given = urllib.parse.urlencode(parameters)
        answer = ask(f"{self._url}/api/v1/{path}?{given}")
        assert answer["status"] == "success"
        return answer["data"]

    def query(self, text: str) -> list[Any]:
        """The series that a query gives now."""
        found: list[Any] = self.api("query", query=text)["result"]
        return found


class Chain:
    """Everything between a violation and whoever is told of it."""

    def __init__(self, folder: Path, stack: ExitStack, port: int) -> None:
        self._folder, self._stack = folder, stack
        self.receiver: Receiver = stack.enter_context(receiver())
        self.alertmanager = port
        self._start_alertmanager()

    def told(self, name: str, status: str) -> list[dict[str, Any]]:
        """The alerts of a name that the webhook was told of as firing, or as resolved."""
        alerts = [alert for _, post in list(self.receiver.posts) for alert in post["alerts"]]
        chosen = [one for one in alerts if one["labels"]["alertname"] == name]
        return [one for one in chosen if one["status"] == status]

    def start_prometheus(self, admin: int, shorter: dict[str, str] | None = None) -> Prometheus:
        """Prometheus, scraping a service; texts in the rules may be replaced by shorter times."""
        port = free_port()
        rules = (DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8")
        for long, short in (shorter or {}).items():
            assert long in rules
            rules = rules.replace(long, short)
        (self._folder / "alerts.yml").write_text(rules, "utf-8")
        config = (DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8")
        config = _moved(config, {9464: admin, 9093: self.alertmanager})
        file = self._folder / "prometheus.yml"
        file.write_text(config, "utf-8")
        self._run(
            program("prometheus"),
            f"--config.file={file}",
            f"--storage.tsdb.path={self._folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        )
        made = Prometheus(port)
        until(lambda: made.api("query", query="1"))
        return made

    def _start_alertmanager(self) -> None:
        config = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text("utf-8")
        file = self._folder / "alertmanager.yml"
        file.write_text(_moved(config, {9095: self.receiver.server_port}), "utf-8")
        self._run(
            program("alertmanager"),
            f"--config.file={file}",
            f"--storage.path={self._folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{self.alertmanager}",
            "--cluster.listen-address=",
        )
        until(lambda: ask(f"http://127.0.0.1:{self.alertmanager}/api/v2/status"))

    def _run(self, *command: str) -> None:
        log = self._stack.enter_context((self._folder / f"{Path(command[0]).name}.log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=log)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)


@contextmanager
def chain(folder: Path, port: int | None = None) -> Iterator[Chain]:
    """Alertmanager, on any port or a given one, and the receiver of its webhooks, for a while."""
    with ExitStack() as stack:
        yield Chain(folder, stack, port or free_port())


def _moved(config: str, ports: dict[int, int]) -> str:
    """A configuration with other ports on this machine."""
    for old, new in ports.items():
        assert f"127.0.0.1:{old}" in config
        config = config.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
    return config
