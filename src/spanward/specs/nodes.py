"""YAML events to nodes, document by document.

Scalars are read by ``scalars``; keys are text and stand once; aliases, merge keys and tags other
than the core schema's are mistakes. A mistake never ends the reading, so that all are found; only
a syntax error and the limits do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from spanward import expect
from spanward.errors import Place, Problems
from spanward.node import Entry, Mapping, Node, Plain, Scalar, Sequence
from spanward.specs import scalars
from spanward.specs.source import Source
from spanward.specs.syntax import explain

NODES: Final = 10_000
"""Nodes that a file may hold: keys, scalars, lists and mappings, and what an alias stands for."""
DEPTH: Final = 50
"""How many lists and mappings may stand in each other."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Stopped(Exception):
    """Why a file is read no further: where to show it, and how far the text had been read."""

    def __init__(self, index: int, detected: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.index = index
        self.detected = detected
        self.message = message
        self.hint = hint


class Reader:
    """Reads one file's events; what it has counted and named is its own."""

    def __init__(self, source: Source, text: str, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._loader = yaml.SafeLoader(text)
        # Over all documents, unlike YAML's: only so that an alias is not followed by more mistakes.
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def documents(self) -> Iterator[Node | None]:
        """Each document as it is complete, None for an empty one. Raises Stopped."""
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                node = self._node(self._next(), 1)
                self._next()  # its end: until there, a syntax error is this document's
                empty = isinstance(node, Scalar) and node.plain and node.text == ""
                yield None if empty else node

    def _next(self) -> Any:
        try:
            return self._loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            raise Stopped(*explain(error)) from error
        except (ValueError, OverflowError) as error:
            # PyYAML's: an escape beyond the last character, a version of thousands of digits.
            index = self._loader.get_mark().index
            message = "this number is too large"
            raise Stopped(index, index, message, r"the last character is \U0010FFFF") from error

    def _node(self, event: Any, depth: int) -> Node:
        """The node that begins with an event; ``depth`` is where it would stand as a list."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._count(event, 1)
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        else:
            self._check_depth(event, depth)
            is_list = isinstance(event, yaml.SequenceStartEvent)
            node = self._sequence(event, depth) if is_list else self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _sequence(self, event: Any, depth: int) -> Sequence:
        self._check_tag(event, scalars.SEQUENCE_TAG)
        items: list[Node] = []
        while not isinstance(following := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(following, depth + 1))
        return Sequence(tuple(items), self._place(event, 1))

    def _mapping(self, event: Any, depth: int) -> Mapping:
        self._check_tag(event, scalars.MAPPING_TAG)
        entries: dict[str, Entry] = {}
        while not isinstance(following := self._next(), yaml.MappingEndEvent):
            key_node = self._node(following, depth + 1)
            value = self._node(self._next(), depth + 1)
            key = self._key(key_node)
            if key is None:
                continue
            if key in entries:
                first = entries[key].place.line
                message = f"duplicate key {key!r} (it stands on line {first} already)"
                self._problems.error(key_node.place, message, "leave one of them out")
                continue
            entries[key] = Entry(key, key_node.place, value)
        return Mapping(tuple(entries.values()), self._place(event, 1))

    def _key(self, node: Node) -> str | None:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            message = f"a key must be text, not {expect.kind_of(node)}"
            self._problems.error(node.place, message, _key_hint(node))
            return None
        if node.plain and node.value == "<<":
            hint = "write the keys out; quote it if it is meant as text"
            self._problems.error(node.place, "merge keys (<<) are not supported", hint)
            return None
        return node.value

    def _scalar(self, event: Any) -> Scalar:
        place = self._place(event)
        plain = event.style is None and event.tag is None
        text = event.value
        if _SURROGATE.search(text):
            hint = r"write the character itself, or \U and eight hexadecimal digits"
            self._problems.error(place, "the text holds half of a character (a surrogate)", hint)
            text = _SURROGATE.sub("\ufffd", text)
        return Scalar(self._value(text, event, place), place, text, plain)

    def _value(self, text: str, event: Any, place: Place) -> Plain:
        try:
            if event.tag is None:
                return text if event.style is not None else scalars.resolve(text)
            if event.tag not in scalars.SCALAR_TAGS:
                self._wrong_tag(event)
                return text
            return scalars.convert(text, event.tag)
        except scalars.NumberTooLargeError as error:
            self._problems.error(place, str(error), "quote it if it is meant as text")
            return 1
        except ValueError:
            tag = scalars.shown(event.tag)
            self._problems.error(place, f"{text!r} is no {tag}", "leave the tag out")
            return text

    def _alias(self, event: Any, depth: int) -> Node:
        """What the alias stands for, so that the mistake is not followed by others of its make."""
        place, text = self._place(event), f"*{event.anchor}"
        node = self._anchors.get(event.anchor)
        if node is None:
            hint = f"a text that begins with * must be quoted: '{text}'"
            self._problems.error(place, f"{text} is an alias without anchor", hint)
            node = Scalar(text, place, text, plain=False)
        else:
            message = f"aliases are not supported: {text}"
            self._problems.error(place, message, "write the value out")
        nodes, height = _extent(node)
        self._count(event, nodes)
        self._check_depth(event, depth - 1 + height)
        return msgspec.structs.replace(node, place=place)

    def _check_tag(self, event: Any, allowed: str) -> None:
        if event.tag not in (None, allowed):
            self._wrong_tag(event)

    def _wrong_tag(self, event: Any) -> None:
        known = (*scalars.SCALAR_TAGS, scalars.SEQUENCE_TAG, scalars.MAPPING_TAG)
        hint = f"a text that begins with ! must be quoted; tags are {_listed(known)}"
        message = f"the tag {scalars.shown(event.tag)} cannot stand here"
        self._problems.error(self._place(event), message, hint)

    def _count(self, event: Any, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > NODES:
            message = f"the file holds more than {NODES:,} keys and values"
            raise self._limit(event, message, "split it into several files")

    def _check_depth(self, event: Any, depth: int) -> None:
        if depth > DEPTH:
            raise self._limit(event, f"lists and mappings nest more than {DEPTH} deep", "")

    def _limit(self, event: Any, message: str, hint: str) -> Stopped:
        index = event.start_mark.index
        return Stopped(index, index, message, hint)

    def _place(self, event: Any, width: int | None = None) -> Place:
        start = event.start_mark.index
        return self._source.place(start, event.end_mark.index if width is None else start + width)


def _key_hint(node: Node) -> str:
    if not isinstance(node, Scalar):
        return "a text that begins with { or [ must be quoted"
    return f'quote it: "{node.text}"' if node.text else "write the key before the ':'"


def _listed(tags: tuple[str, ...]) -> str:
    return " ".join(scalars.shown(tag) for tag in tags)


def _extent(node: Node) -> tuple[int, int]:
    """How many nodes a node is, keys included, and how many lists and mappings nest in it."""
    if isinstance(node, Scalar):
        return 1, 0
    if isinstance(node, Sequence):
        parts, keys = [_extent(item) for item in node.items], 0
    else:
        parts, keys = [_extent(entry.value) for entry in node.entries], len(node.entries)
    nodes = 1 + keys + sum(count for count, _ in parts)
    return nodes, 1 + max((height for _, height in parts), default=0)
