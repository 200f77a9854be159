"""Processes of a test: the real service through its lives, and the clients that send to it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tests.service.world import figures, page

SPECS = """
name: all-steps
assert: {{count: {{match: {{tool: {{name: work}}}}, min: {steps}, max: {steps}}}}}
---
name: all-records
assert: {{count: {{match: {{event: work}}, min: 1}}}}
---
name: each-step
unit: turn
assert: {{never: {{tool: {{name: work}}}}}}
"""
"""A session holds if it has exactly its steps; each step gives a verdict, at once."""

CONFIG = """
receivers:
  otlp_grpc: {{endpoint: "127.0.0.1:{grpc}"{more}}}
  otlp_http: {{endpoint: "127.0.0.1:{http}"{more}}}
admin: {{endpoint: "127.0.0.1:{admin}"}}
specs: {{paths: ["{folder}/specs.yaml"]}}
sessions: {{settle: 100ms}}
store: {{path: "{folder}/spanward.db"}}
emitters: {{jsonl: {{path: "{folder}/verdicts.jsonl"}}}}
"""

_LOOK = 0.02
"""Seconds between looks at a condition."""


def soon(holds: Callable[[], Any], seconds: float = 30.0) -> bool:
    """Look until something holds, for some seconds at most; whether it does."""
    give_up = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > give_up:
            return False
        time.sleep(_LOOK)
    return True


def until(holds: Callable[[], Any], what: Callable[[], str], seconds: float = 30.0) -> None:
    """Look until something holds; fail with what is to be told when it does not soon."""
    assert soon(holds, seconds), what()


def free_ports(number: int) -> list[int]:
    """Ports that nobody has, and that nobody is given while the service is away.

    They are outside the range from which Linux gives ports to connecting sockets: a client that
    knocks at a closed port of that range now and then is connected to itself.
    """
    free: list[int] = []
    while len(free) < number:
        port = random.randrange(12_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        free.append(port)
    return free


class Process:
    """A process that writes what it says to a file."""

    def __init__(self, log: Path, *command: str | Path, **env: str) -> None:
        self._log = log
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                text=True,
                env=_environment() | env,
            )

    @property
    def said(self) -> str:
        """What it has said."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def _input(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def told(self) -> str:
        """The end of what it said, for a test that fails."""
        return self.said[-3000:]

    def calls(self, number: int) -> None:
        """Have an agent make some tool calls."""
        self._input.write(f"{number}\n")
        self._input.flush()

    def finish(self, seconds: float = 40.0) -> int:
        """Tell an agent that there is no more to do; its exit code."""
        self._input.close()
        until(lambda: not self.runs, self.told, seconds)
        return self._process.wait()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; the exit code."""
        self._input.close()
        self._process.send_signal(number)
        return self._process.wait(30)

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self.runs:
            self.end(signal.SIGKILL)
        self._input.close()


class Served:
    """A service with a store, on ports that stay its own over restarts."""

    def __init__(self, folder: Path, steps: int, more: str = "") -> None:
        self.grpc, self.http, self.admin = free_ports(3)
        self.folder = folder
        ports = {"grpc": self.grpc, "http": self.http, "admin": self.admin}
        text = CONFIG.format(folder=folder, more=more, **ports)
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        (folder / "specs.yaml").write_text(SPECS.format(steps=steps), encoding="utf-8")
        self.process = self._start()

    def _start(self, *options: str) -> Process:
        command = (sys.executable, "-m", "spanward", "serve", *options)
        config = self.folder / "config.yaml"
        process = Process(self.folder / "service.log", *command, "--config", config)
        until(lambda: self._ready(process), process.told)
        return process

    def _ready(self, process: Process) -> bool:
        assert process.runs, process.told()
        try:
            return page(self.admin, "/readyz") == "ready\n"
        except OSError:
            return False

    def restart(self) -> None:
        """Begin the next life, which makes all results final when it is ended."""
        self.process = self._start("--drain")

    def close(self) -> None:
        """End what runs of it."""
        self.process.close()

    def figures(self) -> dict[str, float]:
        """What it has counted."""
        return figures(self.admin)

    def fates(self) -> dict[str, float]:
        """What became of records in this life, without what became of none."""
        return {
            name.split('"')[1]: number
            for name, number in self.figures().items()
            if name.startswith("spanward_records_total{") and number
        }

    def matches(self, spec: str = "all-steps") -> float:
        """How many steps, or log records of steps, were judged in all lives."""
        labels = f'operator="count",severity="warning",spec="{spec}"'
        return self.figures()[f"spanward_spec_matches_total{{{labels}}}"]

    def lines(self, spec: str) -> list[dict[str, Any]]:
        """The verdicts of a spec that were written, in all lives."""
        path = self.folder / "verdicts.jsonl"
        verdicts = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [verdict for verdict in verdicts if verdict["spec"] == spec]


def _environment() -> dict[str, str]:
    """This one, without what would tell an SDK where to send, or have it ask a proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return kept | {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
