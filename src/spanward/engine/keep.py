"""The reports that may still be amended, kept whole for the amend window."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from spanward.engine.identity import call_identity, is_call, record_identity
from spanward.engine.reports import Filed, Reports

if TYPE_CHECKING:
    from spanward.engine.registry import Registry
    from spanward.engine.reports import Execution, Placed
    from spanward.item import Item


class Keep:
    """Reports by the identity of their item. ``window`` is in seconds; None keeps all for ever."""

    def __init__(self, window: float | None, registry: Registry) -> None:
        self._window = window
        self._registry = registry
        self._kept: dict[bytes, Reports] = {}
        self._expiring: deque[tuple[float, bytes, Reports]] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    def totals(self) -> tuple[int, int]:
        """How many items there are, and in how many sessions."""
        placed = [
            execution.placed
            for reports in self._kept.values()
            for execution in reports.executions
            if execution.placed is not None
        ]
        return len(placed), len({one.session for one in placed})

    def keeps(self, item: Item) -> bool:
        """Whether the reports of an item are kept: those of calls, or all of them."""
        return self._window is None or item.call_id is not None

    def has(self, item: Item, home: str) -> bool:
        """Whether reports of this item are here."""
        return _identity(item, home) in self._kept

    def file(
        self, item: Item, home: str, now: float, *, homeless: bool, first: int
    ) -> tuple[Execution, list[Placed]] | None:
        """File a report; see ``Reports.file``. ``first`` numbers a call's first execution."""
        identity = _identity(item, home)
        reports = self._kept.get(identity)
        if reports is None:
            reports = self._kept[identity] = Reports(several=is_call(item), first=first)
            if self._window is not None:
                self._expiring.append((now + self._window, identity, reports))
        if homeless:
            self._registry.trace(item.trace_id).ids.add(identity)
        return reports.file(Filed(item, homeless))

    def take_homeless(self, trace_id: bytes) -> list[Reports]:
        """The reports of all items of which a report is homeless in a trace, no longer kept."""
        trace = self._registry.trace(trace_id)
        found = [self._kept.pop(identity) for identity in trace.ids if identity in self._kept]
        trace.ids.clear()
        return found

    def expire(self, now: float) -> None:
        """Let go of the reports whose window has passed."""
        while self._expiring and self._expiring[0][0] <= now:
            _, identity, reports = self._expiring.popleft()
            if self._kept.get(identity) is not reports:
                continue
            del self._kept[identity]
            for filed in (filed for each in reports.executions for filed in each.reports):
                trace = self._registry.traces.get(filed.item.trace_id)
                if trace is not None:
                    trace.ids.discard(identity)


def _identity(item: Item, home: str) -> bytes:
    if is_call(item):
        return call_identity(item.call_id or "", home)
    return record_identity(item)
