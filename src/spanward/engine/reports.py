"""Reports of one id, sorted into the executions that they are of.

Two reports of one call id are the same execution when they are of one record or overlap in time;
executions that do not are items of their own, for a reused id must not hide a call. Reports of
any other id are always one item. (Semantics, section 1.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from spanward.engine.merge import canonical, merge
from spanward.item import Item
from spanward.operators.leads import over_before

if TYPE_CHECKING:
    from spanward.engine.session import Session

MOST_REPORTS: Final = 100
"""Distinct reports of one execution that are kept; a sender may repeat itself for ever."""


class Placed(msgspec.Struct, frozen=True):
    """An item as it was last taken into account, in which session and under which key."""

    session: Session
    key: bytes
    item: Item


class Execution(msgspec.Struct):
    """The reports of one item, and how it was last taken into account (None: not yet).

    All reports lie between ``start`` and ``end``: what lies outside overlaps none of them.
    """

    number: int
    reports: list[Item]
    start: int
    end: int
    placed: Placed | None = None

    @property
    def item(self) -> Item:
        """The item that the reports make."""
        return merge(self.reports)


class Reports:
    """All reports of one id that are still kept.

    ``several`` allows more than one execution: the id is a call's. ``next`` numbers the next one.
    """

    __slots__ = ("executions", "next", "several")

    def __init__(self, executions: list[Execution], *, several: bool, following: int) -> None:
        self.executions = executions
        self.several = several
        self.next = following

    @classmethod
    def of(cls, item: Item, *, several: bool, first: int) -> Reports:
        """Those of a first report.

        ``first`` numbers its execution: earlier numbers belong to executions whose reports are no
        longer kept.
        """
        execution = Execution(first, [item], item.start_ns, item.end_ns)
        return cls([execution], several=several, following=first + 1)

    def file(self, item: Item) -> tuple[Execution, list[Placed]] | None:
        """The execution that a further report now belongs to, and what it was taken for before.

        None when the report says nothing new. Raises ``OverflowError`` when the execution has
        more distinct reports than are kept.
        """
        same = [execution for execution in self.executions if self._is_of(item, execution)]
        if not same:
            return self._begin(item), []
        into, absorbed = same[0], same[1:]
        reports = [report for execution in same for report in execution.reports]
        if len(reports) >= MOST_REPORTS:
            raise OverflowError
        if not absorbed and _says_nothing_new(item, into):
            return None
        into.reports = [*reports, item]
        into.start = min(report.start_ns for report in into.reports)
        into.end = max(report.end_ns for report in into.reports)
        for execution in absorbed:
            self.executions.remove(execution)
        return into, [execution.placed for execution in same if execution.placed is not None]

    def _begin(self, item: Item) -> Execution:
        execution = Execution(self.next, [item], item.start_ns, item.end_ns)
        self.next += 1
        self.executions.append(execution)
        return execution

    def _is_of(self, item: Item, execution: Execution) -> bool:
        if not self.several:
            return True
        apart = item.end_ns < execution.start or execution.end < item.start_ns
        return any(
            same_record(item, report) or (not apart and overlap(item, report))
            for report in execution.reports
        )


def _says_nothing_new(item: Item, execution: Execution) -> bool:
    times = (item.start_ns, item.end_ns)
    alike = [each for each in execution.reports if (each.start_ns, each.end_ns) == times]
    if item in alike:
        return True
    said = canonical(item) if alike else ""
    return any(canonical(known) == said for known in alike)


class _Span(Protocol):
    """What two reports are compared by: an item, or the fact that was left of it."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def event(self) -> int: ...
    @property
    def digest(self) -> bytes: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...


def same_record(one: _Span, other: _Span) -> bool:
    """Whether two reports are of one span, span event or log record."""
    return (one.trace_id, one.span_id, one.event, one.digest) == (
        other.trace_id,
        other.span_id,
        other.event,
        other.digest,
    )


def overlap(one: _Span, other: _Span) -> bool:
    """Whether neither of two reports finished before the other began."""
    return not over_before(
        (one.end_ns, one.start_ns), (other.start_ns, other.end_ns)
    ) and not over_before((other.end_ns, other.start_ns), (one.start_ns, one.end_ns))
