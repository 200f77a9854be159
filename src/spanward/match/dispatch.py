"""Dispatch: which matchers of all the specs hold for an item, each asked at most once.

Most matchers are decided by fields that take few values: the kind, the name, the operations. So an
item's *signature*, the tuple of these fields, is looked up in a bounded memory of what is already
known: the matchers that surely hold, those that are unknown, and those that still have a test to
make. Specs that do not concern an item cost it nothing. (Measured in ``bench/``: the cost of an
item does not grow with the number of irrelevant specs.)
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spanward.match.columns import SIGNATURE
from spanward.match.truth import Test, Truth, conjunction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanward.item import Item
    from spanward.match.matcher import Matcher

_MAX_KNOWN: Final = 4096
"""Signatures remembered; names are the sender's to choose, so there must be an end."""
_MAX_TEXT: Final = 1024
"""A signature with more characters in all is not remembered."""


class Answers(msgspec.Struct, frozen=True):
    """The numbers of the matchers that hold for an item, and of those that are unknown."""

    true: tuple[int, ...]
    unknown: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.true or self.unknown)


class _Open(msgspec.Struct, frozen=True):
    """A matcher that a signature leaves open: what is still to ask, what the cheap tests said."""

    number: int
    asks: Callable[[Item], Truth]
    cheap: Truth


class _Known(msgspec.Struct, frozen=True):
    """What a signature alone decides."""

    answers: Answers
    open: tuple[_Open, ...]


class Dispatch:
    """The matchers of a set of specs, by number, indexed by what they demand.

    ``answers(item)`` gives the numbers of those that are true or unknown. Not safe for use by
    several threads.
    """

    def __init__(self, matchers: Mapping[int, Matcher]) -> None:
        self._matchers = tuple(matchers.items())
        self._signature = attrgetter(*SIGNATURE)
        self._known: dict[Any, _Known] = {}

    def answers(self, item: Item) -> Answers:
        """The matchers that concern an item."""
        signature = self._signature(item)
        known = self._known.get(signature)
        if known is None:
            known = self._decide(item)
            self._remember(signature, known)
        if not known.open:
            return known.answers
        return _finish(known, item)

    def _decide(self, item: Item) -> _Known:
        true: list[int] = []
        unknown: list[int] = []
        undecided: list[_Open] = []
        for number, matcher in self._matchers:
            truth = conjunction(matcher.cheap, item)
            if truth is False:
                continue
            if matcher.dear:
                undecided.append(_Open(number, _as_one(matcher.dear), truth))
            else:
                (true if truth else unknown).append(number)
        return _Known(Answers(tuple(true), tuple(unknown)), tuple(undecided))

    def _remember(self, signature: tuple[Any, ...], known: _Known) -> None:
        if sum(map(_length, signature)) > _MAX_TEXT:
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[signature] = known


def _length(field: Any) -> int:
    """The characters of a field of a signature: a text, some texts, or nothing."""
    if isinstance(field, str):
        return len(field)
    return sum(map(_length, field)) if field else 0


def _as_one(tests: tuple[Test, ...]) -> Callable[[Item], Truth]:
    """Several tests as one; a single one, as most are, is itself."""
    return tests[0] if len(tests) == 1 else partial(conjunction, tests)


def _finish(known: _Known, item: Item) -> Answers:
    true: list[int] = []
    unknown: list[int] = []
    for open_ in known.open:
        truth = open_.asks(item)
        if truth is False:
            continue
        (true if truth and open_.cheap else unknown).append(open_.number)
    if not true and not unknown:
        return known.answers
    return Answers((*known.answers.true, *true), (*known.answers.unknown, *unknown))
