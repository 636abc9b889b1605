"""All that can be told about a job, in the words and shapes of Flink's REST interface."""

from __future__ import annotations

import time
from typing import Any

from headrace.coordination.job_history import FailureEntry
from headrace.coordination.job_master import JobMaster
from headrace.coordination.job_overview import overview_of
from headrace.graph.execution_graph import ExecutionState, ExecutionSubtask
from headrace.graph.job_graph import JobGraph, JobVertex
from headrace.runtime.epoch import EpochReport

__all__ = ["details_of"]


def details_of(master: JobMaster) -> dict[str, Any]:
    """A job by the last part of the path: `/jobs/:id` is `job`, `/jobs/:id/plan` is `plan`."""
    plan = _plan(master.job_graph)
    return {
        "overview": overview_of(master),
        "job": _job(master, plan),
        "plan": {"plan": plan},
        "checkpoints": _checkpoints(master),
        "exceptions": _exceptions(master),
        "vertices": {v.id: _vertex(master, v) for v in master.job_graph.vertices},
    }


def _job(master: JobMaster, plan: dict[str, Any]) -> dict[str, Any]:
    overview = overview_of(master)
    since = {change.status.name: change.timestamp_ms for change in master.history.states}
    vertices = [_vertex_summary(master, v) for v in master.job_graph.vertices]
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
        "plan": plan,
    }


def _plan(job_graph: JobGraph) -> dict[str, Any]:
    nodes = []
    for vertex in job_graph.vertices:
        node: dict[str, Any] = {
            "id": vertex.id,
            "parallelism": vertex.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": vertex.name,
            "optimizer_properties": {},
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
    return {"jid": "", "name": job_graph.job_name, "type": "STREAMING", "nodes": nodes}


def _vertex_summary(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    subtasks = _subtasks(master, vertex)
    started = [s.since[ExecutionState.DEPLOYING] for s in subtasks if s.since]
    start_ms = int(min(started) * 1000) if started else -1
    return {
        "id": vertex.id,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": _status(subtasks),
        "start-time": start_ms,
        "end-time": -1,
        "duration": int(time.time() * 1000) - start_ms if started else -1,
        "tasks": _counts(subtasks),
        "metrics": _metrics([r for s in subtasks if (r := _report(master, s))], vertex),
    }


def _vertex(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": int(time.time() * 1000),
        "subtasks": [
            {
                "subtask": subtask.index,
                "status": subtask.state.value,
                "attempt": subtask.attempt,
                "start-time": int(subtask.since.get(ExecutionState.DEPLOYING, 0) * 1000) or -1,
                "metrics": _metrics([r] if (r := _report(master, subtask)) else [], vertex),
                "watermark": r.watermark if r else None,
                "busy-ms-of-last-epoch": r.busy_ms if r else 0.0,
            }
            for subtask in _subtasks(master, vertex)
        ],
    }


def _subtasks(master: JobMaster, vertex: JobVertex) -> list[ExecutionSubtask]:
    return [s for s in master.execution if s.vertex.id == vertex.id]


def _report(master: JobMaster, subtask: ExecutionSubtask) -> EpochReport | None:
    attempt = master.attempt
    return None if attempt is None else attempt.reports.get((subtask.vertex.id, subtask.index))


def _status(subtasks: list[ExecutionSubtask]) -> str:
    """A vertex is what its subtasks agree on, else what the least advanced of them is."""
    order = list(ExecutionState)
    return min((s.state for s in subtasks), key=order.index).value


def _counts(subtasks: list[ExecutionSubtask]) -> dict[str, int]:
    counts = {state.value: 0 for state in ExecutionState}
    for subtask in subtasks:
        counts[subtask.state.value] += 1
    return counts


def _metrics(reports: list[EpochReport], vertex: JobVertex) -> dict[str, Any]:
    last = len(vertex.operators) - 1
    return {
        "read-bytes": sum(r.bytes_in for r in reports),
        "read-bytes-complete": True,
        "write-bytes": sum(r.bytes_out for r in reports),
        "write-bytes-complete": True,
        "read-records": sum(r.operators[0].records_in for r in reports),
        "read-records-complete": True,
        "write-records": sum(r.operators[last].records_out for r in reports),
        "write-records-complete": True,
    }


def _checkpoints(master: JobMaster) -> dict[str, Any]:
    history = list(master.checkpoints.history)
    done = [c for c in history if c["status"] == "COMPLETED"]
    failed = [c for c in history if c["status"] == "FAILED"]
    progress = master.checkpoints.progress()
    last_own = next((c for c in reversed(done) if not c["is_savepoint"]), None)
    last_savepoint = next((c for c in reversed(done) if c["is_savepoint"]), None)
    return {
        "counts": {
            "restored": 0 if master.restarts == 0 else master.restarts,
            "total": len(history) + (progress is not None),
            "in_progress": int(progress is not None),
            "completed": len(done),
            "failed": len(failed),
        },
        "latest": {
            "completed": last_own,
            "savepoint": last_savepoint,
            "failed": failed[-1] if failed else None,
            "restored": None,
        },
        "history": history[::-1],
    }


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
