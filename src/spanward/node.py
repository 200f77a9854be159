"""Nodes: a spec file's values, each of which knows its place.

Compilers of matchers and operators read nodes, so that every mistake can be shown where it stands.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from spanward.errors import Place

Plain = None | bool | int | float | str


class Scalar(msgspec.Struct, frozen=True):
    """A scalar.

    ``text`` is its characters before they were read as a number, a boolean or null, without
    quotes and escapes; ``plain`` is false for quoted, block and tagged scalars.
    """

    value: Plain
    place: Place
    text: str
    plain: bool


class Entry(msgspec.Struct, frozen=True):
    """One ``key: value`` of a mapping; the key is always text."""

    key: str
    place: Place
    value: Node


class Sequence(msgspec.Struct, frozen=True):
    """A list of nodes."""

    items: tuple[Node, ...]
    place: Place


class Mapping(msgspec.Struct, frozen=True):
    """A mapping in the order of the file, without duplicate keys (the loader reports those)."""

    entries: tuple[Entry, ...]
    place: Place

    def get(self, key: str) -> Node | None:
        """The value under a key; None when the key is not there."""
        entry = self.entry(key)
        return None if entry is None else entry.value

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, which knows the key's place; None when the key is not there."""
        for entry in self.entries:
            if entry.key == key:
                return entry
        return None


Node = Scalar | Sequence | Mapping

_BOOLEANS: Final = ("yes", "no", "on", "off", "y", "n")
"""What YAML 1.1 read as a boolean; here it is text (semantics, section 9)."""


def value_of(node: Node) -> Any:
    """The node as a plain Python value (None, bool, int, float, str, list, dict)."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    return {entry.key: value_of(entry.value) for entry in node.entries}


def looks_boolean(scalar: Scalar) -> bool:
    """Whether an unquoted text may have been meant as a boolean (``yes``, ``Off``, ``N`` ...)."""
    return scalar.plain and isinstance(scalar.value, str) and scalar.text.lower() in _BOOLEANS
