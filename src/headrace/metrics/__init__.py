"""Metrics of user functions: counters, gauges, meters, distributions, histograms, groups."""

from __future__ import annotations

from headrace.metrics.metricbase import (
    Counter,
    Distribution,
    Gauge,
    Histogram,
    Meter,
    Metric,
    MetricGroup,
)

__all__ = [
    "Counter",
    "Distribution",
    "Gauge",
    "Histogram",
    "Meter",
    "Metric",
    "MetricGroup",
]
