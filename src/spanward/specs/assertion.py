"""``assert``: exactly one operator, with the keys that may stand beside it."""

from __future__ import annotations

from typing import Final

from spanward import expect
from spanward.errors import Problems, did_you_mean
from spanward.node import Entry, Mapping, Node, Scalar
from spanward.operators import OPERATORS, SIBLINGS
from spanward.operators.operator import Operator

COUNTS_CALLS: Final = "expected_tools"
"""The operator whose result hangs so much on the unit that the spec must name one."""
_ALL: Final = f"the operators are {', '.join(OPERATORS)}"
WINDOW: Final = "within"
"""The key of a window in seq or turns, which a job does not have."""


def compile_assertion(entry: Entry, unit: Node | None, problems: Problems) -> Operator | None:
    """The operator of the entry ``assert``; None, with all mistakes noted, when there is one.

    ``unit`` is the value of the spec's ``unit``, None without one.
    """
    node = entry.value
    if not isinstance(node, Mapping) or not node.entries:
        message = f"assert must be a mapping with one operator, not {expect.kind_of(node)}"
        problems.error(entry.place, message, _ALL)
        return None
    before = problems.mistakes
    operators = [part for part in node.entries if part.key in OPERATORS]
    siblings = {key for part in operators for key in SIBLINGS.get(part.key, ())}
    for part in node.entries:
        if part.key not in OPERATORS and part.key not in siblings:
            _note_stranger(part, operators, problems)
    for part in operators[1:]:
        message = f"assert holds exactly one operator, and it has {operators[0].key!r} already"
        problems.error(part.place, message, f"give {part.key!r} a spec of its own")
    _check_unit([part for part in node.entries if part.key in siblings], unit, problems)
    compiled = [_compile(part, node, unit, problems) for part in operators]
    return compiled[0] if compiled and problems.mistakes == before else None


def _compile(
    part: Entry, assertion: Mapping, unit: Node | None, problems: Problems
) -> Operator | None:
    if part.key == COUNTS_CALLS and unit is None:
        message = f"a spec with {COUNTS_CALLS} must say over which unit it counts"
        problems.error(part.place, message, "add unit: session, unit: turn or unit: job")
    return OPERATORS[part.key](part.place, part.value, assertion, problems)


def _check_unit(siblings: list[Entry], unit: Node | None, problems: Problems) -> None:
    if not isinstance(unit, Scalar) or unit.value != "job":
        return
    for part in siblings:
        if part.key == WINDOW:
            message = f"{WINDOW} cannot be used with unit: job, where all order is by time"
            problems.error(part.place, message, f"leave {WINDOW} out, or judge sessions or turns")


def _note_stranger(part: Entry, operators: list[Entry], problems: Problems) -> None:
    """Note a key that is no operator and belongs to none of those that are there."""
    owners = [repr(name) for name, keys in SIBLINGS.items() if part.key in keys]
    if owners:
        problems.error(part.place, f"{part.key!r} goes with {' or '.join(owners)} only")
        return
    if operators:
        keys = SIBLINGS.get(operators[0].key, ())
        alone = f"{operators[0].key!r} stands alone"
        hint = did_you_mean(part.key, keys) or (f"it takes: {', '.join(keys)}" if keys else alone)
        problems.error(part.place, f"unknown key {part.key!r} beside {operators[0].key!r}", hint)
        return
    known = (*OPERATORS, *(key for keys in SIBLINGS.values() for key in keys))
    hint = did_you_mean(part.key, known) or _ALL
    problems.error(part.place, f"unknown operator {part.key!r}", hint)
