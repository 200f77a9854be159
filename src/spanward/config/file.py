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
    SpanEmitter,
)
from spanward.emitters.spans import PROTOCOLS
from spanward.engine.limits import Limits
from spanward.errors import Problems
from spanward.node import Entry, Mapping, Node, Scalar
from spanward.specs.files import sources
from spanward.specs.yaml import read
from spanward.verdict import Result

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_ENDPOINT: Final = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")
_MOST_PORT: Final = 65535
_MOST_MESSAGE_MIB: Final = 2047
"""gRPC knows lengths of 31 bits."""

_EMITTERS: Final = {"spans": SpanEmitter, "alertmanager": AlertmanagerEmitter}
_REQUIRED: Final = {"spans": "endpoint", "alertmanager": "url"}

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
        prefix = f"{name}."
        given = {key.removeprefix(prefix): found.pop(key) for key in list(found) if prefix in key}
        if given:
            found[name] = kind(**given)
    return Config(limits=Limits(**limits), **found)


def _walk(
    node: Mapping, schema: dict[str, Any], what: str, found: dict[str, Any], problems: Problems
) -> None:
    expect.known_keys(node, schema, what, problems)
    for entry in node.entries:
        rule = schema.get(entry.key)
        if isinstance(rule, dict):
            inner = expect.mapping(entry.value, entry.key, problems)
            if inner is not None:
                if entry.key in _REQUIRED:  # there is no default for where verdicts go
                    needed = _REQUIRED[entry.key]
                    expect.required(inner, needed, entry.key, entry.place, problems)
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


_NOT_YET: Final = "is not in this version"
_NO_TLS: Final = _later(_NOT_YET, "bind to loopback, or put a proxy in front", matters=True)

_SCHEMA: Final[dict[str, Any]] = {
    "receivers": {
        "otlp_grpc": {
            "endpoint": _Rule(_endpoint, "grpc"),
            "max_message_mib": _Rule(_message_mib, "max_message_mib"),
            "tls": _NO_TLS,
            "bearer_token_file": _NO_TLS,
            "max_connection_age": _later(_NOT_YET, matters=True),
        },
        "otlp_http": _later("is not in this version: nothing listens there", matters=False),
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
    "drain_timeout": _Rule(_duration, "drain_timeout"),
}
"""The keys of the file: a mapping of keys, or how a value is read."""
