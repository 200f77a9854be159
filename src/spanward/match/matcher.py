"""A matcher: a mapping of keys that must all hold, compiled to one object.

The hot answer and the cold explanation come from the same tests, so they cannot disagree.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from spanward import expect
from spanward.item import EVENT, KINDS, SPAN
from spanward.match.columns import ColumnIn, KindIs, NoPlainSpan, SentBy, TextHolds
from spanward.match.text import glob, search
from spanward.match.tool import compile_approval, compile_tool
from spanward.match.truth import Test, Truth, conjunction
from spanward.match.where import Field, compile_where
from spanward.node import value_of

if TYPE_CHECKING:
    from spanward.errors import Problems
    from spanward.item import Item
    from spanward.node import Entry, Node

_KEYS: Final = (
    "tool",
    "approval",
    "event",
    "span",
    "path",
    "input",
    "output",
    "principal",
    "where",
)
_KIND_KEYS: Final = ("tool", "approval", "event")


class Matcher:
    """A compiled matcher; immutable, shared by all units.

    ``source`` is the JSON of what it was compiled from: two matchers of the same source
    are the same matcher. ``kinds`` are the kinds of items it can match; ``attributes`` the
    attribute names it reads.
    """

    def __init__(
        self, source: str, tests: tuple[Test, ...], kinds: frozenset[str] | None = None
    ) -> None:
        self.source = source
        self.cheap = tuple(test for test in tests if test.cheap)
        self.dear = tuple(test for test in tests if not test.cheap)
        self.kinds = _kinds(tests) if kinds is None else kinds
        self.attributes = frozenset(
            test.attribute for test in tests if isinstance(test, Field) and test.attribute
        )
        self._tests = tests

    def answer(self, item: Item) -> Truth:
        """True, false, or None: unknown."""
        return conjunction(self._tests, item)

    def why(self, item: Item) -> tuple[str, str] | None:
        """The first key that does not hold for certain and what was there; None for a match."""
        answers = [(test(item), test) for test in self._tests]
        for wanted in (False, None):
            for answer, test in answers:
                if answer is wanted:
                    return test.key, test.found(item)
        return None

    @property
    def asks_args(self) -> bool:
        """Whether the matcher has the key ``tool.args``."""
        return any(test.key == "tool.args" for test in self._tests)

    @property
    def asks_principal(self) -> bool:
        """Whether the matcher asks who sent an item."""
        return any(test.key in ("principal", "where.principal") for test in self._tests)

    @property
    def asks_span_name(self) -> bool:
        """Whether the matcher has the key ``span``."""
        return any(test.key == "span" for test in self._tests)


def _kinds(tests: tuple[Test, ...]) -> frozenset[str]:
    kinds = frozenset(KINDS)
    for test in tests:
        if isinstance(test, KindIs):
            kinds &= {test.kind}
        if isinstance(test, NoPlainSpan):
            kinds -= {SPAN}
    return kinds


def compile_matcher(node: Node, problems: Problems) -> Matcher | None:
    """The matcher of a mapping; None, with every mistake noted, when there is one.

    Warns of a matcher that no item can match.
    """
    found = expect.mapping(node, "a matcher", problems)
    if found is None:
        return None
    before = len(problems.errors)
    expect.known_keys(found, _KEYS, "a matcher", problems)
    kinds = [entry for entry in found.entries if entry.key in _KIND_KEYS]
    if len(kinds) > 1:
        problems.warning(
            kinds[1].place,
            f"no item is both: {kinds[0].key!r} and {kinds[1].key!r} never match together",
            "write two specs, or two matchers",
        )
    tests = [test for entry in found.entries for test in _compile_key(entry, problems)]
    if len(problems.errors) > before:
        return None
    tests.sort(key=lambda test: not test.cheap)
    return Matcher(json.dumps(value_of(node)), tuple(tests))


def _compile_key(entry: Entry, problems: Problems) -> list[Test]:
    match entry.key:
        case "tool":
            return compile_tool(entry.value, problems)
        case "approval":
            return compile_approval(entry.value, problems)
        case "where":
            return list(compile_where(entry.value, problems))
        case "event":
            name = expect.text(entry.value, "event", problems)
            tests: list[Test] = [KindIs("event", EVENT)]
            return tests if name is None else [*tests, ColumnIn("event", "name", (name,))]
        case "principal":
            names = expect.texts(entry.value, "principal", problems)
            return [] if names is None else [NoPlainSpan(entry.key), SentBy(entry.key, names)]
        case "span" | "path" | "input" | "output":
            return _compile_pattern(entry, problems)
        case _:  # an unknown key, noted already
            return []


def _compile_pattern(entry: Entry, problems: Problems) -> list[Test]:
    pattern = expect.text(entry.value, entry.key, problems)
    if pattern is None:
        return []
    if entry.key in ("input", "output"):
        holds = search(pattern, entry.value.place, problems)
        if holds is None:
            return []
        return [NoPlainSpan(entry.key), TextHolds(entry.key, entry.key, holds)]
    column = "span_name" if entry.key == "span" else "path"
    return [TextHolds(entry.key, column, glob(pattern))]
