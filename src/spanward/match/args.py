"""``args: {KEY: MATCHER}``: tests of a tool call's arguments (seed "tool argument matchers")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from spanward import expect
from spanward.errors import did_you_mean
from spanward.item import CUT
from spanward.match.columns import shown
from spanward.match.equality import equal
from spanward.match.fuzzy import Fuzzy
from spanward.match.text import Pattern, fullmatch
from spanward.node import Entry, Mapping, Scalar, Sequence, looks_boolean, value_of

if TYPE_CHECKING:
    from spanward.errors import Problems
    from spanward.item import Item
    from spanward.match.truth import Truth
    from spanward.node import Node

_KINDS: Final = ("fuzzy", "regex", "literal")


class Literal:
    """The value itself, exactly."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, actual: Any) -> bool:
        return equal(self._value, actual)

    def __repr__(self) -> str:
        return repr(self._value)


class Regex:
    """A full match against ``str(actual)``."""

    def __init__(self, pattern: str, holds: Pattern) -> None:
        self._pattern = pattern
        self._holds = holds

    def __call__(self, actual: Any) -> bool:
        return self._holds(str(actual))

    def __repr__(self) -> str:
        return f"regex({self._pattern!r})"


Argument = Callable[[Any], bool]
"""A matcher of one argument's value; its repr is how a reason shows it."""


class Args:
    """Every named argument is there and matches; others are ignored."""

    key = "tool.args"
    cheap = False

    def __init__(self, arguments: dict[str, Argument]) -> None:
        self._arguments = arguments

    def __call__(self, item: Item) -> Truth:
        args = item.args
        if args is None:
            return None if "args" in item.withheld else False
        answer: Truth = True
        for key, holds in self._arguments.items():
            if key not in args:
                return False
            value = args[key]
            if value is CUT:
                answer = None
            elif not holds(value):
                return False
        return answer

    def found(self, item: Item) -> str:
        """Why the item does not match, or may not: the first key that fails, in spec order."""
        if item.args is None and "args" in item.withheld:
            return f"arg {next(iter(self._arguments))!r} not captured"
        args = item.args or {}
        reasons = (self._reason(key, args) for key in self._arguments)
        return next((reason for reason in reasons if reason is not None), "all arguments match")

    def _reason(self, key: str, args: dict[str, Any]) -> str | None:
        if key not in args:
            return f"arg {key!r} missing"
        if args[key] is CUT:
            return f"arg {key!r} not captured"
        holds = self._arguments[key]
        if holds(args[key]):
            return None
        return f"arg {key!r} mismatch: expected {holds!r}{_GOT}{shown(args[key])}"


_GOT: Final = ", got "


def without_value(words: str) -> str:
    """What ``Args.found`` says, without the value that was there: it may be a secret."""
    said, got, _ = words.partition(_GOT)
    return f"{said}{got}a value that is not shown" if got else said


def compile_args(node: Node, problems: Problems) -> Args | None:
    """The test of an ``args`` mapping, or None with the mistakes noted."""
    found = expect.mapping(node, "args", problems)
    if found is None:
        return None
    compiled = {entry.key: _compile_argument(entry, problems) for entry in found.entries}
    arguments = {key: holds for key, holds in compiled.items() if holds is not None}
    return Args(arguments) if len(arguments) == len(compiled) else None


def _compile_argument(entry: Entry, problems: Problems) -> Argument | None:
    node = entry.value
    if not isinstance(node, Mapping):
        return _compile_literal(node, problems)
    named = [inner for inner in node.entries if inner.key in _KINDS]
    if not named:
        _warn_near_kind(node, problems)
        return _compile_literal(node, problems)
    if len(node.entries) > 1:
        extra = next(inner for inner in node.entries if inner is not named[0])
        problems.error(
            extra.place,
            f"{named[0].key!r} must stand alone, not beside {extra.key!r}",
            "an argument that is itself such a mapping is written {literal: {...}}",
        )
        return None
    return _compile_kind(named[0], problems)


def _compile_kind(entry: Entry, problems: Problems) -> Argument | None:
    if entry.key == "literal":
        return _compile_literal(entry.value, problems)
    node = entry.value
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        hint = f'quote it: {entry.key}: "{node.text}"' if isinstance(node, Scalar) else ""
        found = expect.kind_of(node)
        problems.error(node.place, f"{entry.key} takes a text, not {found}", hint)
        return None
    if entry.key == "fuzzy":
        return Fuzzy.of(node.value)
    holds = fullmatch(node.value, node.place, problems)
    return None if holds is None else Regex(node.value, holds)


def _compile_literal(node: Node, problems: Problems) -> Literal:
    _warn_inside(node, problems)
    return Literal(value_of(node))


def _warn_inside(node: Node, problems: Problems) -> None:
    """Warn of what a literal holds but was probably not meant literally."""
    if isinstance(node, Scalar):
        if looks_boolean(node):
            problems.warning(
                node.place,
                f"{node.text} is a text here, not a boolean",
                "write true or false, or quote the text",
            )
        return
    if isinstance(node, Sequence):
        for item in node.items:
            _warn_nested(item, problems)
        return
    for entry in node.entries:
        _warn_nested(entry.value, problems)


def _warn_nested(node: Node, problems: Problems) -> None:
    if isinstance(node, Mapping):
        for entry in node.entries:
            if entry.key in _KINDS:
                problems.warning(
                    entry.place,
                    f"{entry.key!r} inside a literal is compared literally",
                    "matchers stand directly under an argument's name",
                )
    _warn_inside(node, problems)


def _warn_near_kind(node: Mapping, problems: Problems) -> None:
    if len(node.entries) != 1:
        return
    only = node.entries[0]
    hint = did_you_mean(only.key, _KINDS)
    if hint:
        problems.warning(only.place, f"the mapping with {only.key!r} is compared literally", hint)
