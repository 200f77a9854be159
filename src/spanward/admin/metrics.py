"""Plain figures as Prometheus metrics, made when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from spanward.admin.families import Sample, counter, figure, gauge, histogram, total
from spanward.admin.specmetrics import spec_metrics
from spanward.engine.counters import AMENDED, DUPLICATE, LATE
from spanward.engine.counters import FATES as ENGINE_FATES
from spanward.published import FAILURE, SUCCESS
from spanward.request import FATES

if TYPE_CHECKING:
    from spanward.emitters.outlet import Outlet
    from spanward.published import Reloads
    from spanward.request import Transport
    from spanward.worker import Worker

_TRANSPORTS: Final[tuple[Transport, ...]] = ("grpc", "http")
_REFUSALS: Final = (
    "gzip",
    "malformed",
    "malformed_body",
    "not_one_message",
    "overloaded",
    "slow",
    "too_large",
    "too_much",
    "unauthenticated",
    "unsaved",
    "unsupported",
)


class ServiceMetrics(Collector):
    """All metrics of a service, prefix ``spanward_``. Labels are bounded: none is a sender's."""

    def __init__(
        self,
        version: str,
        worker: Worker,
        reloads: Reloads,
        outlets: Iterable[Outlet],
        queue_capacity: int,
    ) -> None:
        self._version = version
        self._worker = worker
        self._reloads = reloads
        self._outlets = tuple(outlets)
        self._queue_capacity = queue_capacity

    def collect(self) -> Iterator[Metric]:
        yield from spec_metrics(self._worker.published)
        text = "Records and requests that could not be judged: must stay 0."
        errors = self._worker.counters.errors + self._worker.tally.failures
        yield total("evaluation_errors", text, errors)
        yield from self._of_reloads()
        yield from self._of_input()
        yield from self._of_sessions()
        yield from self._of_service()

    def _of_input(self) -> Iterator[Metric]:
        tally, counters = self._worker.tally, self._worker.counters
        labels = ("transport",)
        spans = [((each,), tally.received["traces", each]) for each in _TRANSPORTS]
        logs = [((each,), tally.received["logs", each]) for each in _TRANSPORTS]
        yield counter("spans_received", "Spans received.", labels, spans)
        yield counter("log_records_received", "Log records received.", labels, logs)
        events = [((each,), tally.events[each]) for each in _TRANSPORTS]
        yield counter("span_events_received", "Span events received.", labels, events)
        reasons = ("reason",)
        refused = _sorted(tally.refused, _REFUSALS)
        yield counter("requests_refused", "Requests refused whole.", reasons, refused)
        rejected = _sorted(tally.rejected, ("trace_id", "span_id", "session_id", "job_id"))
        yield counter("items_rejected", "Records refused.", reasons, rejected)
        items = _sorted(counters.items, ("tool.call", "approval", "event", "span"))
        yield counter("items", "Items made of records.", ("kind",), items)
        fates = counters.fates + tally.fates
        known = tuple(dict.fromkeys((*ENGINE_FATES, *FATES)))
        text = "Records by what became of them; their sum is what was received."
        yield counter("records", text, ("fate",), _sorted(fates, known))
        yield total("late_items", "Reports too late to amend their item.", fates[LATE])
        yield total("duplicate_items", "Reports that said nothing new.", fates[DUPLICATE])
        yield total("amended_items", "Reports that changed their item.", fates[AMENDED])
        text = "Facts that came with their trace to a session that knew their item."
        yield total("facts_absorbed", text, counters.absorbed)
        text = "Facts for which a session had no room."
        yield total("facts_dropped", text, counters.facts_dropped)
        text = "Records whose sender left attributes out."
        yield total("incomplete_spans", text, tally.incomplete)
        yield total("own_verdicts", "Verdict spans that came back.", tally.own_verdicts)

    def _of_reloads(self) -> Iterator[Metric]:
        reloads = self._reloads
        text = "Whether specs were good when they were last loaded: 1, or 0."
        yield figure("specs_last_reload_successful", text, reloads.good)
        text = "When specs were last loaded and good, Unix time."
        yield figure("specs_last_reload_success_timestamp_seconds", text, reloads.good_at)
        results = _sorted(reloads.results, (SUCCESS, FAILURE))
        yield counter("specs_reloads", "Reloads of specs.", ("result",), results)

    def _of_sessions(self) -> Iterator[Metric]:
        counters, gauges = self._worker.counters, self._worker.gauges
        yield figure("sessions_active", "Sessions open.", gauges.sessions_active)
        yield figure("units_open", "Units whose results are not final.", gauges.units_open)
        yield total("sessions_opened", "Sessions begun.", counters.sessions_opened)
        closed = _sorted(
            counters.sessions_closed, ("ended", "idle", "evicted", "merged", "shutdown")
        )
        yield counter("sessions_closed", "Sessions closed.", ("reason",), closed)

    def _of_service(self) -> Iterator[Metric]:
        worker, tally = self._worker, self._worker.verdicts
        version = [((self._version,), 1)]
        yield gauge("build_info", "The version that runs.", ("version",), version)
        yield figure("queue_length", "Requests that wait.", worker.queue_length)
        yield figure("queue_capacity", "Requests that may wait.", self._queue_capacity)
        text = "From the end of the deciding item to its announcement."
        yield histogram("detection_latency_seconds", text, tally.latency)
        yield histogram("evaluation_seconds", "Judging one request.", tally.evaluation)
        yield histogram("store_commit_seconds", "Saving what a group changed.", tally.commits)
        text = "Commits and reads that the store could not do."
        yield total("store_failures", text, worker.store_failures)
        text = "Stores that could not be read at start and were set aside."
        yield total("stores_set_aside", text, worker.store_was_lost)
        emitted = [
            ((outlet.name, result), outlet.emitted[result])
            for outlet in self._outlets
            for result in ("success", "failure", "dropped")
        ]
        yield counter("emitted", "Announcements emitted.", ("emitter", "result"), emitted)


def _sorted(figures: dict[str, int], known: tuple[str, ...]) -> list[Sample]:
    """Figures by label, the known ones always there."""
    found = {**dict.fromkeys(known, 0), **dict(figures)}
    return [((name,), found[name]) for name in sorted(found)]
