"""Vertices and subtasks of a job with their counts and rates, in the shapes of Flink's REST."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from headrace.coordination.job.figures import SubtaskRates, known_watermark, lowest_watermark
from headrace.coordination.job.master import JobMaster
from headrace.graph.execution_graph import ExecutionState, ExecutionSubtask
from headrace.graph.job_graph import JobVertex
from headrace.runtime.epoch import EpochReport

__all__ = ["back_pressure", "report_of", "subtasks_of", "vertex_details", "vertex_summary"]

_HIGH, _LOW = 0.5, 0.1
"""Shares of time from which on Flink speaks of high and of low back pressure."""


def subtasks_of(master: JobMaster, vertex: JobVertex) -> list[ExecutionSubtask]:
    """The subtasks of a vertex in order."""
    return [s for s in master.execution if s.vertex.id == vertex.id]


def report_of(master: JobMaster, subtask: ExecutionSubtask) -> EpochReport | None:
    """What a subtask reported last."""
    attempt = master.attempt
    return None if attempt is None else attempt.reports.get((subtask.vertex.id, subtask.index))


def vertex_summary(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    """A vertex as `/jobs/:id` lists it."""
    subtasks = subtasks_of(master, vertex)
    started = [
        s.since[ExecutionState.DEPLOYING] for s in subtasks if ExecutionState.DEPLOYING in s.since
    ]
    start_ms = int(min(started) * 1000) if started else -1
    end_ms = max(map(_end_ms, subtasks)) if all(s.state.terminal for s in subtasks) else -1
    until = end_ms if end_ms >= 0 else int(time.time() * 1000)
    reports = [r for s in subtasks if (r := report_of(master, s))]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": _status(subtasks),
        "start-time": start_ms,
        "end-time": end_ms,
        "duration": until - start_ms if started else -1,
        "tasks": _counts(subtasks),
        "metrics": _totals(master, subtasks),
        "rates": _rates([_rates_of(master, s) for s in subtasks], lowest_watermark(reports)),
    }


def vertex_details(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    """A vertex with its subtasks, as `/jobs/:id/vertices/:id` shows it."""
    subtasks = [_subtask(master, s) for s in subtasks_of(master, vertex)]
    names = [n for n, v in subtasks[0]["metrics"].items() if not isinstance(v, bool)]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": int(time.time() * 1000),
        "aggregated": {
            "metrics": {n: _aggregated([s["metrics"][n] for s in subtasks]) for n in names}
        },
        "subtasks": subtasks,
    }


def _subtask(master: JobMaster, subtask: ExecutionSubtask) -> dict[str, Any]:
    report = report_of(master, subtask)
    start_ms = int(subtask.since.get(ExecutionState.DEPLOYING, 0) * 1000) or -1
    end_ms = _end_ms(subtask) if subtask.state.terminal else -1
    until = end_ms if end_ms >= 0 else int(time.time() * 1000)
    host, endpoint = _place(master, subtask)
    watermark = known_watermark(report.watermark) if report else None
    hot_key = report.hot_key if report else None
    rates = _rates([_rates_of(master, subtask)], watermark)
    del rates["max-busy"]
    return {
        "subtask": subtask.index,
        "status": subtask.state.value,
        "attempt": subtask.attempt,
        "endpoint": endpoint,
        "host": host,
        "taskmanager-id": host,
        "start-time": start_ms,
        "end-time": end_ms,
        "duration": until - start_ms if start_ms >= 0 else -1,
        "metrics": _totals(master, [subtask]),
        "rates": rates,
        "watermark": watermark,
        "hot-key": {"key": hot_key.key, "share": hot_key.share} if hot_key else None,
    }


def back_pressure(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    """How much subtasks wait for those below, as Flink's `/backpressure` tells it."""
    rates = [(s, _rates_of(master, s)) for s in subtasks_of(master, vertex)]
    worst = max(r.back_pressured for _, r in rates)
    return {
        "status": "ok",
        "backpressureLevel": _level(worst),
        "backpressure-level": _level(worst),
        "end-timestamp": int(time.time() * 1000),
        "subtasks": [
            {
                "subtask": subtask.index,
                "attempt-number": subtask.attempt,
                "backpressureLevel": _level(rate.back_pressured),
                "backpressure-level": _level(rate.back_pressured),
                "ratio": rate.back_pressured,
                "idleRatio": rate.idle,
                "busyRatio": rate.busy,
            }
            for subtask, rate in rates
        ],
    }


def _level(share: float) -> str:
    return "high" if share > _HIGH else "low" if share > _LOW else "ok"


def _place(master: JobMaster, subtask: ExecutionSubtask) -> tuple[str, str]:
    attempt = master.attempt
    hello = attempt.slot_of(subtask.vertex.id, subtask.index) if attempt is not None else None
    return (hello.host, f"{hello.host}:{hello.pid}") if hello else ("", "(unassigned)")


def _rates_of(master: JobMaster, subtask: ExecutionSubtask) -> SubtaskRates:
    if subtask.state is not ExecutionState.RUNNING:
        return SubtaskRates()
    return master.figures.rates((subtask.vertex.id, int(subtask.index)))


def _rates(rates: Sequence[SubtaskRates], watermark: int | None) -> dict[str, Any]:
    return {
        "records-in": sum(r.records_in for r in rates),
        "records-out": sum(r.records_out for r in rates),
        "bytes-in": sum(r.bytes_in for r in rates),
        "bytes-out": sum(r.bytes_out for r in rates),
        "busy": statistics.fmean(r.busy for r in rates),
        "back-pressured": statistics.fmean(r.back_pressured for r in rates),
        "idle": statistics.fmean(r.idle for r in rates),
        "max-busy": max(r.busy for r in rates),
        "watermark": watermark,
    }


def _totals(master: JobMaster, subtasks: Sequence[ExecutionSubtask]) -> dict[str, Any]:
    totals = [master.figures.totals((s.vertex.id, int(s.index))) for s in subtasks]
    busy = sum(t.busy_ms for t in totals)
    waiting = sum(t.back_pressured_ms for t in totals)
    whole = master.figures.age_ms() * len(subtasks)
    return {
        "read-bytes": sum(t.bytes_in for t in totals),
        "read-bytes-complete": True,
        "write-bytes": sum(t.bytes_out for t in totals),
        "write-bytes-complete": True,
        "read-records": sum(t.records_in for t in totals),
        "read-records-complete": True,
        "write-records": sum(t.records_out for t in totals),
        "write-records-complete": True,
        "accumulated-backpressured-time": int(waiting),
        "accumulated-idle-time": int(max(whole - busy - waiting, 0)),
        "accumulated-busy-time": int(busy),
    }


def _aggregated(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    shares = {"p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "avg": sum(ordered) // len(ordered),
        "sum": sum(ordered),
        **{name: ordered[round(share * last)] for name, share in shares.items()},
    }


def _status(subtasks: Sequence[ExecutionSubtask]) -> str:
    """A vertex is what its subtasks agree on, else what the least advanced of them is."""
    order = list(ExecutionState)
    return min((s.state for s in subtasks), key=order.index).value


def _counts(subtasks: Sequence[ExecutionSubtask]) -> dict[str, int]:
    counts = {state.value: 0 for state in ExecutionState}
    for subtask in subtasks:
        counts[subtask.state.value] += 1
    return counts


def _end_ms(subtask: ExecutionSubtask) -> int:
    return int(subtask.since.get(subtask.state, 0) * 1000) or -1
