"""All that can be told about a job."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.job_status import JobStatus
from headrace.common.settings.secrets import without_secrets
from headrace.coordination.bodies.jobs import (
    Accumulators,
    AccumulatorValue,
    Epochs,
    ExceptionEntry,
    ExceptionHistory,
    Exceptions,
    JobConfig,
    JobDetails,
    JobExecutionConfig,
    JobParts,
    JobPlan,
    Plan,
    PlanInput,
    PlanNode,
    PlanOperator,
    Setting,
    SlotReport,
    SlotSubtask,
    Timeline,
)
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
from headrace.graph.job_graph import JobVertex

__all__ = ["details_of", "part_of"]


def details_of(master: JobMaster, status: JobStatus) -> JobParts:
    """Everything: what is left of a job that has ended as `status`."""
    parts = JobParts(**{name: part(master) for name, part in _PARTS.items()})
    return replace(
        parts,
        overview=replace(parts.overview, state=status.name),
        job=replace(parts.job, state=status.name),
    )


def part_of(master: JobMaster, name: str) -> Any:
    """One of the parts; see `JobParts`."""
    if name not in _PARTS:
        raise HeadraceError(f"nothing is known about the {name!r} of a job")
    return _PARTS[name](master)


def _job(master: JobMaster) -> JobDetails:
    overview = overview_of(master)
    vertices = tuple(vertex_summary(master, v) for v in master.job_graph.vertices)
    return JobDetails(
        overview.jid,
        overview.name,
        overview.state,
        overview.start_time,
        overview.end_time,
        overview.duration,
        max_parallelism=max(v.max_parallelism for v in master.job_graph.vertices),
        now=int(time.time() * 1000),
        timestamps={change.status.name: change.timestamp_ms for change in master.history.states},
        vertices=vertices,
        status_counts=Counter(v.status for v in vertices),
        plan=_plan(master),
        diagnosis=diagnosis_of(master),
    )


def _plan(master: JobMaster) -> Plan:
    level_of = {p.vertex: n for n, level in enumerate(master.physical.levels) for p in level}
    nodes = tuple(_node(v, level_of.get(v.id, 0)) for v in master.job_graph.vertices)
    return Plan(master.job_id.to_hex_string(), master.job_graph.job_name, nodes)


def _node(vertex: JobVertex, level: int) -> PlanNode:
    inputs = tuple(
        PlanInput(number, edge.source_vertex, edge.partitioning.ship_strategy)
        for number, edge in enumerate(vertex.in_edges)
    )
    operators = tuple(PlanOperator(o.operator_id, o.name, o.uid, o.keyed) for o in vertex.operators)
    return PlanNode(vertex.id, vertex.parallelism, vertex.name, level, operators, inputs or None)


def _exceptions(master: JobMaster) -> Exceptions:
    history = master.history
    root = history.root_failure
    return Exceptions(
        root.stacktrace if root else None,
        root.timestamp_ms if root else None,
        truncated=history.truncated,
        exception_history=ExceptionHistory(
            tuple(_exception(f) for f in reversed(history.failures)), history.truncated
        ),
    )


def _exception(failure: FailureEntry) -> ExceptionEntry:
    return ExceptionEntry(
        failure.exception_name,
        failure.stacktrace,
        failure.timestamp_ms,
        failure.task_name,
        failure.location,
    )


def _epochs(master: JobMaster) -> Epochs:
    target_ms = int(master.options.epoch_target_s * 1000)
    return Epochs(target_ms, master.figures.epochs_run, tuple(master.figures.epochs()))


def _timeline(master: JobMaster) -> Timeline:
    return Timeline(master.live, master.figures.moments())


def _config(master: JobMaster) -> JobConfig:
    options = master.options
    return JobConfig(
        master.job_id.to_hex_string(),
        master.job_graph.job_name,
        JobExecutionConfig(
            type(options.restarts).__name__,
            max(v.parallelism for v in master.job_graph.vertices),
            without_secrets(options.job_parameters),
        ),
        tuple(Setting(key, value) for key, value in sorted(options.settings.items())),
    )


def _slots(master: JobMaster) -> tuple[SlotReport, ...]:
    """The processes in which subtasks live, for the slot report of the cluster."""
    attempt = master.attempt
    if attempt is None or master.status().is_terminal_state():
        return ()
    names = {v.id: v.name for v in master.job_graph.vertices}
    return tuple(
        SlotReport(
            int(slot),
            hello.pid,
            hello.host,
            tuple(
                SlotSubtask(p.vertex, names.get(p.vertex, ""), int(p.subtask))
                for p in master.physical.subtasks_of(slot)
            ),
        )
        for slot, hello in sorted(attempt.slots.items())
    )


def _accumulators(master: JobMaster) -> Accumulators:
    known = sorted(master.accumulators().items())
    shown = (AccumulatorValue(name, type(value).__name__, repr(value)) for name, value in known)
    return Accumulators(user_task_accumulators=tuple(shown))


def _by_vertex(view: Callable[[JobMaster, JobVertex], Any]) -> Callable[[JobMaster], Any]:
    return lambda master: {v.id: view(master, v) for v in master.job_graph.vertices}


_PARTS: dict[str, Callable[[JobMaster], Any]] = {
    "overview": overview_of,
    "job": _job,
    "plan": lambda master: JobPlan(_plan(master)),
    "checkpoints": checkpoints_of,
    "checkpoint_details": checkpoint_details,
    "checkpoint_config": checkpoint_config,
    "exceptions": _exceptions,
    "epochs": _epochs,
    "timeline": _timeline,
    "watermarks": watermarks_of,
    "vertex_watermarks": _by_vertex(vertex_watermarks),
    "vertices": _by_vertex(vertex_details),
    "backpressure": _by_vertex(back_pressure),
    "metrics": metrics_of,
    "config": _config,
    "slots": _slots,
    "diagnosis": diagnosis_of,
    "accumulators": _accumulators,
}
