"""Vertices and subtasks of a job with their counts and rates."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import fields, replace

from headrace.coordination.bodies.vertices import (
    Aggregate,
    AggregatedIo,
    BackPressure,
    Io,
    IoAggregates,
    Rates,
    SubtaskBackPressure,
    SubtaskDetails,
    VertexDetails,
    VertexSummary,
)
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


def vertex_summary(master: JobMaster, vertex: JobVertex) -> VertexSummary:
    """A vertex as `/jobs/:id` lists it."""
    subtasks = subtasks_of(master, vertex)
    started = [
        s.since[ExecutionState.DEPLOYING] for s in subtasks if ExecutionState.DEPLOYING in s.since
    ]
    start_ms = int(min(started) * 1000) if started else -1
    end_ms = max(map(_end_ms, subtasks)) if all(s.state.terminal for s in subtasks) else -1
    reports = [r for s in subtasks if (r := report_of(master, s))]
    rates = [_rates_of(master, s) for s in subtasks]
    return VertexSummary(
        vertex.id,
        vertex.name,
        vertex.max_parallelism,
        vertex.parallelism,
        _status(subtasks),
        start_ms,
        end_ms,
        _duration(start_ms, end_ms),
        _counts(subtasks),
        _totals(master, subtasks),
        replace(_rates(rates, lowest_watermark(reports)), max_busy=max(r.busy for r in rates)),
    )


def vertex_details(master: JobMaster, vertex: JobVertex) -> VertexDetails:
    """A vertex with its subtasks, as `/jobs/:id/vertices/:id` shows it."""
    subtasks = tuple(_subtask(master, s) for s in subtasks_of(master, vertex))
    aggregates = {
        f.name: _aggregated([getattr(s.metrics, f.name) for s in subtasks])
        for f in fields(IoAggregates)
    }
    return VertexDetails(
        vertex.id,
        vertex.name,
        vertex.parallelism,
        vertex.max_parallelism,
        int(time.time() * 1000),
        AggregatedIo(IoAggregates(**aggregates)),
        subtasks,
    )


def _subtask(master: JobMaster, subtask: ExecutionSubtask) -> SubtaskDetails:
    report = report_of(master, subtask)
    start_ms = int(subtask.since.get(ExecutionState.DEPLOYING, 0) * 1000) or -1
    end_ms = _end_ms(subtask) if subtask.state.terminal else -1
    host, endpoint = _place(master, subtask)
    watermark = known_watermark(report.watermark) if report else None
    return SubtaskDetails(
        subtask.index,
        subtask.state.value,
        subtask.attempt,
        endpoint,
        host,
        host,
        start_ms,
        end_ms,
        _duration(start_ms, end_ms),
        _totals(master, [subtask]),
        _rates([_rates_of(master, subtask)], watermark),
        watermark,
        report.hot_key if report else None,
    )


def back_pressure(master: JobMaster, vertex: JobVertex) -> BackPressure:
    """How much subtasks wait for those below, as Flink's `/backpressure` tells it."""
    rates = [(s, _rates_of(master, s)) for s in subtasks_of(master, vertex)]
    worst = _level(max(r.back_pressured for _, r in rates))
    shown = [
        SubtaskBackPressure(
            subtask.index,
            subtask.attempt,
            _level(rate.back_pressured),
            _level(rate.back_pressured),
            rate.back_pressured,
            rate.idle,
            rate.busy,
        )
        for subtask, rate in rates
    ]
    return BackPressure("ok", worst, worst, int(time.time() * 1000), tuple(shown))


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


def _rates(rates: Sequence[SubtaskRates], watermark: int | None) -> Rates:
    return Rates(
        sum(r.records_in for r in rates),
        sum(r.records_out for r in rates),
        sum(r.bytes_in for r in rates),
        sum(r.bytes_out for r in rates),
        statistics.fmean(r.busy for r in rates),
        statistics.fmean(r.back_pressured for r in rates),
        statistics.fmean(r.idle for r in rates),
        watermark,
    )


def _totals(master: JobMaster, subtasks: Sequence[ExecutionSubtask]) -> Io:
    totals = [master.figures.totals((s.vertex.id, int(s.index))) for s in subtasks]
    busy = sum(t.busy_ms for t in totals)
    waiting = sum(t.back_pressured_ms for t in totals)
    whole = master.figures.age_ms() * len(subtasks)
    return Io(
        sum(t.bytes_in for t in totals),
        sum(t.bytes_out for t in totals),
        sum(t.records_in for t in totals),
        sum(t.records_out for t in totals),
        int(waiting),
        int(max(whole - busy - waiting, 0)),
        int(busy),
    )


def _aggregated(values: Sequence[int]) -> Aggregate:
    ordered = sorted(values)
    shares = (ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75, 0.95))
    total = sum(ordered)
    return Aggregate(ordered[0], ordered[-1], total // len(ordered), total, *shares)


def _duration(start_ms: int, end_ms: int) -> int:
    if start_ms < 0:
        return -1
    return (end_ms if end_ms >= 0 else int(time.time() * 1000)) - start_ms


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
