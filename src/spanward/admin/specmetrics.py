"""The metrics of specs: there from the moment a spec is judged, gone with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, Exemplar, Metric

from spanward.admin.families import counter, gauge
from spanward.verdict import Result

if TYPE_CHECKING:
    from spanward.emitters.tally import Example
    from spanward.published import Published
    from spanward.specs.spec import Spec

_SPEC_LABELS: Final = ("spec", "operator", "severity")
_VERDICT_LABELS: Final = ("spec", "operator", "result", "severity")


def spec_metrics(published: Published) -> Iterator[Metric]:
    """All that is told by spec, of one set of specs."""
    specs, counters, tally = published.specs, published.counters, published.verdicts
    yield gauge("specs_info", "The digest of all specs.", ("sha256",), [((published.sha256,), 1)])
    operators = [spec.operator_name for spec in specs]
    loaded = [((name,), operators.count(name)) for name in sorted(set(operators))]
    yield gauge("specs_loaded", "Specs loaded.", ("operator",), loaded)
    yield _verdicts(published)
    revisions = dict(tally.revisions).items()
    changed = ("spec", "from", "to")
    yield counter("verdict_revisions", "Verdicts that changed.", changed, revisions)
    yield _by_spec(specs, "violations", "Items that violate a spec.", counters.violations)
    yield gauge(
        "last_violation_timestamp_seconds",
        "When a violation was last announced, Unix time; 0 when there was none.",
        _SPEC_LABELS,
        [(_labels(spec), tally.last_violation.get(spec.name, 0.0)) for spec in specs],
    )
    yield _by_spec(specs, "spec_matches", "Items that concern a spec.", counters.matches)


def _verdicts(published: Published) -> Metric:
    """First results; the last failure of each spec points at the step, in OpenMetrics."""
    text, tally = "Units judged, by first result.", published.verdicts
    family = CounterMetricFamily("spanward_verdicts", text, labels=_VERDICT_LABELS)
    for spec in published.specs:
        for result in Result:
            labels = (spec.name, spec.operator_name, str(result), spec.severity)
            family.add_sample(
                "spanward_verdicts_total",
                dict(zip(_VERDICT_LABELS, labels, strict=True)),
                tally.verdicts[spec.name, str(result)],
                exemplar=_exemplar(tally.examples.get(spec.name))
                if result is Result.FAIL
                else None,
            )
    return family


def _exemplar(example: Example | None) -> Exemplar | None:
    """Ids alone: an exemplar of more than 128 characters would break the page."""
    if example is None:
        return None
    ids = {"trace_id": example.trace_id, "span_id": example.span_id}
    return Exemplar(ids, 1.0, example.at)


def _by_spec(specs: Sequence[Spec], name: str, text: str, figures: Sequence[int]) -> Metric:
    pairs = zip(specs, figures, strict=True)
    return counter(name, text, _SPEC_LABELS, [(_labels(spec), each) for spec, each in pairs])


def _labels(spec: Spec) -> tuple[str, ...]:
    return (spec.name, spec.operator_name, spec.severity)
