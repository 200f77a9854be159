"""The configuration file: YAML, checked as strictly as specs are, all mistakes at once.

``${VAR}`` and ``${VAR:-default}`` stand for environment variables in any value. What this version
cannot do yet is said so, not ignored.
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
from spanward.config.environment import expanded
from spanward.config.values import (
    MEMORY,
    SECONDS,
    SQLITE,
    STORES,
    AlertmanagerEmitter,
    Config,
    Endpoint,
    Memory,
    SpanEmitter,
)
from spanward.emitters.spans import PROTOCOLS
from spanward.engine.limits import Limits
from spanward.errors import Problems
from spanward.node import Entry, Mapping, Node, Scalar
from spanward.receive.tls import VERSIONS, TlsFiles
from spanward.specs.files import sources
from spanward.specs.yaml import read
from spanward.verdict import Result

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_ENDPOINT: Final = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")
_MOST_PORT: Final = 65535
_MOST_MESSAGE_MIB: Final = 2047
"""gRPC knows lengths of 31 bits."""

_EMITTERS: Final = {"spans": SpanEmitter, "alertmanager": AlertmanagerEmitter}
_REQUIRED: Final = {
    "spans": ("endpoint",),
    "alertmanager": ("url",),
    "tls": ("cert_file", "key_file"),
}
"""Keys that a mapping must have: there is no default for where verdicts go, for example."""

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
    return 0.0 if found is None else float(found[1]) * SECONDS[found[2]]


def _positive(node: Node, what: str, problems: Problems) -> int | None:
    return expect.integer(node, what, 1, problems)


def _message_mib(node: Node, what: str, problems: Problems) -> int | None:
    found = _positive(node, what, problems)
    if found is not None and found > _MOST_MESSAGE_MIB:
        problems.error(node.place, f"{what} must be at most {_MOST_MESSAGE_MIB}, not {found}")
        return None
    return found


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


def _path(node: Node, what: str, problems: Problems) -> Path | None:
    text = expect.text(node, what, problems)
    return None if text is None else Path(text)


def _flag(node: Node, what: str, problems: Problems) -> bool | None:
    text = node.text.lower() if isinstance(node, Scalar) else ""
    if text in ("true", "false"):  # an environment variable gives a text
        return text == "true"
    problems.error(node.place, f"{what} must be true or false, not {expect.kind_of(node)}")
    return None


def _kind(node: Node, what: str, problems: Problems) -> str | None:
    found = _choices(STORES)(node, what, problems)
    return found[0] if found else None


def _later(words: str, hint: str = "", *, matters: bool) -> _Rule:
    return _Rule(None, words=words, hint=hint, matters=matters)


def _version(node: Node, what: str, problems: Problems) -> str | None:
    text = node.text if isinstance(node, Scalar) else ""
    if text not in VERSIONS:
        problems.error(node.place, f"{what} must be a version of TLS, {' or '.join(VERSIONS)}")
        return None
    return text


def _check_receiver(name: str, node: Mapping, problems: Problems) -> None:
    """What holds between the keys of a receiver: a token in clear text is everybody's."""
    entries = {entry.key: entry for entry in node.entries}
    token, tls, where = (entries.get(key) for key in ("bearer_token_file", "tls", "endpoint"))
    endpoint = None if where is None else _endpoint(where.value, "endpoint", Problems())
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


_NOT_YET: Final = "is not in this version"


def _receiver(name: str) -> dict[str, Any]:
    return {
        "endpoint": _Rule(_endpoint, f"{name}.endpoint"),
        "max_message_mib": _Rule(_message_mib, f"{name}.max_message_mib"),
        "tls": {
            "cert_file": _Rule(_path, f"{name}.tls.cert"),
            "key_file": _Rule(_path, f"{name}.tls.key"),
            "client_ca_file": _Rule(_path, f"{name}.tls.client_ca"),
            "min_version": _Rule(_version, f"{name}.tls.min_version"),
        },
        "bearer_token_file": _Rule(_path, f"{name}.bearer_token_file"),
        "max_connection_age": _Rule(_duration, f"{name}.max_connection_age"),
    }


_SCHEMA: Final[dict[str, Any]] = {
    "receivers": {
        "otlp_grpc": _receiver("grpc"),
        "otlp_http": _receiver("http"),
    },
    "specs": {
        "paths": _Rule(_paths, "specs"),
        "watch": _Rule(_flag, "watch"),
    },
    "sessions": {
        "idle_timeout": _Rule(_duration, "idle_timeout"),
        "settle": _Rule(_duration, "settle"),
        "retain": _Rule(_duration, "retain"),
        "max_open": _Rule(_positive, "max_open"),
        "max_facts": _Rule(_positive, "max_facts"),
        "max_open_per_sender": _Rule(_positive, "max_open_per_sender"),
    },
    "store": {"kind": _Rule(_kind, "store_kind"), "path": _Rule(_path, "store")},
    "emitters": {
        "spans": {
            "endpoint": _Rule(_url, "spans.endpoint"),
            "protocol": _Rule(_protocol, "spans.protocol"),
            "results": _Rule(_choices(tuple(map(str, Result))), "spans.results"),
        },
        "jsonl": {"path": _Rule(expect.text, "jsonl")},
        "alertmanager": {
            "url": _Rule(_url, "alertmanager.url"),
            "resolve_after": _Rule(_duration, "alertmanager.resolve_after"),
        },
    },
    "admin": {
        "endpoint": _Rule(_endpoint, "admin"),
        "allowed_hosts": _Rule(expect.texts, "allowed_hosts"),
        "token_file": _Rule(_path, "token_file"),
    },
    "queue": {
        "max_requests": _Rule(_positive, "max_requests"),
        "max_mib": _Rule(_positive, "max_queue_mib"),
    },
    "memory": {
        "soft_mib": _Rule(_positive, "memory.soft_mib"),
        "hard_mib": _Rule(_positive, "memory.hard_mib"),
    },
    "redact_values": _Rule(_flag, "redact_values"),
    "drain_timeout": _Rule(_duration, "drain_timeout"),
}
"""The keys of the file: a mapping of keys, or how a value is read."""
