"""Metrics as Flink's REST interface names them: flat, one number or text for each name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.coordination.bodies.metrics import SubtaskMetrics

__all__ = ["aggregated", "flat", "selected", "subtask_metrics"]

_INVALID = str.maketrans({" ": "_", ".": "_", ":": "_", ",": "_"})
_HISTOGRAM = {"p50": "median", "p99.9": "p999"}
AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Names and single values; a meter is its rate, a histogram one value for each statistic."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        full = f"{prefix}{name}"
        if not isinstance(value, dict):
            found[full] = value
        elif "rate" in value:
            found[full], found[f"{full}_count"] = value["rate"], value["count"]
        else:
            found |= {f"{full}_{_HISTOGRAM.get(k, k)}": v for k, v in value.items()}
    return found


def subtask_metrics(subtask: SubtaskMetrics) -> dict[str, Any]:
    """The metrics of a subtask: its own, and those of operators below their names."""
    found = flat(subtask.task)
    for operator in subtask.operators:
        found |= flat(operator.values, f"{operator.name.translate(_INVALID)}.")
    return found


def selected(values: Mapping[str, Any], wanted: Iterable[str] | None) -> list[dict[str, str]]:
    """As Flink answers: names without `get`, values as texts with it."""
    if wanted is None:
        return [{"id": name} for name in sorted(values)]
    return [{"id": n, "value": _text(values[n])} for n in wanted if values.get(n) is not None]


def aggregated(
    parts: Iterable[Mapping[str, Any]],
    wanted: Iterable[str] | None,
    how: Iterable[str] | None,
) -> list[dict[str, Any]]:
    """Metrics over subtasks or jobs: names without `get`, aggregations with it."""
    columns: dict[str, list[float]] = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, int | float) and math.isfinite(value):
                columns.setdefault(name, []).append(float(value))
    if wanted is None:
        return [{"id": name} for name in sorted(columns)]
    shown = AGGREGATIONS if how is None else [a for a in AGGREGATIONS if a in set(how)]
    return [{"id": n, **_numbers(columns[n], shown)} for n in wanted if n in columns]


def _numbers(values: list[float], shown: Iterable[str]) -> dict[str, float]:
    mean = sum(values) / len(values)
    # As Flink has it: the share of the mean by which values differ from it on average.
    spread = sum(abs(v - mean) for v in values) / len(values)
    known = {
        "min": min(values),
        "max": max(values),
        "avg": mean,
        "sum": sum(values),
        "skew": min(spread / mean * 100, 100.0) if mean else 0.0,
    }
    return {name: known[name] for name in shown}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
