"""A spec's keys other than ``name`` and ``assert``: each reader notes the mistakes of its key."""

from __future__ import annotations

import re
from typing import Final

from spanward import expect
from spanward.errors import Problems, did_you_mean
from spanward.node import Entry, Mapping, Node, Scalar, Sequence

_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_URL: Final = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)
_LAST_TURN: Final = 2**63 - 1
"""The greatest turn number that telemetry can carry: OTLP integers have 64 bits."""


def text(document: Mapping, key: str, problems: Problems) -> str:
    """The text under a key; empty when the key is missing."""
    node = document.get(key)
    return "" if node is None else expect.text(node, key, problems) or ""


def choice(
    document: Mapping, key: str, choices: tuple[str, ...], default: str, problems: Problems
) -> str | None:
    """One of a few words, the default when the key is missing; None for anything else."""
    node = document.get(key)
    if node is None:
        return default
    word = expect.text(node, key, problems)
    if word is None or word in choices:
        return word
    hint = did_you_mean(word, choices) or f"write {', '.join(choices[:-1])} or {choices[-1]}"
    problems.error(node.place, f"{word!r} is no {key}", hint)
    return None


def turns(document: Mapping, unit: str | None, problems: Problems) -> tuple[int, ...] | None:
    """The numbers under ``turns``, rising, each once; None when the key is missing.

    ``unit`` is the spec's, None when it was wrong.
    """
    entry = document.entry("turns")
    if entry is None:
        return None
    if unit not in ("turn", None):
        hint = "add unit: turn" if document.get("unit") is None else "write unit: turn"
        problems.error(entry.place, f"turns goes with unit: turn, not with unit: {unit}", hint)
    if not isinstance(entry.value, Sequence) or not entry.value.items:
        message = f"turns must be a list of turn numbers, not {expect.kind_of(entry.value)}"
        problems.error(entry.value.place, message, _listed(entry.value))
        return None
    numbers = [_turn(item, problems) for item in entry.value.items]
    return tuple(sorted({number for number in numbers if number is not None}))


def _listed(node: Node) -> str:
    if isinstance(node, Scalar) and type(node.value) is int:
        return f"write turns: [{node.text}]"
    return "for example turns: [1, 2]"


def _turn(node: Node, problems: Problems) -> int | None:
    number = expect.integer(node, "a turn number", 0, problems)
    if number is not None and number > _LAST_TURN:
        problems.error(node.place, "a turn number has at most 64 bits")
    return number


def url(document: Mapping, key: str, problems: Problems) -> str:
    """An http or https address; empty when the key is missing."""
    node = document.get(key)
    address = "" if node is None else expect.text(node, key, problems)
    if node is None or not address:
        return ""
    if not _URL.fullmatch(address):
        hint = "it begins with https:// or http:// and a host, and holds no blank"
        problems.error(node.place, f"{key} must be an http or https address", hint)
    return address


def labels(document: Mapping, problems: Problems) -> dict[str, str]:
    """The labels, text to text; empty when the key is missing."""
    node = document.get("labels")
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        message = f"labels must be a mapping of text to text, not {expect.kind_of(node)}"
        problems.error(node.place, message, "for example labels: {team: payments}")
        return {}
    return {entry.key: _label(entry, problems) for entry in node.entries}


def _label(entry: Entry, problems: Problems) -> str:
    if not _LABEL.fullmatch(entry.key):
        hint = "a letter or _ first, then letters, digits and _ . -"
        problems.error(entry.place, f"{entry.key!r} cannot be the name of a label", hint)
    if isinstance(entry.value, Scalar) and entry.value.value == "":
        return ""
    return expect.text(entry.value, f"label {entry.key!r}", problems) or ""
