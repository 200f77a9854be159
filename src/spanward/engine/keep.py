"""The reports that may still be amended, kept whole for the amend window."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from spanward.engine.identity import call_identity, record_identity
from spanward.engine.reports import Reports

if TYPE_CHECKING:
    from spanward.engine.registry import Registry
    from spanward.engine.reports import Execution
    from spanward.item import Item


class Keep:
    """Reports by the identity of their item.

    ``window`` is in seconds; None keeps all for ever. ``signed``: those without a call id are kept
    too, so that what another sender reports under the same ids is seen to be another's.
    """

    def __init__(self, window: float | None, registry: Registry, *, signed: bool) -> None:
        self._window = window
        self._signed = signed
        self._registry = registry
        self._kept: dict[bytes, Reports] = {}
        self._expiring: deque[tuple[float, bytes, Reports]] = deque()

    def totals(self) -> tuple[int, int]:
        """How many items there are, and in how many sessions."""
        placed = [
            execution.placed
            for reports in self._kept.values()
            for execution in reports.executions
            if execution.placed is not None
        ]
        return len(placed), len({one.session.name for one in placed})

    def keeps(self, item: Item) -> bool:
        """Whether the reports of an item are kept: those with a call id, or all of them."""
        return self._window is None or self._signed or item.call_id is not None

    def of(self, identity: bytes) -> Reports | None:
        """The reports of an identity; None when there are none."""
        return self._kept.get(identity)

    def begin(
        self, identity: bytes, item: Item, now: float, *, several: bool, first: int
    ) -> Execution:
        """Keep the first report of an identity. ``first`` numbers its first execution."""
        reports = self._kept[identity] = Reports.of(item, several=several, first=first)
        self.changed(identity)
        if self._window is not None:
            self._expiring.append((now + self._window, identity, reports))
        return reports.executions[0]

    def note_homeless(self, identity: bytes, item: Item) -> None:
        """Have a homeless report found again when its trace turns out to be of another session."""
        if item.session is None:
            trace = self._registry.trace(item.trace_id)
            trace.ids = trace.ids or set()
            trace.ids.add(identity)

    def take_homeless(self, trace_id: bytes) -> list[Execution]:
        """All executions of the items of which a report is homeless in a trace, kept no longer."""
        trace = self._registry.trace(trace_id)
        ids, trace.ids = trace.ids or set(), None
        found = [self._kept.pop(identity) for identity in ids if identity in self._kept]
        for identity in ids:
            self.changed(identity)
        return [execution for reports in found for execution in reports.executions]

    def changed(self, identity: bytes) -> None:
        """Note that the reports of an identity changed, and must be saved."""
        if self._window is not None:
            self._registry.unsaved.reports[identity] = self._kept.get(identity)

    def note_all(self) -> None:
        """Note all reports as changed."""
        for identity in self._kept:
            self.changed(identity)

    def load(self, identity: bytes, reports: Reports, now: float) -> None:
        """Keep reports that were saved for a window more."""
        self._kept[identity] = reports
        for one in (report for each in reports.executions for report in each.reports):
            self.note_homeless(identity, one)
        self._expiring.append((now + (self._window or 0.0), identity, reports))

    def expire(self, now: float) -> None:
        """Let go of the reports whose window has passed."""
        while self._expiring and self._expiring[0][0] <= now:
            _, identity, reports = self._expiring.popleft()
            if self._kept.get(identity) is reports:
                del self._kept[identity]
                self.changed(identity)
                self._forget_homeless(identity, reports)

    def _forget_homeless(self, identity: bytes, reports: Reports) -> None:
        for report in (one for each in reports.executions for one in each.reports):
            trace = self._registry.traces.get(report.trace_id)
            if trace is not None and trace.ids is not None:
                trace.ids.discard(identity)
                trace.ids = trace.ids or None


def identity_of(item: Item, home: str, *, call: bool) -> bytes:
    """What the reports of an item are kept under; ``call`` when it is known by its call id."""
    return call_identity(item.call_id or "", home) if call else record_identity(item)
