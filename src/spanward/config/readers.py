"""Readers of the values of the configuration file: each gives the value, or notes a problem.

They are called with a node, what it is called in messages, and the problems; None stands for a
value that could not be had.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from spanward import expect
from spanward.config.values import SECONDS, STORES, Endpoint
from spanward.emitters.spans import PROTOCOLS
from spanward.errors import Problems
from spanward.node import Node, Scalar
from spanward.receive.tls import VERSIONS

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_ENDPOINT: Final = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")
_MOST_PORT: Final = 65535
_MOST_MESSAGE_MIB: Final = 2047
"""gRPC knows lengths of 31 bits."""

Read = Callable[[Node, str, Problems], Any]


def endpoint(node: Node, what: str, problems: Problems) -> Endpoint | None:
    """A host and a port."""
    text = expect.text(node, what, problems)
    found = None if text is None else _ENDPOINT.fullmatch(text)
    if text is not None and (found is None or int(found[3]) > _MOST_PORT):
        problems.error(
            node.place, f"{what} must be host:port, not {text!r}", "as in 127.0.0.1:4317"
        )
        return None
    return None if found is None else Endpoint(found[1] or found[2], int(found[3]))


def duration(node: Node, what: str, problems: Problems) -> float | None:
    """Seconds, from a number with its unit; 0 needs none."""
    text = node.text if isinstance(node, Scalar) else ""
    found = _DURATION.fullmatch(text)
    if found is None and text != "0":
        shown = expect.kind_of(node)
        problems.error(
            node.place, f"{what} must be a duration, not {shown}", "as in 500ms, 10s, 30m, 7d"
        )
        return None
    return 0.0 if found is None else float(found[1]) * SECONDS[found[2]]


def positive(node: Node, what: str, problems: Problems) -> int | None:
    """A whole number from 1 on."""
    return expect.integer(node, what, 1, problems)


def message_mib(node: Node, what: str, problems: Problems) -> int | None:
    """A size of messages that gRPC can be told."""
    found = positive(node, what, problems)
    if found is not None and found > _MOST_MESSAGE_MIB:
        problems.error(node.place, f"{what} must be at most {_MOST_MESSAGE_MIB}, not {found}")
        return None
    return found


def paths(node: Node, what: str, problems: Problems) -> tuple[Path, ...] | None:
    """At least one path."""
    found = expect.texts(node, what, problems)
    return None if found is None else tuple(map(Path, found))


def url(node: Node, what: str, problems: Problems) -> str | None:
    """A URL of HTTP."""
    text = expect.text(node, what, problems)
    if text is not None and not text.startswith(("http://", "https://")):
        problems.error(node.place, f"{what} must be a URL, not {text!r}", f"as in http://{text}")
        return None
    return text


def choices(choices: tuple[str, ...]) -> Read:
    """A reader of texts that are all among the choices."""

    def read_choices(node: Node, what: str, problems: Problems) -> tuple[str, ...] | None:
        found = expect.texts(node, what, problems)
        unknown = [text for text in found or () if text not in choices]
        for text in unknown:
            problems.error(node.place, f"{what} cannot be {text!r}", f"one of {', '.join(choices)}")
        return None if unknown else found

    return read_choices


def protocol(node: Node, what: str, problems: Problems) -> str | None:
    """How verdict spans are sent."""
    found = choices(PROTOCOLS)(node, what, problems)
    return found[0] if found else None


def path(node: Node, what: str, problems: Problems) -> Path | None:
    """A path."""
    text = expect.text(node, what, problems)
    return None if text is None else Path(text)


def flag(node: Node, what: str, problems: Problems) -> bool | None:
    """True or false."""
    text = node.text.lower() if isinstance(node, Scalar) else ""
    if text in ("true", "false"):  # an environment variable gives a text
        return text == "true"
    problems.error(node.place, f"{what} must be true or false, not {expect.kind_of(node)}")
    return None


def store_kind(node: Node, what: str, problems: Problems) -> str | None:
    """Which store keeps the sessions."""
    found = choices(STORES)(node, what, problems)
    return found[0] if found else None


def version(node: Node, what: str, problems: Problems) -> str | None:
    """The least version of TLS."""
    text = node.text if isinstance(node, Scalar) else ""
    if text not in VERSIONS:
        problems.error(node.place, f"{what} must be a version of TLS, {' or '.join(VERSIONS)}")
        return None
    return text
