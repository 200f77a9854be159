"""The service's configuration: a YAML file, checked as strictly as specs are.

Every default works on loopback without a file. ``${VAR}`` and ``${VAR:-default}`` stand for
environment variables in any value. What this version cannot do yet is said so, not ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from pathlib import Path
from typing import Any, Final

import msgspec

from spanward import expect
from spanward.emitters.spans import PROTOCOLS
from spanward.engine.limits import Limits
from spanward.errors import Problems
from spanward.node import Entry, Mapping, Node, Scalar, Sequence
from spanward.specs.files import sources
from spanward.specs.yaml import read
from spanward.verdict import Result


class Endpoint(msgspec.Struct, frozen=True):
    """A host and a port; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


class SpanEmitter(msgspec.Struct, frozen=True):
    """Where verdict spans go."""

    endpoint: str
    protocol: str = "grpc"
    results: tuple[str, ...] = ("fail", "unknown", "pass")


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration, with defaults. Times are seconds."""

    grpc: Endpoint = Endpoint("127.0.0.1", 4317)
    max_message_mib: int = 64
    admin: Endpoint = Endpoint("127.0.0.1", 9464)
    allowed_hosts: tuple[str, ...] = ()
    specs: tuple[Path, ...] = ()
    limits: Limits = Limits()
    spans: SpanEmitter | None = None
    jsonl: str | None = None
    max_requests: int = 1000
    max_queue_mib: int = 256
    drain_timeout: float = 10.0


DEFAULT_SPECS: Final = Path("specs")

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_ENDPOINT: Final = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")
_MOST_PORT: Final = 65535

Read = Callable[[Node, str, Problems], Any]


def load_config(
    path: Path, problems: Problems, environment: AbstractMapping[str, str] = os.environ
) -> Config:
    """The configuration of a file; every mistake is noted, and then the defaults are given.

    Warnings are noted for what is accepted but does nothing in this version.
    """
    documents = [node for source in sources([path], problems) for node in read(source, problems)]
    if problems.errors or not documents:
        return Config()
    top = expect.mapping(documents[0], "the configuration", problems)
    if top is None:
        return Config()
    found: dict[str, Any] = {}
    _walk(_expanded(top, environment, problems), _SCHEMA, "the configuration", found, problems)
    if problems.errors:
        return Config()
    limits = {key: found.pop(key) for key in Limits.__struct_fields__ if key in found}
    spans = {
        key.removeprefix("spans."): found.pop(key)
        for key in list(found)
        if key.startswith("spans.")
    }
    if spans:
        found["spans"] = SpanEmitter(**spans)
    return Config(limits=Limits(**limits), **found)


def _expanded(node: Mapping, environment: AbstractMapping[str, str], problems: Problems) -> Mapping:
    entries = (
        msgspec.structs.replace(entry, value=_expand(entry.value, environment, problems))
        for entry in node.entries
    )
    return msgspec.structs.replace(node, entries=tuple(entries))


def _expand(node: Node, environment: AbstractMapping[str, str], problems: Problems) -> Node:
    if isinstance(node, Mapping):
        return _expanded(node, environment, problems)
    if isinstance(node, Sequence):
        items = tuple(_expand(item, environment, problems) for item in node.items)
        return msgspec.structs.replace(node, items=items)
    if not isinstance(node.value, str) or "${" not in node.value:
        return node

    def value_of(found: re.Match[str]) -> str:
        value: str | None = environment.get(found[1]) or found[2]
        if value is None:
            hint = f"write ${{{found[1]}:-default}} for a default"
            problems.error(node.place, f"the environment variable {found[1]} is not set", hint)
        return value or ""

    text = _VARIABLE.sub(value_of, node.value)
    number = int(text) if text.isascii() and text.isdigit() else text
    return msgspec.structs.replace(node, value=number, text=text)


def _walk(
    node: Mapping, schema: dict[str, Any], what: str, found: dict[str, Any], problems: Problems
) -> None:
    expect.known_keys(node, schema, what, problems)
    for entry in node.entries:
        rule = schema.get(entry.key)
        if isinstance(rule, dict):
            inner = expect.mapping(entry.value, entry.key, problems)
            if inner is not None:
                _walk(inner, rule, entry.key, found, problems)
        elif rule is not None:
            _apply(entry, rule, found, problems)


def _apply(entry: Entry, rule: _Rule, found: dict[str, Any], problems: Problems) -> None:
    if rule.read is None:
        note = problems.error if rule.matters else problems.warning
        note(entry.place, f"{entry.key} {rule.words}", rule.hint)
        return
    value = rule.read(entry.value, entry.key, problems)
    if value is not None and rule.field:
        found[rule.field] = value


class _Rule(msgspec.Struct, frozen=True):
    """How a key is read, and where its value goes (nowhere when ``field`` is empty).

    Without ``read`` the key is one that this version knows but cannot serve.
    """

    read: Read | None
    field: str = ""
    words: str = ""
    hint: str = ""
    matters: bool = False


def _endpoint(node: Node, what: str, problems: Problems) -> Endpoint | None:
    text = expect.text(node, what, problems)
    found = None if text is None else _ENDPOINT.fullmatch(text)
    if text is not None and (found is None or int(found[3]) > _MOST_PORT):
        problems.error(
            node.place, f"{what} must be host:port, not {text!r}", "as in 127.0.0.1:4317"
        )
        return None
    return None if found is None else Endpoint(found[1] or found[2], int(found[3]))


def _duration(node: Node, what: str, problems: Problems) -> float | None:
    text = node.text if isinstance(node, Scalar) else ""
    found = _DURATION.fullmatch(text)
    if found is None and text != "0":
        shown = expect.kind_of(node)
        problems.error(
            node.place, f"{what} must be a duration, not {shown}", "as in 500ms, 10s, 30m, 7d"
        )
        return None
    return 0.0 if found is None else float(found[1]) * _SECONDS[found[2]]


def _positive(node: Node, what: str, problems: Problems) -> int | None:
    return expect.integer(node, what, 1, problems)


def _paths(node: Node, what: str, problems: Problems) -> tuple[Path, ...] | None:
    found = expect.texts(node, what, problems)
    return None if found is None else tuple(map(Path, found))


def _url(node: Node, what: str, problems: Problems) -> str | None:
    text = expect.text(node, what, problems)
    if text is not None and not text.startswith(("http://", "https://")):
        problems.error(node.place, f"{what} must be a URL, not {text!r}", f"as in http://{text}")
        return None
    return text


def _choices(choices: tuple[str, ...]) -> Read:
    def read_choices(node: Node, what: str, problems: Problems) -> tuple[str, ...] | None:
        found = expect.texts(node, what, problems)
        unknown = [text for text in found or () if text not in choices]
        for text in unknown:
            problems.error(node.place, f"{what} cannot be {text!r}", f"one of {', '.join(choices)}")
        return None if unknown else found

    return read_choices


def _protocol(node: Node, what: str, problems: Problems) -> str | None:
    found = _choices(PROTOCOLS)(node, what, problems)
    return found[0] if found else None


def _store(node: Node, what: str, problems: Problems) -> None:
    kind = expect.text(node, what, problems)
    if kind is not None and kind != "memory":
        hint = "write kind: memory; what it knows is lost when the service ends"
        problems.error(node.place, f"this version has no store of kind {kind!r}", hint)


def _later(words: str, hint: str = "", *, matters: bool) -> _Rule:
    return _Rule(None, words=words, hint=hint, matters=matters)


_NOT_YET: Final = "is not in this version"
_NO_TLS: Final = _later(_NOT_YET, "bind to loopback, or put a proxy in front", matters=True)

_SCHEMA: Final[dict[str, Any]] = {
    "receivers": {
        "otlp_grpc": {
            "endpoint": _Rule(_endpoint, "grpc"),
            "max_message_mib": _Rule(_positive, "max_message_mib"),
            "tls": _NO_TLS,
            "bearer_token_file": _NO_TLS,
            "max_connection_age": _later(_NOT_YET, matters=True),
        },
        "otlp_http": _later("is not in this version: nothing listens there", matters=False),
    },
    "specs": {
        "paths": _Rule(_paths, "specs"),
        "watch": _later("does nothing in this version: restart to load specs", matters=False),
    },
    "sessions": {
        "idle_timeout": _Rule(_duration, "idle_timeout"),
        "settle": _Rule(_duration, "settle"),
        "retain": _Rule(_duration, "retain"),
        "max_open": _Rule(_positive, "max_open"),
        "max_facts": _Rule(_positive, "max_facts"),
    },
    "store": {"kind": _Rule(_store), "path": _Rule(lambda *_: None)},
    "emitters": {
        "spans": {
            "endpoint": _Rule(_url, "spans.endpoint"),
            "protocol": _Rule(_protocol, "spans.protocol"),
            "results": _Rule(_choices(tuple(map(str, Result))), "spans.results"),
        },
        "jsonl": {"path": _Rule(expect.text, "jsonl")},
        "alertmanager": _later(_NOT_YET, "alert on /metrics instead", matters=True),
    },
    "admin": {
        "endpoint": _Rule(_endpoint, "admin"),
        "allowed_hosts": _Rule(expect.texts, "allowed_hosts"),
    },
    "queue": {
        "max_requests": _Rule(_positive, "max_requests"),
        "max_mib": _Rule(_positive, "max_queue_mib"),
    },
    "drain_timeout": _Rule(_duration, "drain_timeout"),
}
"""The keys of the file: a mapping of keys, or how a value is read."""


def as_yaml_object(config: Config) -> dict[str, Any]:
    """A configuration in the shape of the file, for ``--print-config``."""
    limits = config.limits
    spans = None if config.spans is None else msgspec.to_builtins(config.spans)
    emitters = {
        "spans": spans,
        "jsonl": None if config.jsonl is None else {"path": config.jsonl},
    }
    return {
        "receivers": {
            "otlp_grpc": {
                "endpoint": str(config.grpc),
                "max_message_mib": config.max_message_mib,
            }
        },
        "specs": {"paths": [str(path) for path in config.specs or (DEFAULT_SPECS,)]},
        "sessions": {
            "idle_timeout": _as_duration(limits.idle_timeout),
            "settle": _as_duration(limits.settle),
            "retain": _as_duration(limits.retain),
            "max_open": limits.max_open,
            "max_facts": limits.max_facts,
        },
        "store": {"kind": "memory"},
        "emitters": {name: value for name, value in emitters.items() if value is not None},
        "admin": {"endpoint": str(config.admin), "allowed_hosts": list(config.allowed_hosts)},
        "queue": {"max_requests": config.max_requests, "max_mib": config.max_queue_mib},
        "drain_timeout": _as_duration(config.drain_timeout),
    }


def _as_duration(seconds: float) -> str:
    for unit in ("d", "h", "m", "s"):
        if seconds >= _SECONDS[unit] and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"
