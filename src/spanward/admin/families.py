"""Families of metrics from plain figures; the prefix is ``spanward_``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

if TYPE_CHECKING:
    from spanward.emitters.tally import Histogram

Sample = tuple[tuple[str, ...], float]
"""The values of the labels, and the figure."""


def counter(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]
) -> CounterMetricFamily:
    """A counter with labels; its name ends in ``_total`` when it is shown."""
    family = CounterMetricFamily(f"spanward_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def total(name: str, text: str, figure: float) -> CounterMetricFamily:
    """A counter without labels."""
    return CounterMetricFamily(f"spanward_{name}", text, value=figure)


def gauge(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]
) -> GaugeMetricFamily:
    """A gauge with labels."""
    family = GaugeMetricFamily(f"spanward_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def figure(name: str, text: str, figure: float) -> GaugeMetricFamily:
    """A gauge without labels."""
    return GaugeMetricFamily(f"spanward_{name}", text, value=figure)


def histogram(name: str, text: str, histogram: Histogram) -> HistogramMetricFamily:
    """A histogram without labels."""
    counts = list(histogram.counts)
    buckets = [
        (str(bound), float(sum(counts[: index + 1])))
        for index, bound in enumerate(histogram.bounds)
    ]
    buckets.append(("+Inf", float(sum(counts))))
    return HistogramMetricFamily(
        f"spanward_{name}", text, buckets=buckets, sum_value=histogram.total
    )
