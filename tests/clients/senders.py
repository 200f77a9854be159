"""The clients: which there are, how each is started, and what it says when nobody answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.clients.processes import Process, Served, free_ports, until

HERE: Final = Path(__file__).parent
NODE, ROTEL = "Node.js and npm", "rotel"
GZIP: Final = {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
_AWAY: Final = {
    "grpc": "Transient error",
    "http": "Transient error",
    "node-grpc": "UNAVAILABLE",
    "node-grpc-again": "exporting again after",
    "node-json": "Scheduling export retry",
    "node-protobuf": "Scheduling export retry",
    "rotel": "will retry again",
}
"""What a client says when it finds the service away, by what it is."""


@dataclass(frozen=True)
class Client:
    """An agent with an exporter, and perhaps rotel between it and the service.

    ``hop`` is the protocol in which rotel sends on. What ``gives_up`` loses spans when nobody
    answers. With ``logs`` it tells of its steps in log records; that for Node.js can.
    """

    exporter: str
    hop: str | None = None
    more: dict[str, str] = field(default_factory=dict)
    gives_up: bool = False
    logs: bool = False

    def __str__(self) -> str:
        name = self.exporter if self.exporter.startswith("node") else f"python-{self.exporter}"
        return name if self.hop is None else f"{name}-rotel-{self.hop}"

    @property
    def needs(self) -> list[str]:
        """What must be installed for it."""
        return [NODE] * self.exporter.startswith("node") + [ROTEL] * (self.hop is not None)


@dataclass(frozen=True)
class Installed:
    """Where the agent for Node.js and rotel are, by what they are called in ``needs``."""

    places: dict[str, Path]

    def has(self, client: Client) -> bool:
        """Whether a client can be started."""
        return all(need in self.places for need in client.needs)


class Sender:
    """A client that runs."""

    def __init__(
        self, client: Client, installed: Installed, served: Served, token: str | None = None
    ) -> None:
        self.client = client
        self.name = str(client)
        self.rotel: Process | None = None
        port = served.grpc if "grpc" in client.exporter else served.http
        if client.hop is not None:
            port = self._put_rotel_between(client.hop, installed.places[ROTEL], served, token)
        self.agent = self._start_agent(installed, served.folder, port, token)

    def _start_agent(
        self, installed: Installed, folder: Path, port: int, token: str | None
    ) -> Process:
        said = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", **self.client.more}
        if token is not None:
            said["OTEL_EXPORTER_OTLP_HEADERS"] = f"authorization=Bearer%20{token}"
        log, exporter = folder / f"{self.name}.log", self.client.exporter
        # For so long an exporter tries again; the default is 10 s. JavaScript has milliseconds.
        if exporter.startswith("node"):
            said["OTEL_EXPORTER_OTLP_TIMEOUT"] = "60000"
            transport = exporter.removeprefix("node-")
            agent = installed.places[NODE]
            signal = "logs" if self.client.logs else "traces"
            return Process(log, "node", agent, transport, self.name, signal, **said)
        said["OTEL_EXPORTER_OTLP_TIMEOUT"] = "60"
        return Process(log, sys.executable, HERE / "agent.py", exporter, self.name, **said)

    def _put_rotel_between(self, hop: str, program: Path, served: Served, token: str | None) -> int:
        """Start rotel; the port on which it takes gRPC."""
        grpc, http = free_ports(2)
        to = served.grpc if hop == "grpc" else served.http
        options = {
            "pid-file": served.folder / f"{self.name}.pid",
            "otlp-grpc-endpoint": f"127.0.0.1:{grpc}",
            "otlp-http-endpoint": f"127.0.0.1:{http}",
            "exporter": "otlp",
            "otlp-exporter-endpoint": f"http://127.0.0.1:{to}",
            "otlp-exporter-protocol": hop,
            # The defaults, 5 s and 30 s, are not for tests.
            "otlp-exporter-retry-initial-backoff": "200ms",
            "otlp-exporter-retry-max-backoff": "1s",
        }
        if token is not None:
            options["otlp-exporter-custom-headers"] = f"authorization=Bearer {token}"
        words = [f"--{name}={value}" for name, value in options.items()]
        rotel = Process(served.folder / f"{self.name}.rotel.log", program, "start", *words)
        self.rotel = rotel
        until(lambda: "Starting Rotel" in rotel.said, rotel.told)
        return grpc

    @property
    def said(self) -> str:
        """What was said by the process that sends to the service."""
        return (self.rotel or self.agent).said

    @property
    def found_nobody(self) -> bool:
        """Whether it has noticed that the service is away."""
        return _AWAY["rotel" if self.rotel is not None else self.client.exporter] in self.said

    def close(self) -> None:
        """End it."""
        self.agent.close()
        if self.rotel is not None:
            self.rotel.close()
