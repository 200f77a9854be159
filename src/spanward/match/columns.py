"""Tests of an item's kind and columns: the keys of a matcher other than ``where`` and ``args``."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from spanward.item import SPAN
from spanward.match.truth import Truth

if TYPE_CHECKING:
    from spanward.item import Item
    from spanward.match.text import Pattern

SIGNATURE: Final = (
    "kind",
    "name",
    "span_name",
    "tool_kind",
    "op",
    "status",
    "mcp_server",
    "mcp_tool",
    "skill",
    "ops",
    "diff_files",
    "withheld",
    "principal",
)
"""The fields of few values: tests that read nothing else are *cheap*."""


SENDER_UNKNOWN: Final = "not known: no token or certificate says it, or several senders said it"

_CONTENT: Final = ("args", "input", "output")
"""What a runtime may leave out for the sake of privacy or size; the rest it does not know."""


def shown(value: Any) -> str:
    """A value as a person is shown it: its repr, clipped to 80 characters."""
    return repr(value)[:80]


class KindIs:
    """The item is of one kind."""

    cheap = True

    def __init__(self, key: str, kind: str) -> None:
        self.key = key
        self.kind = kind

    def __call__(self, item: Item) -> Truth:
        return item.kind == self.kind

    def found(self, item: Item) -> str:
        return f"a {item.kind} item"


class NoPlainSpan:
    """The item is more than a plain span, which only ``where``, ``path`` and ``span`` match."""

    cheap = True

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, item: Item) -> Truth:
        return item.kind != SPAN

    def found(self, item: Item) -> str:
        return "a plain span"


class ColumnIn:
    """A column equals one of the given texts."""

    def __init__(self, key: str, column: str, values: tuple[str, ...]) -> None:
        self.key = key
        self.column = column
        self.cheap = column in SIGNATURE
        self._values = frozenset(values)
        self._get: Callable[[Item], Any] = attrgetter(column)

    def __call__(self, item: Item) -> Truth:
        value = self._get(item)
        if value is None:
            return None if self.column in item.withheld else False
        return value in self._values

    def found(self, item: Item) -> str:
        return column_found(item, self.column)


class SentBy:
    """Who sent the item is one of the given names; unknown when the service does not know."""

    cheap = True

    def __init__(self, key: str, values: tuple[str, ...]) -> None:
        self.key = key
        self._values = frozenset(values)

    def __call__(self, item: Item) -> Truth:
        return None if item.principal is None else item.principal in self._values

    def found(self, item: Item) -> str:
        return SENDER_UNKNOWN if item.principal is None else shown(item.principal)


class OpsAny:
    """At least one of the given operations is among the item's."""

    cheap = True

    def __init__(self, key: str, values: tuple[str, ...]) -> None:
        self.key = key
        self._values = frozenset(values)

    def __call__(self, item: Item) -> Truth:
        if item.ops is None:
            return None if "ops" in item.withheld else False
        return not self._values.isdisjoint(item.ops)

    def found(self, item: Item) -> str:
        return column_found(item, "ops")


class TextHolds:
    """A text column satisfies a pattern: a glob, a regex, a part of a name."""

    def __init__(self, key: str, column: str, holds: Pattern) -> None:
        self.key = key
        self.column = column
        self.cheap = column in SIGNATURE
        self._holds = holds
        self._get: Callable[[Item], Any] = attrgetter(column)

    def __call__(self, item: Item) -> Truth:
        value = self._get(item)
        if value is None:
            return None if self.column in item.withheld else False
        return self._holds(value)

    def found(self, item: Item) -> str:
        return column_found(item, self.column)


def contains(part: str) -> Pattern:
    """A test for a text inside another, case-sensitive (seed "tool argument matchers", 1)."""

    def holds(text: str) -> bool:
        return part in text

    return holds


def column_found(item: Item, column: str) -> str:
    """What an item has in a column, in words."""
    value = getattr(item, column)
    if value is not None:
        return shown(value)
    return not_captured(item, column) if column in item.withheld else "nothing"


def not_captured(item: Item, column: str) -> str:
    """That a column was not captured, and the setting that would have captured it."""
    if column == "principal":
        return SENDER_UNKNOWN
    if column not in _CONTENT:
        return "not reported by this runtime"
    return f"not captured ({item.setting})" if item.setting else "not captured"
