"""What ``/status`` tells: what runs, since when, where, and how it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import spanward

if TYPE_CHECKING:
    from spanward.published import Reloads
    from spanward.specs.spec import Spec
    from spanward.worker import Worker


class Status:
    """``tell`` gives the JSON object. ``endpoints`` (host:port by name) are set once open.

    ``uptime`` gives seconds.
    """

    def __init__(self, worker: Worker, reloads: Reloads, uptime: Callable[[], float]) -> None:
        self.endpoints: dict[str, str] = {}
        self._worker = worker
        self._reloads = reloads
        self._uptime = uptime

    def tell(self) -> dict[str, Any]:
        """Everything as it is now; gauges as they were at the worker's last look."""
        worker = self._worker
        return {
            "version": spanward.__version__,
            "uptime_seconds": round(self._uptime(), 3),
            "endpoints": self.endpoints,
            "specs": [_shown(spec) for spec in worker.published.specs],
            "specs_sha256": worker.published.sha256,
            "specs_last_load_successful": self._reloads.good,
            "sessions_active": worker.gauges.sessions_active,
            "units_open": worker.gauges.units_open,
            "queue_length": worker.queue_length,
            "counters": self._counters(),
        }

    def _received(self) -> dict[str, int]:
        """Records by signal, whichever way they came."""
        totals: Counter[str] = Counter()
        for (signal, _), number in dict(self._worker.tally.received).items():
            totals[signal] += number
        return dict(totals)

    def _counters(self) -> dict[str, Any]:
        tally, counters = self._worker.tally, self._worker.counters
        return {
            "received": self._received(),
            "requests_refused": dict(tally.refused),
            "items_rejected": dict(tally.rejected),
            "items": dict(counters.items),
            "own_verdicts": tally.own_verdicts,
            "violations": sum(counters.violations),
            "evaluation_errors": counters.errors + tally.failures,
        }


def _shown(spec: Spec) -> dict[str, str]:
    return {
        "name": spec.name,
        "operator": spec.operator_name,
        "unit": spec.unit,
        "severity": spec.severity,
        "sha256": spec.sha256,
    }
