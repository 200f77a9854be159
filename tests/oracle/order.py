"""Order: which item precedes which, which set leads which, and the order of lists (section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from .items import Item, before_in_time

Key = Callable[[Item], tuple[Any, ...]]


def precedes(a: Item, b: Item, *, by_time: bool) -> bool:
    """Whether a precedes b; `by_time` in a job unit."""
    if not by_time and a.session == b.session and a.seq is not None and b.seq is not None:
        return a.seq < b.seq
    return before_in_time(a, b)


def leads(first: Sequence[Item], then: Sequence[Item], *, by_time: bool) -> bool:
    """Whether the set `first` leads the set `then`."""
    if not first:
        return False
    if not then:
        return True
    numbered, plain = split(first, by_time=by_time)
    return _plain_leads(plain, then) or _numbered_leads(numbered, then, by_time=by_time)


def compared(first: Sequence[Item], then: Sequence[Item], *, by_time: bool) -> list[Item]:
    """The items that `leads` compared: those of the clause that holds, else of every clause."""
    if not first or not then:
        return _firsts(first, _earliest_end, by_time) + _firsts(then, _earliest_start, by_time)
    numbered, plain = split(first, by_time=by_time)
    of_plain = [earliest_end(plain), earliest_start(then)] if plain else []
    if _plain_leads(plain, then):
        return of_plain
    of_numbered = _pairs_of_numbered(numbered, then, by_time=by_time)
    if _numbered_leads(numbered, then, by_time=by_time):
        return of_numbered
    return of_plain + of_numbered


def listed(items: Iterable[Item]) -> list[Item]:
    """The items in listing order, each once."""
    once = {id(item): item for item in items}.values()
    numbered = (
        all(item.seq is not None for item in once) and len({item.session for item in once}) == 1
    )
    return sorted(once, key=_by_seq if numbered else _by_time)


def split(items: Sequence[Item], *, by_time: bool) -> tuple[list[Item], list[Item]]:
    """Those that carry a seq (none in a job unit) and the others."""
    if by_time:
        return [], list(items)
    return [i for i in items if i.seq is not None], [i for i in items if i.seq is None]


def earliest_end(items: Sequence[Item]) -> Item:
    """The item with the least (end, start)."""
    return min(items, key=_earliest_end)


def earliest_start(items: Sequence[Item]) -> Item:
    """The item with the least (start, end)."""
    return min(items, key=_earliest_start)


def _plain_leads(plain: Sequence[Item], then: Sequence[Item]) -> bool:
    return bool(plain) and before_in_time(earliest_end(plain), earliest_start(then))


def _numbered_leads(numbered: Sequence[Item], then: Sequence[Item], *, by_time: bool) -> bool:
    if not numbered:
        return False
    then_numbered, then_plain = split(then, by_time=by_time)
    if then_numbered and not _seq(least_seq(numbered)) < _seq(least_seq(then_numbered)):
        return False
    return not then_plain or before_in_time(earliest_end(numbered), earliest_start(then_plain))


def _pairs_of_numbered(
    numbered: Sequence[Item], then: Sequence[Item], *, by_time: bool
) -> list[Item]:
    if not numbered:
        return []
    then_numbered, then_plain = split(then, by_time=by_time)
    pairs = []
    if then_numbered:
        pairs += [least_seq(numbered), least_seq(then_numbered)]
    if then_plain:
        pairs += [earliest_end(numbered), earliest_start(then_plain)]
    return pairs


def _firsts(items: Sequence[Item], key: Key, by_time: bool) -> list[Item]:
    numbered, plain = split(items, by_time=by_time)
    found = [least_seq(numbered)] if numbered else []
    return [*found, min(plain, key=key)] if plain else found


def least_seq(items: Sequence[Item]) -> Item:
    """The item with the least seq; all must carry one."""
    return min(items, key=_by_seq)


def _seq(item: Item) -> float:
    return inf if item.seq is None else item.seq


def _named(item: Item) -> tuple[Any, ...]:
    """The last resort: trace, span, the span itself before its events; logs last of all."""
    if item.event == "log":
        return (1, item.columns.get("name") or "", item.digest)
    return (0, item.trace, item.span, -1 if item.event is None else item.event)


def _by_seq(item: Item) -> tuple[Any, ...]:
    return (_seq(item), item.start, item.end, *_named(item))


def _by_time(item: Item) -> tuple[Any, ...]:
    return (item.start, item.end, _seq(item), *_named(item))


def _earliest_end(item: Item) -> tuple[Any, ...]:
    return (item.end, item.start, _seq(item), *_named(item))


def _earliest_start(item: Item) -> tuple[Any, ...]:
    return _by_time(item)
