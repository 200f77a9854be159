"""The configuration file: YAML, checked as strictly as specs are, all mistakes at once.

``${VAR}`` and ``${VAR:-default}`` stand for environment variables in any value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as AbstractMapping
from pathlib import Path
from typing import Any, Final

import msgspec

from spanward import expect
from spanward.config import readers
from spanward.config.environment import expanded
from spanward.config.values import (
    MEMORY,
    SQLITE,
    AlertmanagerEmitter,
    Config,
    Memory,
    SpanEmitter,
)
from spanward.engine.limits import Limits
from spanward.errors import Problems
from spanward.node import Mapping, Scalar
from spanward.receive.tls import TlsFiles
from spanward.specs.files import sources
from spanward.specs.yaml import read
from spanward.verdict import Result

_EMITTERS: Final = {"spans": SpanEmitter, "alertmanager": AlertmanagerEmitter}
_REQUIRED: Final = {
    "spans": ("endpoint",),
    "alertmanager": ("url",),
    "tls": ("cert_file", "key_file"),
}
"""Keys that a mapping must have: there is no default for where verdicts go, for example."""


def load_config(
    path: Path, problems: Problems, environment: AbstractMapping[str, str] = os.environ
) -> Config:
    """The configuration of a file; every mistake is noted, and then the defaults are given."""
    documents = [node for source in sources([path], problems) for node in read(source, problems)]
    if problems.errors or not documents:
        return Config()
    for more in documents[1:]:
        problems.error(more.place, "a configuration is one document", "remove the line ---")
    top = expect.mapping(documents[0], "the configuration", problems)
    if top is None:
        return Config()
    found: dict[str, Any] = {}
    _walk(expanded(top, environment, problems), _SCHEMA, "the configuration", found, problems)
    if problems.errors:
        return Config()
    if found.pop("store_kind", SQLITE) == MEMORY:
        found["store"] = None
    limits = {key: found.pop(key) for key in Limits.__struct_fields__ if key in found}
    for name, kind in _EMITTERS.items():
        if given := _taken(found, f"{name}."):
            found[name] = kind(**given)
    found["memory"] = Memory(**_taken(found, "memory."))
    for name in ("grpc", "http"):
        tls, receiver = _taken(found, f"{name}.tls."), _taken(found, f"{name}.")
        usual = getattr(Config(), name)
        found[name] = msgspec.structs.replace(
            usual, tls=TlsFiles(**tls) if tls else None, **receiver
        )
    return Config(limits=Limits(**limits), **found)


def _taken(found: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take what was found under a prefix out, by the rest of its name."""
    names = [name for name in found if name.startswith(prefix)]
    return {name.removeprefix(prefix): found.pop(name) for name in names}


def _walk(
    node: Mapping, schema: dict[str, Any], what: str, found: dict[str, Any], problems: Problems
) -> None:
    expect.known_keys(node, schema, what, problems)
    for entry in node.entries:
        rule = schema.get(entry.key)
        if isinstance(rule, dict):
            inner = expect.mapping(entry.value, entry.key, problems)
            if inner is not None:
                for key in _REQUIRED.get(entry.key, ()):
                    expect.required(inner, key, entry.key, entry.place, problems)
                _walk(inner, rule, entry.key, found, problems)
                if entry.key in ("otlp_grpc", "otlp_http"):
                    _check_receiver(entry.key, inner, problems)
        elif rule is not None:
            value = rule.read(entry.value, entry.key, problems)
            if value is not None:
                found[rule.field] = value


class _Rule(msgspec.Struct, frozen=True):
    """How a key is read, and under which name its value is found."""

    read: readers.Read
    field: str


def _check_receiver(name: str, node: Mapping, problems: Problems) -> None:
    """What holds between the keys of a receiver: a token in clear text is everybody's."""
    entries = {entry.key: entry for entry in node.entries}
    token, tls, where = (entries.get(key) for key in ("bearer_token_file", "tls", "endpoint"))
    endpoint = None if where is None else readers.endpoint(where.value, "endpoint", Problems())
    if token is not None and tls is None and endpoint is not None and not endpoint.is_loopback:
        problems.error(
            token.place,
            f"{name} would take tokens in clear text from other machines",
            "add tls: {cert_file: ..., key_file: ...}, or bind to 127.0.0.1",
        )
    inner = [] if tls is None or not isinstance(tls.value, Mapping) else tls.value.entries
    for entry in inner:
        said = entry.value.text if isinstance(entry.value, Scalar) else ""
        if name == "otlp_grpc" and entry.key == "min_version" and said == "1.3":
            problems.error(
                entry.place,
                "gRPC for Python cannot be told to refuse TLS 1.2",
                "use otlp_http, or remove min_version",
            )


def _receiver(name: str) -> dict[str, Any]:
    return {
        "endpoint": _Rule(readers.endpoint, f"{name}.endpoint"),
        "max_message_mib": _Rule(readers.message_mib, f"{name}.max_message_mib"),
        "tls": {
            "cert_file": _Rule(readers.path, f"{name}.tls.cert"),
            "key_file": _Rule(readers.path, f"{name}.tls.key"),
            "client_ca_file": _Rule(readers.path, f"{name}.tls.client_ca"),
            "min_version": _Rule(readers.version, f"{name}.tls.min_version"),
        },
        "bearer_token_file": _Rule(readers.path, f"{name}.bearer_token_file"),
        "max_connection_age": _Rule(readers.duration, f"{name}.max_connection_age"),
    }


_SCHEMA: Final[dict[str, Any]] = {
    "receivers": {
        "otlp_grpc": _receiver("grpc"),
        "otlp_http": _receiver("http"),
    },
    "specs": {
        "paths": _Rule(readers.paths, "specs"),
        "watch": _Rule(readers.flag, "watch"),
    },
    "sessions": {
        "idle_timeout": _Rule(readers.duration, "idle_timeout"),
        "settle": _Rule(readers.duration, "settle"),
        "retain": _Rule(readers.duration, "retain"),
        "max_open": _Rule(readers.positive, "max_open"),
        "max_facts": _Rule(readers.positive, "max_facts"),
        "max_open_per_sender": _Rule(readers.positive, "max_open_per_sender"),
    },
    "store": {
        "kind": _Rule(readers.store_kind, "store_kind"),
        "path": _Rule(readers.path, "store"),
    },
    "emitters": {
        "spans": {
            "endpoint": _Rule(readers.url, "spans.endpoint"),
            "protocol": _Rule(readers.protocol, "spans.protocol"),
            "results": _Rule(readers.choices(tuple(map(str, Result))), "spans.results"),
        },
        "jsonl": {"path": _Rule(expect.text, "jsonl")},
        "alertmanager": {
            "url": _Rule(readers.url, "alertmanager.url"),
            "resolve_after": _Rule(readers.duration, "alertmanager.resolve_after"),
        },
    },
    "admin": {
        "endpoint": _Rule(readers.endpoint, "admin"),
        "allowed_hosts": _Rule(expect.texts, "allowed_hosts"),
        "token_file": _Rule(readers.path, "token_file"),
    },
    "queue": {
        "max_requests": _Rule(readers.positive, "max_requests"),
        "max_mib": _Rule(readers.positive, "max_queue_mib"),
    },
    "memory": {
        "soft_mib": _Rule(readers.positive, "memory.soft_mib"),
        "hard_mib": _Rule(readers.positive, "memory.hard_mib"),
    },
    "redact_values": _Rule(readers.flag, "redact_values"),
    "drain_timeout": _Rule(readers.duration, "drain_timeout"),
}
"""The keys of the file: a mapping of keys, or how a value is read."""
