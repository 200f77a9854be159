"""Typed readers of nodes: each gives the value it was asked for, or notes a problem and gives None.

They are what the compilers of matchers and operators are made of, so that one kind of mistake
reads the same wherever it is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from spanward.errors import Place, Problems, did_you_mean
from spanward.node import Mapping, Node, Scalar, Sequence


def kind_of(node: Node) -> str:
    """What a node is, in a person's words, for messages."""
    match node:
        case Sequence(items=()):
            return "an empty list"
        case Sequence():
            return "a list"
        case Mapping(entries=()):
            return "an empty mapping"
        case Mapping():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return f"the boolean {node.text}"
        case Scalar(value=str(text)):
            return f"the text {text!r}" if text else "an empty text"
        case _:
            return f"the number {node.text}"


def mapping(node: Node, what: str, problems: Problems) -> Mapping | None:
    """A mapping with at least one key."""
    if isinstance(node, Mapping) and node.entries:
        return node
    problems.error(node.place, f"{what} must be a mapping, not {kind_of(node)}")
    return None


def known_keys(node: Mapping, allowed: Iterable[str], what: str, problems: Problems) -> None:
    """Note every key that is not one of the allowed ones, with the nearest that is."""
    names = tuple(allowed)
    for entry in node.entries:
        if entry.key not in names:
            hint = did_you_mean(entry.key, names) or f"{what} takes: {', '.join(names)}"
            problems.error(entry.place, f"unknown key {entry.key!r} in {what}", hint)


def text(node: Node, what: str, problems: Problems) -> str | None:
    """A text that is not empty."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
        return node.value
    quotable = isinstance(node, Scalar) and node.value is not None and node.value != ""
    hint = f'quote it: "{node.text}"' if quotable and isinstance(node, Scalar) else ""
    problems.error(node.place, f"{what} must be a text, not {kind_of(node)}", hint)
    return None


def texts(node: Node, what: str, problems: Problems) -> tuple[str, ...] | None:
    """A text, or a list of at least one, as a tuple."""
    if not isinstance(node, Sequence):
        single = text(node, what, problems)
        return None if single is None else (single,)
    if not node.items:
        problems.error(node.place, f"{what} must be a text or a list of texts, not an empty list")
        return None
    found = [text(item, f"an element of {what}", problems) for item in node.items]
    complete = tuple(value for value in found if value is not None)
    return complete if len(complete) == len(found) else None


def integer(node: Node, what: str, least: int, problems: Problems) -> int | None:
    """An integer (no boolean, no fraction) of at least ``least``."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    found = kind_of(node)
    problems.error(node.place, f"{what} must be an integer of at least {least}, not {found}")
    return None


def required(node: Mapping, key: str, what: str, place: Place, problems: Problems) -> Node | None:
    """The value under a key that must be there."""
    value = node.get(key)
    if value is None:
        problems.error(place, f"{what} needs the key {key!r}")
    return value
