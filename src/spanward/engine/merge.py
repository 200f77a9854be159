"""Several reports of one item, made one (semantics, section 1, *The same id again*).

What is present overrides what was absent; where both are present, the report that ended last
stands, then the one that started last, then the one whose canonical JSON is greater. So the item
does not depend on the order in which its reports came.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spanward.item import CUT, NOTHING, ON_SPAN, Item

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES: Final = ("start_ns", "end_ns")
_PLACES: Final = ("trace_id", "span_id", "event", "digest", "kind")
_OTHERS: Final = tuple(
    field
    for field in Item.__struct_fields__
    if field not in (*_TIMES, *_PLACES)
    and field not in ("attributes", "outer", "withheld", "setting", "ends", "principal")
)
"""The fields of an item that may be absent, each merged by itself."""


def canonical(item: Item) -> str:
    """All that a report says but its times, as JSON with sorted keys."""
    said: dict[str, Any] = {
        field: value for field in _OTHERS if (value := getattr(item, field)) is not None
    }
    said |= {"kind": item.kind, "trace": item.trace_id.hex(), "span": item.span_id.hex()}
    if item.event != ON_SPAN:
        said["event"] = item.event
    if item.digest:
        said["digest"] = item.digest.hex()
    if item.attributes:
        said["attributes"] = item.attributes
    if any(item.outer):
        said["outer"] = item.outer
    if item.principal is not None:
        said["principal"] = item.principal
    if item.withheld:
        said["withheld"] = sorted(item.withheld)
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr)


def rank(item: Item) -> tuple[int, int, str]:
    """Which of two reports stands: the one of the greater rank. Equal ranks say the same."""
    return (item.end_ns, item.start_ns, canonical(item))


def merge(reports: Sequence[Item]) -> Item:
    """The item of at least one report."""
    if len(reports) == 1:
        return reports[0]
    ranked = sorted(reports, key=rank)
    last = ranked[-1]
    said: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    withheld: frozenset[str] = NOTHING
    for report in ranked:
        for field in _OTHERS:
            value = getattr(report, field)
            if value is not None:
                said[field] = value
        for name, value in report.attributes.items():
            if value is not CUT or name not in attributes:
                attributes[name] = value
        withheld |= report.withheld
    return msgspec.structs.replace(
        last,
        **said,
        attributes=attributes,
        outer=_outer(ranked),
        withheld=withheld.difference(said),
        setting=next((r.setting for r in reversed(ranked) if r.setting), ""),
        principal=_principal(ranked),
        ends=any(report.ends for report in ranked),
    )


def _principal(ranked: list[Item]) -> str | None:
    """Who sent all of an item's reports; None when they are of several senders.

    For what one of them says must not be taken for another's.
    """
    senders = {report.principal for report in ranked}
    return senders.pop() if len(senders) == 1 else None


def _outer(ranked: list[Item]) -> tuple[dict[str, Any], ...]:
    """The outer attributes of all reports, those of the report that stands first."""
    outer: list[dict[str, Any]] = []
    for report in reversed(ranked):
        outer += [attributes for attributes in report.outer if attributes not in outer]
    return tuple(outer)
