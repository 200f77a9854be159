"""What a set of specs asks of items."""

from __future__ import annotations

from collections.abc import Iterable

from spanward.asked import Asked
from spanward.item import SPAN
from spanward.specs.spec import Spec


def asked_by(specs: Iterable[Spec], *, every_item: bool = False) -> Asked:
    """All that the matchers of some specs read.

    ``every_item`` asks for items of kind ``span`` too, although no spec does.
    """
    matchers = [role.matcher for spec in specs for role in spec.operator.roles]
    return Asked(
        attributes=frozenset[str]().union(*(matcher.attributes for matcher in matchers)),
        args=any(matcher.asks_args for matcher in matchers),
        spans=every_item or any(SPAN in matcher.kinds for matcher in matchers),
    )
