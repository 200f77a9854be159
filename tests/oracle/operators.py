"""Operators: the result over a set, what is settled early, and the witnesses (section 5).

Every operator is computed twice: hopeful and fearful (section 3, three values).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from . import order
from .items import Item
from .matching import Answer, matches
from .selection import expected_tools, wanted_calls

ORDER_BOUND = frozenset({"before", "order", "each"})
OPERATORS = (
    "never",
    "eventually",
    "count",
    "before",
    "order",
    "each",
    "all",
    "any",
    "expected_tools",
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two readings of a unit's items, in a job unit by time."""

    items: Sequence[Item]
    hopeful: bool
    by_time: bool

    def helping(self, matcher: Mapping[str, Any]) -> list[Item]:
        """The items that match where one more can only improve the result."""
        return [i for i in self.items if _reads(matches(matcher, i), self.hopeful)]

    def demanding(self, matcher: Mapping[str, Any]) -> list[Item]:
        """The items that match where one more can only worsen the result."""
        return [i for i in self.items if _reads(matches(matcher, i), not self.hopeful)]

    def leads(self, first: Sequence[Item], then: Sequence[Item]) -> bool:
        """Whether `first` leads `then` in this unit."""
        return order.leads(first, then, by_time=self.by_time)

    def compared(self, first: Sequence[Item], then: Sequence[Item]) -> list[Item]:
        """What `leads` compared in this unit."""
        return order.compared(first, then, by_time=self.by_time)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result over the whole set; `settled` is None while a further item could change it."""

    result: str
    settled: str | None = None
    witnesses: Sequence[Item] = field(default=())


def judged(asserted: Mapping[str, Any], items: Sequence[Item], *, by_time: bool) -> Outcome:
    """What an `assert` says about a set of items, both sides considered; witnesses are listed."""
    name = operator_of(asserted)
    hopeful = _JUDGES[name](asserted, Side(items, True, by_time))
    fearful = _JUDGES[name](asserted, Side(items, False, by_time))
    settled = hopeful.settled if hopeful.settled == fearful.settled else None
    if hopeful.result != fearful.result:
        return Outcome("unknown", settled, order.listed(undecided(asserted, items)))
    feared = hopeful.result == "pass" or name == "expected_tools"
    explaining = fearful if feared else hopeful
    return Outcome(hopeful.result, settled, order.listed(explaining.witnesses))


def operator_of(asserted: Mapping[str, Any]) -> str:
    """The operator that an `assert` holds."""
    (name,) = [key for key in OPERATORS if key in asserted]
    return name


def undecided(asserted: Mapping[str, Any], items: Sequence[Item]) -> list[Item]:
    """The items of which some matcher, or some path, is unknown."""
    name = operator_of(asserted)
    if name in ("all", "any"):
        return [i for i in items if None in _paths(asserted[name], i)]
    if name == "expected_tools":
        return [i for i in items if None in wanted_calls(asserted[name], i)]
    return [i for i in items if None in [matches(m, i) for m in _matchers(name, asserted)]]


def _reads(answer: Answer, unknown_counts: bool) -> bool:
    return unknown_counts if answer is None else answer


def _matchers(name: str, asserted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    body = asserted[name]
    if name == "count":
        return [body["match"]]
    if name == "before":
        return [body["first"], body["then"]]
    if name == "order":
        return list(body)
    if name == "each":
        return [body, asserted["requires_prior"]]
    return [body]


def _certain(matcher: Mapping[str, Any], side: Side) -> list[Item]:
    return [i for i in side.items if matches(matcher, i) is True]


def _never(asserted: Mapping[str, Any], side: Side) -> Outcome:
    found = side.demanding(asserted["never"])
    return Outcome("fail", "fail", found) if found else Outcome("pass")


def _eventually(asserted: Mapping[str, Any], side: Side) -> Outcome:
    found = side.helping(asserted["eventually"])
    return Outcome("pass", "pass", order.listed(found)[:1]) if found else Outcome("fail")


def _count(asserted: Mapping[str, Any], side: Side) -> Outcome:
    body = asserted["count"]
    matcher, least, most = body["match"], body.get("min"), body.get("max")
    counted = _certain(matcher, side)
    enough = least is None or len(side.helping(matcher)) >= least
    if most is not None and len(side.demanding(matcher)) > most:
        return Outcome("fail", "fail", counted)
    started = bool(least) or any(i.kind != "span" for i in side.items)
    settled = "pass" if enough and most is None and started else None
    return Outcome("pass" if enough else "fail", settled, counted)


def _before(asserted: Mapping[str, Any], side: Side) -> Outcome:
    first = side.helping(asserted["before"]["first"])
    then = side.demanding(asserted["before"]["then"])
    if not then:
        return Outcome("not_applicable")
    result = "pass" if side.leads(first, then) else "fail"
    return Outcome(result, result, side.compared(first, then))


def _order(asserted: Mapping[str, Any], side: Side) -> Outcome:
    steps = [(side.helping(m), side.demanding(m)) for m in asserted["order"]]
    pairs = [(left, right) for (left, _), (_, right) in pairwise(steps)]
    witnesses = [item for left, right in pairs for item in side.compared(left, right)]
    if all(left for left, _ in steps) and all(side.leads(left, right) for left, right in pairs):
        return Outcome("pass", "pass", witnesses)
    broken = any(right and not side.leads(left, right) for left, right in pairs)
    return Outcome("fail", "fail" if broken else None, witnesses)


def _each(asserted: Mapping[str, Any], side: Side) -> Outcome:
    served_by = side.helping(asserted["requires_prior"])
    found = side.demanding(asserted["each"])
    if not found:
        return Outcome("not_applicable")
    states = [(b, _served(b, served_by, asserted.get("within"), side)) for b in found]
    unserved = [b for b, state in states if state is False]
    unknown = [b for b, state in states if state is None]
    if unserved:
        return Outcome("fail", "fail", unserved)
    return Outcome("unknown", None, unknown) if unknown else Outcome("pass")


def _served(b: Item, first: Sequence[Item], within: Any, side: Side) -> Answer:
    """True: served; False: unserved; None: some window cannot be computed."""
    prior = [a for a in first if order.precedes(a, b, by_time=side.by_time)]
    inside = [_inside(a, b, within) for a in prior]
    if True in inside:
        return True
    return None if None in inside else False


def _inside(a: Item, b: Item, within: Mapping[str, int] | None) -> Answer:
    if within is None:
        return True
    if "seq" in within:
        return None if a.seq is None or b.seq is None else b.seq - a.seq <= within["seq"]
    return None if a.turn is None or b.turn is None else 0 <= b.turn - a.turn <= within["turns"]


def _all(asserted: Mapping[str, Any], side: Side) -> Outcome:
    paths = [(i, good) for i in side.items for good in _paths(asserted["all"], i)]
    bad = [i for i, good in paths if not _reads(good, side.hopeful)]
    if not paths:
        return Outcome("not_applicable")
    return Outcome("fail", "fail", bad) if bad else Outcome("pass")


def _any(asserted: Mapping[str, Any], side: Side) -> Outcome:
    paths = [(i, good) for i in side.items for good in _paths(asserted["any"], i)]
    good = [i for i, good in paths if _reads(good, side.hopeful)]
    if not paths:
        return Outcome("not_applicable")
    return Outcome("pass", "pass", order.listed(good)[:1]) if good else Outcome("fail")


def _paths(body: Mapping[str, Any], item: Item) -> list[Answer]:
    """Whether each path that an item brings is a good one; None: the path is withheld."""
    sources, name = body["paths"]["from"], item.columns.get("name")
    globs = body["match"] if isinstance(body["match"], list) else [body["match"]]
    found: list[Answer] = []
    if "file.change" in sources and item.kind == "event" and name == "file.change":
        path = item.columns.get("path")
        found.append(None if "path" in item.withheld else path is not None and _good(path, globs))
    if "diff.files" in sources:
        found.extend(_good(path, globs) for path in item.columns.get("diff_files") or ())
    return found


def _good(path: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(path, glob) for glob in globs)


def _expected_tools(asserted: Mapping[str, Any], side: Side) -> Outcome:
    met, witnesses = expected_tools(asserted["expected_tools"], side.items, side.hopeful)
    return Outcome("pass", "pass", witnesses) if met else Outcome("fail", None, witnesses)


_JUDGES: Mapping[str, Callable[[Mapping[str, Any], Side], Outcome]] = {
    "never": _never,
    "eventually": _eventually,
    "count": _count,
    "before": _before,
    "order": _order,
    "each": _each,
    "all": _all,
    "any": _any,
    "expected_tools": _expected_tools,
}
