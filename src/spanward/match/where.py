"""``where: {FIELD: TEST}``: tests of a column or of an attribute by its full name."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from spanward import expect
from spanward.errors import did_you_mean
from spanward.item import COLUMNS, CUT
from spanward.match.columns import SIGNATURE, not_captured, shown
from spanward.match.equality import equal
from spanward.match.text import glob, search
from spanward.node import Entry, Mapping, Scalar, Sequence, looks_boolean, value_of

if TYPE_CHECKING:
    from spanward.errors import Problems
    from spanward.item import Item
    from spanward.match.truth import Truth
    from spanward.node import Node

Predicate = Callable[[Any], bool]
"""A test of a value; a missing value is None."""

_USE_INSTEAD: Final = {
    "kind": "use tool:, approval:, event: or span: to ask for a kind of item",
    "session": "choose the unit instead: unit: session",
    "job": "choose the unit instead: unit: job",
    "ops": "use tool: {ops: ...} or approval: {ops: ...}",
    "args": "use tool: {args: {...}}",
}


class Field:
    """One field's test. ``attribute`` is the attribute it reads, None for a column."""

    def __init__(self, field: str, holds: Predicate) -> None:
        self.key = f"where.{field}"
        self.field = field
        self.attribute = None if field in COLUMNS else field
        self.cheap = field in COLUMNS and field in SIGNATURE
        self._holds = holds
        self._get: Callable[[Item], Any] = (
            attrgetter(field) if field in COLUMNS else lambda item: item.attribute(field)
        )

    def __call__(self, item: Item) -> Truth:
        value = self._get(item)
        if value is None:
            return None if self._is_withheld(item) else self._holds(None)
        return None if value is CUT else self._holds(value)

    def found(self, item: Item) -> str:
        value = self._get(item)
        if value is not None and value is not CUT:
            return shown(value)
        return not_captured(item, self.field) if self(item) is None else "nothing"

    def _is_withheld(self, item: Item) -> bool:
        if self.field == "turn":  # a key is not a number (semantics, section 6)
            return item.turn_key is not None
        return self.field == "principal" or self.field in item.withheld


def compile_where(node: Node, problems: Problems) -> list[Field]:
    """The tests of a ``where`` mapping; the fields with mistakes are noted and left out."""
    found = expect.mapping(node, "where", problems)
    if found is None:
        return []
    fields = [_compile_field(entry, problems) for entry in found.entries]
    return [field for field in fields if field is not None]


def _compile_field(entry: Entry, problems: Problems) -> Field | None:
    field = entry.key
    instead = _USE_INSTEAD.get(field)
    if instead is not None:
        problems.error(entry.place, f"where cannot ask for {field!r}", instead)
        return None
    if field not in COLUMNS and "." not in field:
        hint = did_you_mean(field, COLUMNS) or f"the columns are {', '.join(COLUMNS)}"
        problems.warning(entry.place, f"{field!r} is no column; read as an attribute name", hint)
    holds = _compile_test(entry.value, f"where.{field}", problems)
    return None if holds is None else Field(field, holds)


def _compile_test(node: Node, what: str, problems: Problems) -> Predicate | None:
    """A TEST: a scalar or a list (equal), or a mapping of predicates that must all hold."""
    if not isinstance(node, Mapping):
        _warn_boolean(node, problems)
        return _equals(value_of(node))
    if expect.mapping(node, what, problems) is None:
        return None
    expect.known_keys(node, _PREDICATES, what, problems)
    known = [entry for entry in node.entries if entry.key in _PREDICATES]
    compiled = [
        _PREDICATES[entry.key](entry.value, f"{what}.{entry.key}", problems) for entry in known
    ]
    predicates = tuple(predicate for predicate in compiled if predicate is not None)
    if len(predicates) < len(node.entries):
        return None
    if len(predicates) == 1:
        return predicates[0]
    return lambda value: all(holds(value) for holds in predicates)


def _warn_boolean(node: Node, problems: Problems) -> None:
    if isinstance(node, Sequence):
        for item in node.items:
            _warn_boolean(item, problems)
    if isinstance(node, Scalar) and looks_boolean(node):
        problems.warning(
            node.place,
            f"{node.text} is a text here, not a boolean",
            "write true or false, or quote the text",
        )


def _equals(expected: Any) -> Predicate:
    return lambda value: equal(expected, value)


def _compile_not(node: Node, what: str, problems: Problems) -> Predicate | None:
    inner = _compile_test(node, what, problems)
    if inner is None:
        return None
    return lambda value: value is not None and not inner(value)


def _compile_in(node: Node, what: str, problems: Problems) -> Predicate | None:
    if not isinstance(node, Sequence) or not node.items:
        problems.error(node.place, f"{what} must be a list, not {expect.kind_of(node)}")
        return None
    _warn_boolean(node, problems)
    choices = value_of(node)
    return lambda value: any(equal(choice, value) for choice in choices)


def _compile_regex(node: Node, what: str, problems: Problems) -> Predicate | None:
    pattern = expect.text(node, what, problems)
    holds = None if pattern is None else search(pattern, node.place, problems)
    if holds is None:
        return None
    return lambda value: isinstance(value, str) and holds(value)


def _compile_glob(node: Node, what: str, problems: Problems) -> Predicate | None:
    pattern = expect.text(node, what, problems)
    if pattern is None:
        return None
    holds = glob(pattern)
    return lambda value: isinstance(value, str) and holds(value)


def _compile_contains(node: Node, what: str, problems: Problems) -> Predicate | None:
    part = value_of(node)
    _warn_boolean(node, problems)
    if part in (None, "", {}):
        problems.error(node.place, f"{what} must be a value, not {expect.kind_of(node)}")
        return None

    def holds(value: Any) -> bool:
        if isinstance(value, list):
            return any(equal(part, element) for element in value)
        return isinstance(value, str) and isinstance(part, str) and part in value

    return holds


def _comparison(holds: Callable[[Any, Any], bool]) -> Callable[..., Predicate | None]:
    """A compiler of ``gt gte lt lte``: numbers with numbers, text with text, nothing else."""

    def compile_comparison(node: Node, what: str, problems: Problems) -> Predicate | None:
        bound = value_of(node)
        if _is_number(bound):
            return lambda value: _is_number(value) and holds(value, bound)
        if isinstance(bound, str):
            return lambda value: isinstance(value, str) and holds(value, bound)
        found = expect.kind_of(node)
        problems.error(node.place, f"{what} must be a number or a text, not {found}")
        return None

    return compile_comparison


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PREDICATES: Final[dict[str, Callable[..., Predicate | None]]] = {
    "not": _compile_not,
    "in": _compile_in,
    "regex": _compile_regex,
    "glob": _compile_glob,
    "gt": _comparison(lambda value, bound: bool(value > bound)),
    "gte": _comparison(lambda value, bound: bool(value >= bound)),
    "lt": _comparison(lambda value, bound: bool(value < bound)),
    "lte": _comparison(lambda value, bound: bool(value <= bound)),
    "contains": _compile_contains,
}
