"""Plain figures as Prometheus metrics, made when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from spanward.engine.counters import AMENDED, DUPLICATE, LATE
from spanward.engine.counters import FATES as ENGINE_FATES
from spanward.request import FATES

if TYPE_CHECKING:
    from spanward.emitters.outlet import Outlet
    from spanward.emitters.tally import Histogram
    from spanward.request import Transport
    from spanward.specs.spec import Spec
    from spanward.worker import Worker

_TRANSPORTS: Final[tuple[Transport, ...]] = ("grpc", "http")
_REFUSALS: Final = (
    "gzip",
    "malformed",
    "not_one_message",
    "overloaded",
    "slow",
    "too_large",
    "too_much",
    "unauthenticated",
    "unsaved",
    "unsupported",
)
_SPEC_LABELS: Final = ("spec", "operator", "severity")
_VERDICT_LABELS: Final = ("spec", "operator", "result", "severity")

Sample = tuple[tuple[str, ...], float]


class ServiceMetrics(Collector):
    """All metrics of a service, prefix ``spanward_``. Labels are bounded: none is a sender's."""

    def __init__(
        self,
        version: str,
        specs: Iterable[Spec],
        worker: Worker,
        outlets: Iterable[Outlet],
        queue_capacity: int,
    ) -> None:
        self._version = version
        self._specs = {spec.name: spec for spec in specs}
        self._worker = worker
        self._tally = worker.verdicts
        self._outlets = tuple(outlets)
        self._queue_capacity = queue_capacity

    def collect(self) -> Iterator[Metric]:
        yield from self._of_specs()
        yield from self._of_input()
        yield from self._of_sessions()
        yield from self._of_service()

    def _of_specs(self) -> Iterator[Metric]:
        counters, tally = self._worker.counters, self._tally
        operators = [spec.operator_name for spec in self._specs.values()]
        loaded = [((name,), operators.count(name)) for name in sorted(set(operators))]
        yield _gauge("specs_loaded", "Specs loaded.", ("operator",), loaded)
        verdicts = [
            ((spec, self._specs[spec].operator_name, result, self._specs[spec].severity), n)
            for (spec, result), n in dict(tally.verdicts).items()
        ]
        yield _counter("verdicts", "Units judged, by first result.", _VERDICT_LABELS, verdicts)
        revisions = dict(tally.revisions).items()
        changed = ("spec", "from", "to")
        yield _counter("verdict_revisions", "Verdicts that changed.", changed, revisions)
        yield self._by_spec("violations", "Items that violate a spec.", counters.violations)
        yield _gauge(
            "last_violation_timestamp_seconds",
            "When a violation was last announced, Unix time; 0 when there was none.",
            _SPEC_LABELS,
            [(self._labels(spec), tally.last_violation.get(spec, 0.0)) for spec in self._specs],
        )
        yield self._by_spec("spec_matches", "Items that concern a spec.", counters.matches)
        text = "Records and requests that could not be judged: must stay 0."
        yield _total("evaluation_errors", text, counters.errors + self._worker.tally.failures)

    def _by_spec(self, name: str, text: str, figures: Sequence[int]) -> Metric:
        pairs = zip(self._specs, figures, strict=True)
        samples = [(self._labels(spec), figure) for spec, figure in pairs]
        return _counter(name, text, _SPEC_LABELS, samples)

    def _labels(self, spec: str) -> tuple[str, ...]:
        compiled = self._specs[spec]
        return (spec, compiled.operator_name, compiled.severity)

    def _of_input(self) -> Iterator[Metric]:
        tally, counters = self._worker.tally, self._worker.counters
        labels = ("transport",)
        spans = [((each,), tally.received["traces", each]) for each in _TRANSPORTS]
        logs = [((each,), tally.received["logs", each]) for each in _TRANSPORTS]
        yield _counter("spans_received", "Spans received.", labels, spans)
        yield _counter("log_records_received", "Log records received.", labels, logs)
        events = [((each,), tally.events[each]) for each in _TRANSPORTS]
        yield _counter("span_events_received", "Span events received.", labels, events)
        reasons = ("reason",)
        refused = _sorted(tally.refused, _REFUSALS)
        yield _counter("requests_refused", "Requests refused whole.", reasons, refused)
        rejected = _sorted(tally.rejected, ("trace_id", "span_id", "session_id", "job_id"))
        yield _counter("items_rejected", "Records refused.", reasons, rejected)
        items = _sorted(counters.items, ("tool.call", "approval", "event", "span"))
        yield _counter("items", "Items made of records.", ("kind",), items)
        fates = counters.fates + tally.fates
        known = tuple(dict.fromkeys((*ENGINE_FATES, *FATES)))
        text = "Records by what became of them; their sum is what was received."
        yield _counter("records", text, ("fate",), _sorted(fates, known))
        yield _total("late_items", "Reports too late to amend their item.", fates[LATE])
        yield _total("duplicate_items", "Reports that said nothing new.", fates[DUPLICATE])
        yield _total("amended_items", "Reports that changed their item.", fates[AMENDED])
        text = "Facts that came with their trace to a session that knew their item."
        yield _total("facts_absorbed", text, counters.absorbed)
        text = "Facts for which a session had no room."
        yield _total("facts_dropped", text, counters.facts_dropped)
        text = "Records whose sender left attributes out."
        yield _total("incomplete_spans", text, tally.incomplete)
        yield _total("own_verdicts", "Verdict spans that came back.", tally.own_verdicts)

    def _of_sessions(self) -> Iterator[Metric]:
        counters, gauges = self._worker.counters, self._worker.gauges
        yield _figure("sessions_active", "Sessions open.", gauges.sessions_active)
        yield _figure("units_open", "Units whose results are not final.", gauges.units_open)
        yield _total("sessions_opened", "Sessions begun.", counters.sessions_opened)
        closed = _sorted(counters.sessions_closed, ("ended", "idle", "evicted", "merged"))
        yield _counter("sessions_closed", "Sessions closed.", ("reason",), closed)

    def _of_service(self) -> Iterator[Metric]:
        worker, tally = self._worker, self._tally
        version = [((self._version,), 1)]
        yield _gauge("build_info", "The version that runs.", ("version",), version)
        yield _figure("queue_length", "Requests that wait.", worker.queue_length)
        yield _figure("queue_capacity", "Requests that may wait.", self._queue_capacity)
        text = "From the end of the deciding item to its announcement."
        yield _histogram("detection_latency_seconds", text, tally.latency)
        yield _histogram("evaluation_seconds", "Judging one request.", tally.evaluation)
        yield _histogram("store_commit_seconds", "Saving what a group changed.", tally.commits)
        text = "Commits and reads that the store could not do."
        yield _total("store_failures", text, worker.store_failures)
        text = "Stores that could not be read at start and were set aside."
        yield _total("stores_set_aside", text, worker.store_was_lost)
        emitted = [
            ((outlet.name, result), outlet.emitted[result])
            for outlet in self._outlets
            for result in ("success", "failure", "dropped")
        ]
        yield _counter("emitted", "Announcements emitted.", ("emitter", "result"), emitted)


def _sorted(figures: dict[str, int], known: tuple[str, ...]) -> list[Sample]:
    """Figures by label, the known ones always there."""
    found = {**dict.fromkeys(known, 0), **dict(figures)}
    return [((name,), found[name]) for name in sorted(found)]


def _counter(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"spanward_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def _total(name: str, text: str, figure: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"spanward_{name}", text, value=figure)


def _gauge(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"spanward_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def _figure(name: str, text: str, figure: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"spanward_{name}", text, value=figure)


def _histogram(name: str, text: str, histogram: Histogram) -> HistogramMetricFamily:
    counts = list(histogram.counts)
    buckets = [
        (str(bound), float(sum(counts[: index + 1])))
        for index, bound in enumerate(histogram.bounds)
    ]
    buckets.append(("+Inf", float(sum(counts))))
    return HistogramMetricFamily(
        f"spanward_{name}", text, buckets=buckets, sum_value=histogram.total
    )
