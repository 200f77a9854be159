"""The three values of an answer, and the two ways in which they combine.

True and false are what they say; None is *unknown*: the answer depends on something that the
runtime had but did not capture (semantics, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.item import Item

Truth = bool | None


class Test(Protocol):
    """One key of a matcher.

    ``key`` is the breadcrumb of the YAML key (``tool.ops``). ``cheap`` promises that the answer
    depends on nothing but the item's signature (see ``match.dispatch``), so that it may be
    remembered. ``found`` says what the item has there, for a person.
    """

    @property
    def key(self) -> str: ...
    @property
    def cheap(self) -> bool: ...
    def __call__(self, item: Item) -> Truth: ...
    def found(self, item: Item) -> str: ...


def conjunction(tests: Iterable[Test], item: Item) -> Truth:
    """Kleene's *and*: false as soon as one test is, else unknown if one is, else true."""
    answer: Truth = True
    for test in tests:
        truth = test(item)
        if truth is False:
            return False
        if truth is None:
            answer = None
    return answer
