"""Metrics as text for Prometheus, with the names and labels of Flink's reporter."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.coordination.bodies.metrics import JobMetrics, SubtaskMetrics

__all__ = ["CONTENT_TYPE", "prometheus_text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_INVALID = re.compile(r"[^a-zA-Z0-9:_]")
_QUANTILES = {"p50": "0.5", "p75": "0.75", "p95": "0.95", "p98": "0.98", "p99": "0.99"}
_QUANTILES |= {"p99.9": "0.999"}
_LATENCY = re.compile(
    r"latency\.source_id\.(?P<source_id>\w+)\.operator_id\.(?P<operator_id>\w+)"
    r"\.operator_subtask_index\.(?P<operator_subtask_index>\d+)\.latency"
)

Labels = Mapping[str, str]


class _Page:
    """Samples by metric: all of one metric have to be together."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, scope: str, name: str, labels: Labels, value: Any) -> None:
        full = f"flink_{scope}_{_INVALID.sub('_', name)}"
        if isinstance(value, dict):
            self._add_parts(full, labels, value)
        elif isinstance(value, bool | int | float):
            self._sample(full, "gauge", full, labels, value)

    def _add_parts(self, full: str, labels: Labels, parts: Mapping[str, Any]) -> None:
        if "rate" in parts:
            self._sample(full, "gauge", full, labels, parts["rate"])
        elif "p50" in parts:
            for part, quantile in _QUANTILES.items():
                labelled = {**labels, "quantile": quantile}
                self._sample(full, "summary", full, labelled, parts[part])
            self._sample(full, "summary", f"{full}_count", labels, parts["count"])
        else:
            for part, value in parts.items():
                self._sample(f"{full}_{part}", "gauge", f"{full}_{part}", labels, value)

    def _sample(self, metric: str, kind: str, name: str, labels: Labels, value: Any) -> None:
        if not isinstance(value, bool | int | float) or self._kinds.get(metric, kind) != kind:
            return
        self._kinds[metric] = kind
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        self._lines.setdefault(metric, []).append(f"{name}{{{shown}}} {float(value)!r}")

    def text(self) -> str:
        blocks = []
        for metric, lines in sorted(self._lines.items()):
            blocks.append(f"# TYPE {metric} {self._kinds[metric]}\n" + "\n".join(lines) + "\n")
        return "".join(blocks)


def prometheus_text(jobs: Iterable[JobMetrics], cluster: Mapping[str, Any]) -> str:
    """The metrics of jobs and of the JobManager itself."""
    page, host = _Page(), socket.gethostname()
    for name, value in cluster.items():
        page.add("jobmanager", name, {"host": host}, value)
    for job in jobs:
        of_job = {"job_id": job.id, "job_name": job.name}
        for name, value in job.job.items():
            latency = _LATENCY.fullmatch(name)
            if latency is None:
                page.add("jobmanager_job", name, {"host": host, **of_job}, value)
            else:
                labels = {**of_job, **latency.groupdict()}
                scope = "latency_source_id_operator_id_operator_subtask_index_latency"
                page.add("taskmanager_job", scope, labels, value)
        for vertex, about in job.vertices.items():
            for subtask in about.subtasks:
                _add_subtask(page, of_job, vertex, about.name, subtask)
    return page.text()


def _add_subtask(
    page: _Page, of_job: Labels, vertex: str, name: str, subtask: SubtaskMetrics
) -> None:
    labels = {
        "host": subtask.host,
        "tm_id": subtask.host,
        **of_job,
        "task_id": vertex,
        "task_name": name,
        "task_attempt_num": str(subtask.attempt),
        "subtask_index": str(subtask.index),
    }
    for metric, value in subtask.task.items():
        page.add("taskmanager_job_task", metric, labels, value)
    for operator in subtask.operators:
        more = {"operator_id": operator.id, "operator_name": operator.name}
        for metric, value in operator.values.items():
            page.add("taskmanager_job_task_operator", metric, {**labels, **more}, value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
