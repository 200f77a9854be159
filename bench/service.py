"""The real service in a process of its own: started, measured from outside, stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SPECS: Final = Path(__file__).parent / "specs"
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0
SERVE: Final = "from spanward.cli import main; main()"
"""What the console script does; so the service runs in the Python that runs the benchmark."""
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")

CONFIG: Final = """\
receivers:
  otlp_grpc: {{endpoint: "127.0.0.1:{grpc_port}"}}
  otlp_http: {{endpoint: "127.0.0.1:0"}}
specs: {{paths: ["{specs}"]}}
store: {{kind: {store}, path: "{folder}/spanward.db"}}
emitters:
  jsonl: {{path: "{verdicts}"}}
admin: {{endpoint: "127.0.0.1:{admin_port}"}}
"""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: where it listens and which process it is."""

    pid: int
    grpc_port: int
    admin_port: int
    verdicts: Path

    def cpu_seconds(self) -> float:
        """User and system time of all its threads so far, in steps of a clock tick (10 ms)."""
        stat = Path(f"/proc/{self.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND

    def resident_mib(self) -> float:
        """Its resident memory."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def metric(self, name: str) -> float:
        """The sum of a metric over all its labels; 0 when it has no series yet."""
        with urllib.request.urlopen(self._url("/metrics"), timeout=10) as answer:
            text = answer.read().decode()
        series = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)", text, re.MULTILINE)
        return sum(map(float, series))

    def is_ready(self) -> bool:
        """Whether it takes telemetry."""
        try:
            with urllib.request.urlopen(self._url("/readyz"), timeout=1) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.admin_port}{path}"


@contextmanager
def running(folder: Path, store: str = "memory") -> Iterator[Service]:
    """The service with the benchmark's specs and a kind of store; its files go to ``folder``.

    Raises ``RuntimeError`` when it does not become ready or does not stop cleanly.
    """
    grpc_port, admin_port = free_ports(2)
    verdicts = folder / "verdicts.jsonl"
    config = folder / "spanward.yaml"
    config.write_text(
        CONFIG.format(
            grpc_port=grpc_port,
            admin_port=admin_port,
            specs=SPECS,
            verdicts=verdicts,
            store=store,
            folder=folder,
        )
    )
    command = [sys.executable, "-c", SERVE, "serve", "--config", str(config)]
    with (folder / "service.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        service = Service(process.pid, grpc_port, admin_port, verdicts)
        _await_ready(service, process, folder)
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(STOP_SECONDS)
    if status != 0:
        raise RuntimeError(f"the service ended with {status}: {_last_words(folder)}")


def _await_ready(service: Service, process: subprocess.Popen[bytes], folder: Path) -> None:
    give_up = time.monotonic() + START_SECONDS
    while not service.is_ready():
        if process.poll() is not None or time.monotonic() > give_up:
            raise RuntimeError(f"the service did not start: {_last_words(folder)}")
        time.sleep(0.05)


def _last_words(folder: Path) -> str:
    return (folder / "service.log").read_text(errors="replace")[-2000:]


def free_ports(count: int) -> list[int]:
    """Some ports of the loopback interface that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
