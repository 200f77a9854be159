"""The service's configuration: its values, and how they are printed.

Every default works on loopback, without a file.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import msgspec

from spanward.engine.limits import Limits
from spanward.receive.tls import TlsFiles


class Endpoint(msgspec.Struct, frozen=True):
    """A host and a port; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it; a name other than ``localhost`` may be any's."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class SpanEmitter(msgspec.Struct, frozen=True):
    """Where verdict spans go."""

    endpoint: str
    protocol: str = "grpc"
    results: tuple[str, ...] = ("fail", "unknown", "pass")


class Receiver(msgspec.Struct, frozen=True):
    """One door for telemetry; with a ``bearer_token_file`` every sender needs a token."""

    endpoint: Endpoint
    max_message_mib: int = 64
    tls: TlsFiles | None = None
    bearer_token_file: Path | None = None
    max_connection_age: float | None = None


class Memory(msgspec.Struct, frozen=True):
    """From how much resident memory on room is made, and nothing is taken; None: no limit."""

    soft_mib: int | None = None
    hard_mib: int | None = None


class AlertmanagerEmitter(msgspec.Struct, frozen=True):
    """Which Alertmanager failures are pushed to, and after how many seconds they end there."""

    url: str
    resolve_after: float = 3600.0


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration, with defaults. Times are seconds; ``store`` None is memory."""

    grpc: Receiver = Receiver(Endpoint("127.0.0.1", 4317))
    http: Receiver = Receiver(Endpoint("127.0.0.1", 4318))
    admin: Endpoint = Endpoint("127.0.0.1", 9464)
    allowed_hosts: tuple[str, ...] = ()
    token_file: Path | None = None
    specs: tuple[Path, ...] = ()
    watch: bool = False
    limits: Limits = Limits()
    store: Path | None = Path("spanward.db")
    spans: SpanEmitter | None = None
    jsonl: str | None = None
    alertmanager: AlertmanagerEmitter | None = None
    max_requests: int = 1000
    max_queue_mib: int = 256
    memory: Memory = Memory()
    drain_timeout: float = 10.0


SQLITE: Final = "sqlite"
MEMORY: Final = "memory"
STORES: Final = (SQLITE, MEMORY)
DEFAULT_SPECS: Final = Path("specs")
SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""The units in which durations are written."""


def as_yaml_object(config: Config) -> dict[str, Any]:
    """A configuration in the shape of the file, for ``--print-config``."""
    limits = config.limits
    spans = None if config.spans is None else msgspec.to_builtins(config.spans)
    emitters = {
        "spans": spans,
        "jsonl": None if config.jsonl is None else {"path": config.jsonl},
        "alertmanager": None if config.alertmanager is None else _alertmanager(config.alertmanager),
    }
    return {
        "receivers": {
            "otlp_grpc": _as_receiver(config.grpc),
            "otlp_http": _as_receiver(config.http),
        },
        "specs": {
            "paths": [str(path) for path in config.specs or (DEFAULT_SPECS,)],
            "watch": config.watch,
        },
        "sessions": {
            "idle_timeout": _as_duration(limits.idle_timeout),
            "settle": _as_duration(limits.settle),
            "retain": _as_duration(limits.retain),
            "max_open": limits.max_open,
            "max_facts": limits.max_facts,
            **_given(max_open_per_sender=limits.max_open_per_sender),
        },
        "store": {"kind": MEMORY}
        if config.store is None
        else {"kind": SQLITE, "path": str(config.store)},
        "emitters": {name: value for name, value in emitters.items() if value is not None},
        "admin": _admin(config),
        "queue": {"max_requests": config.max_requests, "max_mib": config.max_queue_mib},
        "memory": _given(soft_mib=config.memory.soft_mib, hard_mib=config.memory.hard_mib),
        "redact_values": config.limits.redact_values,
        "drain_timeout": _as_duration(config.drain_timeout),
    }


def _as_receiver(receiver: Receiver) -> dict[str, Any]:
    tls, age = receiver.tls, receiver.max_connection_age
    return {
        "endpoint": str(receiver.endpoint),
        "max_message_mib": receiver.max_message_mib,
        **_given(
            tls=None
            if tls is None
            else _given(
                cert_file=_text(tls.cert),
                key_file=_text(tls.key),
                client_ca_file=_text(tls.client_ca),
                min_version=tls.min_version,
            ),
            bearer_token_file=_text(receiver.bearer_token_file),
            max_connection_age=None if age is None else _as_duration(age),
        ),
    }


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _admin(config: Config) -> dict[str, Any]:
    admin = {"endpoint": str(config.admin), "allowed_hosts": list(config.allowed_hosts)}
    return admin if config.token_file is None else {**admin, "token_file": str(config.token_file)}


def _alertmanager(emitter: AlertmanagerEmitter) -> dict[str, str]:
    return {"url": emitter.url, "resolve_after": _as_duration(emitter.resolve_after)}


def _as_duration(seconds: float) -> str:
    for unit in ("d", "h", "m", "s"):
        if seconds >= SECONDS[unit] and seconds % SECONDS[unit] == 0:
            return f"{seconds / SECONDS[unit]:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"
