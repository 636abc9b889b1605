"""All that can be told about a job, in the words and shapes of Flink's REST interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.secret_settings import without_secrets
from headrace.coordination.job.figures import EpochFigures
from headrace.coordination.job.history import FailureEntry
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.checkpoint_details import (
    checkpoint_config,
    checkpoint_details,
    checkpoints_of,
)
from headrace.coordination.views.job_overview import overview_of
from headrace.coordination.views.job_picture import diagnosis_of
from headrace.coordination.views.metric_values import metrics_of
from headrace.coordination.views.vertex_details import back_pressure, vertex_details, vertex_summary
from headrace.coordination.views.watermark_details import vertex_watermarks, watermarks_of

__all__ = ["PARTS", "details_of", "part_of"]


def details_of(master: JobMaster) -> dict[str, Any]:
    """Everything, by part: what is left of a job that has ended."""
    return {name: part(master) for name, part in PARTS.items()}


def part_of(master: JobMaster, name: str) -> Any:
    """One of the parts; see `PARTS`."""
    if name not in PARTS:
        raise HeadraceError(f"nothing is known about the {name!r} of a job")
    return PARTS[name](master)


def _job(master: JobMaster) -> dict[str, Any]:
    overview = overview_of(master)
    since = {change.status.name: change.timestamp_ms for change in master.history.states}
    vertices = [vertex_summary(master, v) for v in master.job_graph.vertices]
    counts: dict[str, int] = {}
    for vertex in vertices:
        counts[vertex["status"]] = counts.get(vertex["status"], 0) + 1
    wanted = ("jid", "name", "state", "start-time", "end-time", "duration")
    return {
        **{name: overview[name] for name in wanted},
        "isStoppable": False,
        "maxParallelism": max(v.max_parallelism for v in master.job_graph.vertices),
        "now": int(time.time() * 1000),
        "timestamps": since,
        "vertices": vertices,
        "status-counts": counts,
        "plan": _plan(master),
        "diagnosis": diagnosis_of(master),
    }


def _plan(master: JobMaster) -> dict[str, Any]:
    nodes = []
    level_of = {p.vertex: n for n, level in enumerate(master.physical.levels) for p in level}
    for vertex in master.job_graph.vertices:
        node: dict[str, Any] = {
            "id": vertex.id,
            "parallelism": vertex.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": vertex.name,
            "optimizer_properties": {},
            "level": level_of.get(vertex.id, 0),
            "operators": [
                {"id": o.operator_id, "name": o.name, "uid": o.uid, "keyed": o.keyed}
                for o in vertex.operators
            ],
        }
        if vertex.in_edges:
            node["inputs"] = [
                {
                    "num": number,
                    "id": edge.source_vertex,
                    "ship_strategy": edge.partitioning.ship_strategy,
                    "exchange": "pipelined_bounded",
                }
                for number, edge in enumerate(vertex.in_edges)
            ]
        nodes.append(node)
    job_id = master.job_id.to_hex_string()
    name = master.job_graph.job_name
    return {"jid": job_id, "name": name, "type": "STREAMING", "nodes": nodes}


def _exceptions(master: JobMaster) -> dict[str, Any]:
    history = master.history
    root = history.root_failure
    return {
        "root-exception": root.stacktrace if root else None,
        "timestamp": root.timestamp_ms if root else None,
        "all-exceptions": [],
        "truncated": history.truncated,
        "exceptionHistory": {
            "entries": [_exception(f) for f in reversed(history.failures)],
            "truncated": history.truncated,
        },
    }


def _exception(failure: FailureEntry) -> dict[str, Any]:
    return {
        "exceptionName": failure.exception_name,
        "stacktrace": failure.stacktrace,
        "timestamp": failure.timestamp_ms,
        "taskName": failure.task_name,
        "endpoint": failure.location,
        "concurrentExceptions": [],
    }


def _epochs(master: JobMaster) -> dict[str, Any]:
    return {
        "target-ms": int(master.options.epoch_target_s * 1000),
        "total": master.figures.epochs_run,
        "epochs": [_epoch(e) for e in master.figures.epochs()],
    }


def _epoch(epoch: EpochFigures) -> dict[str, Any]:
    return {
        "id": epoch.epoch,
        "attempt": epoch.attempt,
        "start-time": epoch.started_ms,
        "duration": epoch.duration_ms,
        "records": epoch.records,
        "wait-before": epoch.wait_ms,
        "more": epoch.more,
        "checkpoint": epoch.checkpoint,
        "watermark": epoch.watermark,
        "phases": [{"name": name, "ms": ms} for name, ms in epoch.phases],
    }


def _config(master: JobMaster) -> dict[str, Any]:
    options = master.options
    return {
        "jid": master.job_id.to_hex_string(),
        "name": master.job_graph.job_name,
        "execution-config": {
            "execution-mode": "PIPELINED",
            "restart-strategy": type(options.restarts).__name__,
            "job-parallelism": max(v.parallelism for v in master.job_graph.vertices),
            "object-reuse-mode": False,
            "user-config": without_secrets(options.job_parameters),
        },
        "settings": [{"key": k, "value": v} for k, v in sorted(options.settings.items())],
    }


def _slots(master: JobMaster) -> list[dict[str, Any]]:
    """The processes in which subtasks live, for the slot report of the cluster."""
    attempt = master.attempt
    if attempt is None or master.status().is_terminal_state():
        return []
    names = {v.id: v.name for v in master.job_graph.vertices}
    return [
        {
            "index": int(slot),
            "pid": hello.pid,
            "host": hello.host,
            "subtasks": [
                {"vertex": p.vertex, "name": names.get(p.vertex, ""), "subtask": int(p.subtask)}
                for p in master.physical.subtasks_of(slot)
            ],
        }
        for slot, hello in sorted(attempt.slots.items())
    ]


PARTS: dict[str, Callable[[JobMaster], Any]] = {
    "overview": overview_of,
    "job": _job,
    "plan": lambda master: {"plan": _plan(master)},
    "checkpoints": checkpoints_of,
    "checkpoint-details": checkpoint_details,
    "checkpoint-config": checkpoint_config,
    "exceptions": _exceptions,
    "epochs": _epochs,
    "watermarks": watermarks_of,
    "vertex-watermarks": lambda master: {
        v.id: vertex_watermarks(master, v) for v in master.job_graph.vertices
    },
    "vertices": lambda master: {v.id: vertex_details(master, v) for v in master.job_graph.vertices},
    "backpressure": lambda master: {
        v.id: back_pressure(master, v) for v in master.job_graph.vertices
    },
    "metrics": metrics_of,
    "config": _config,
    "slots": _slots,
    "diagnosis": diagnosis_of,
    "accumulators": lambda master: {
        "job-accumulators": [],
        "user-task-accumulators": [
            {"name": name, "type": type(value).__name__, "value": repr(value)}
            for name, value in sorted(master.accumulators().items())
        ],
        "serialized-user-task-accumulators": {},
    },
}
"""What can be told, by the last part of the path: `/jobs/:id` is `job`."""
