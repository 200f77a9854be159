"""A service under attack, and an honest sender beside it: ``python -m tests.attacks.run [SHARE]``.

For each attack: the most memory that the service had, and how long the honest sender's violations
took to be told. Every one of them must be told, and once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, TextIO

import grpc

from tests.attacks.attacks import ATTACKS, EXPORT, request, span
from tests.cli.test_serve import Serving
from tests.service.world import figures

HONEST: Final = "honest-token-0123456789"
HOSTILE: Final = "hostile-token-0123456789"
LIMIT_MIB: Final = 900
CONFIG: Final = """
receivers:
  otlp_grpc: {{endpoint: "127.0.0.1:0", bearer_token_file: "{folder}/tokens"}}
  otlp_http: {{endpoint: "127.0.0.1:0", bearer_token_file: "{folder}/tokens"}}
admin: {{endpoint: "127.0.0.1:0"}}
memory: {{soft_mib: 700, hard_mib: {limit}}}
emitters: {{jsonl: {{path: "{folder}/verdicts.jsonl"}}}}
store: {{path: "{folder}/spanward.db"}}
"""
SPEC: Final = """
name: never-rm
assert: {never: {tool: {name: rm}}}
"""
PAUSE: Final = 0.05
"""Seconds between the honest sender's violations."""


@dataclass(frozen=True)
class Outcome:
    """What an attack did to the service.

    MiB at most, seconds it took, and of the honest sender's violations the seconds until each was
    told; requests refused so far, by reason.
    """

    most_mib: float
    seconds: float
    told: list[float]
    refused: dict[str, float]


class Verdicts:
    """The service's lines of verdicts, read as they come."""

    def __init__(self, lines: TextIO) -> None:
        self._file = lines
        self._rest = ""

    def sessions(self) -> Iterator[str]:
        """The sessions of the failures that came since this was last asked."""
        self._rest += self._file.read()
        *lines, self._rest = self._rest.split("\n")
        for line in lines:
            verdict: dict[str, Any] = json.loads(line)
            if verdict["result"] == "fail":
                yield verdict["session"]


class Honest:
    """A sender with a violation at a time, which tries again when it is asked to."""

    def __init__(self, port: int, verdicts: Verdicts, attack: str) -> None:
        self._way = grpc.insecure_channel(f"127.0.0.1:{port}")
        self._export = self._way.unary_unary(EXPORT, bytes, bytes)
        self._verdicts = verdicts
        self._attack = attack
        self._number = 0

    def violate(self) -> float:
        """Send a violation; seconds until it was told. Raises ``TimeoutError`` after a minute."""
        self._number += 1
        session = f"honest-{self._attack}-{self._number}"
        data = request(span(session, self._number))
        begun = time.monotonic()
        while True:
            try:
                self._export(data, timeout=30, metadata=(("authorization", f"Bearer {HONEST}"),))
                break
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                if time.monotonic() - begun > 60:
                    raise TimeoutError(session) from error
                time.sleep(0.1)  # sooner than it is asked to: this is what is measured
        told = 0
        while not told:
            told += sum(each == session for each in self._verdicts.sessions())
            if time.monotonic() - begun > 60:
                raise TimeoutError(session)
            time.sleep(0.001)
        assert told == 1
        return time.monotonic() - begun


@contextmanager
def under_attack(folder: Path) -> Iterator[tuple[Serving, Verdicts]]:
    """A service with two senders, and its verdicts."""
    (folder / "tokens").write_text(f"honest {HONEST}\nhostile {HOSTILE}\n")
    (folder / "config.yaml").write_text(CONFIG.format(folder=folder, limit=LIMIT_MIB))
    (folder / "spec.yaml").write_text(SPEC)
    verdicts = folder / "verdicts.jsonl"
    verdicts.touch()
    serving = Serving("--specs", str(folder / "spec.yaml"), "--config", str(folder / "config.yaml"))
    try:
        with verdicts.open(encoding="utf-8") as lines:
            yield serving, Verdicts(lines)
        assert serving.stop()[0] == 0
    finally:
        serving.kill()


def attacked(serving: Serving, verdicts: Verdicts, attack: str, share: float) -> Outcome:
    """What an attack did."""
    forget_peak(serving.pid)
    honest = Honest(serving.grpc_port, verdicts, attack)
    ports = (str(serving.grpc_port), str(serving.http_port))
    begun = time.monotonic()
    attacker = subprocess.Popen(
        [sys.executable, "-m", "tests.attacks.attacks", attack, *ports, HOSTILE, str(share)]
    )
    told = []
    while attacker.poll() is None:
        told.append(honest.violate())
        time.sleep(PAUSE)
    told.append(honest.violate())
    assert attacker.returncode == 0
    counted = figures(serving.admin_port)
    assert counted["spanward_evaluation_errors_total"] == 0
    prefix = 'spanward_requests_refused_total{reason="'
    return Outcome(
        peak_mib(serving.pid),
        time.monotonic() - begun,
        told,
        {
            name.removeprefix(prefix).removesuffix('"}'): number
            for name, number in counted.items()
            if name.startswith(prefix) and number
        },
    )


def forget_peak(pid: int) -> None:
    """Have the most memory be measured from now on (proc(5), clear_refs)."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_mib(pid: int) -> float:
    """The most resident memory that a process had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmHWM")


def main() -> None:
    """See the module's docstring."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    only = sys.argv[2:] or list(ATTACKS)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    heads = ("MiB at most", "seconds", "told: n", "median", "worst")
    print(f"{'attack':20}", *(f"{head:>11}" for head in heads))
    with tempfile.TemporaryDirectory() as folder, under_attack(Path(folder)) as (serving, verdicts):
        for attack in only:
            made = attacked(serving, verdicts, attack, share)
            print(
                f"{attack:20} {made.most_mib:11,.0f} {made.seconds:11.1f} {len(made.told):11} "
                f"{median(made.told):10.3f}s {max(made.told):10.3f}s {made.refused}",
                flush=True,
            )


if __name__ == "__main__":
    main()
