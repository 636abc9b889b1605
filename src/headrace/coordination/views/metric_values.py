"""All metrics of a job, with Flink's names."""

from __future__ import annotations

import time
from typing import Any

from headrace.common.job_status import JobStatus
from headrace.coordination.bodies.metrics import (
    JobMetrics,
    OperatorMetrics,
    SubtaskMetrics,
    VertexMetrics,
)
from headrace.coordination.job.figures import SubtaskRates, known_watermark
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.vertex_details import report_of, subtasks_of
from headrace.graph.execution_graph import ExecutionSubtask
from headrace.graph.job_graph import JobVertex
from headrace.runtime.epoch import ChannelReport, EpochReport

__all__ = ["metrics_of"]


def metrics_of(master: JobMaster) -> JobMetrics:
    """The metrics of a job, its vertices, their subtasks and operators."""
    return JobMetrics(
        master.job_id.to_hex_string(),
        master.job_graph.job_name,
        {**_job(master), **_latencies(master)},
        {
            v.id: VertexMetrics(
                v.name, tuple(_subtask(master, v, s) for s in subtasks_of(master, v))
            )
            for v in master.job_graph.vertices
        },
    )


def _job(master: JobMaster) -> dict[str, Any]:
    epochs = master.figures.epochs(limit=1)
    checkpoints = master.checkpoints
    done = [c for c in list(checkpoints.history) if c.status == "COMPLETED"]
    last = done[-1] if done else None
    restored = master.restored
    since = master.history.since(JobStatus.RUNNING)
    running = master.status() is JobStatus.RUNNING and since is not None
    now = int(time.time() * 1000)
    restarting = master.history.since(JobStatus.RESTARTING)
    down = master.status() is JobStatus.RESTARTING and restarting is not None
    return {
        "numRestarts": master.restarts,
        "fullRestarts": master.restarts,
        "uptime": now - since if running and since is not None else 0,
        "runningTime": now - since if running and since is not None else 0,
        "downtime": now - restarting if down and restarting is not None else 0,
        "restartingTime": now - restarting if down and restarting is not None else 0,
        "lastCheckpointDuration": last.end_to_end_duration if last else -1,
        "lastCheckpointSize": last.checkpointed_size if last else -1,
        "lastCheckpointFullSize": last.state_size if last else -1,
        "lastCheckpointProcessedData": last.processed_data if last else -1,
        "lastCheckpointPersistedData": last.persisted_data if last else -1,
        "lastCheckpointExternalPath": last.external_path if last else "n/a",
        "lastCompletedCheckpointId": last.id if last else -1,
        "lastCheckpointRestoreTimestamp": restored.restore_timestamp if restored else -1,
        "numberOfCompletedCheckpoints": checkpoints.totals["COMPLETED"],
        "numberOfFailedCheckpoints": checkpoints.totals["FAILED"],
        "numberOfInProgressCheckpoints": int(checkpoints.progress() is not None),
        "totalNumberOfCheckpoints": sum(checkpoints.totals.values()),
        "numberOfEpochs": master.figures.epochs_run,
        "lastEpochDuration": epochs[-1].duration if epochs else -1,
        "lastEpochRecords": epochs[-1].records if epochs else -1,
    }


def _latencies(master: JobMaster) -> dict[str, Any]:
    """Histograms of latency by Flink's names: from a source to a subtask of an operator."""
    found: dict[str, Any] = {}
    for subtask in master.execution:
        report = report_of(master, subtask)
        for (source, operator), histogram in (report.latencies if report else {}).items():
            name = f"latency.source_id.{source}.operator_id.{operator}"
            found[f"{name}.operator_subtask_index.{subtask.index}.latency"] = histogram
    return found


def _subtask(master: JobMaster, vertex: JobVertex, subtask: ExecutionSubtask) -> SubtaskMetrics:
    report = report_of(master, subtask)
    attempt = master.attempt
    hello = attempt.slot_of(vertex.id, int(subtask.index)) if attempt else None
    host = hello.host if hello else ""
    if report is None:
        return SubtaskMetrics(int(subtask.index), subtask.attempt, host)
    rates = master.figures.rates((vertex.id, int(subtask.index)))
    operators = (
        OperatorMetrics(
            operator.operator_id,
            operator.name,
            {
                "numRecordsIn": figures.records_in,
                "numRecordsOut": figures.records_out,
                "currentInputWatermark": figures.watermark,
                "currentOutputWatermark": figures.watermark,
                **report.metrics.get(operator.operator_id, {}),
            },
        )
        for operator, figures in zip(vertex.operators, report.operators, strict=False)
    )
    task = _task(master, vertex, subtask, report, rates)
    return SubtaskMetrics(int(subtask.index), subtask.attempt, host, task, tuple(operators))


def _task(
    master: JobMaster,
    vertex: JobVertex,
    subtask: ExecutionSubtask,
    report: EpochReport,
    rates: SubtaskRates,
) -> dict[str, Any]:
    totals = master.figures.totals((vertex.id, int(subtask.index)))
    idle_ms = master.figures.age_ms() - totals.busy_ms - totals.back_pressured_ms
    values: dict[str, Any] = {
        "numRecordsIn": totals.records_in,
        "numRecordsOut": totals.records_out,
        "numBytesIn": totals.bytes_in,
        "numBytesOut": totals.bytes_out,
        "numRecordsInPerSecond": rates.records_in,
        "numRecordsOutPerSecond": rates.records_out,
        "numBytesInPerSecond": rates.bytes_in,
        "numBytesOutPerSecond": rates.bytes_out,
        "busyTimeMsPerSecond": rates.busy * 1000,
        "backPressuredTimeMsPerSecond": rates.back_pressured * 1000,
        "idleTimeMsPerSecond": rates.idle * 1000,
        "accumulateBusyTimeMs": totals.busy_ms,
        "accumulateBackPressuredTimeMs": totals.back_pressured_ms,
        "accumulateIdleTimeMs": max(idle_ms, 0.0),
        "isBackPressured": rates.back_pressured > 0.5,
        "currentInputWatermark": report.watermark,
        "currentOutputWatermark": report.operators[-1].watermark,
    }
    if report.channels is not None:
        values |= _channels(report.channels)
    watermark = known_watermark(report.watermark)
    if report.source and watermark is not None:
        values["watermarkLag"] = int(time.time() * 1000) - watermark
    return values


def _channels(channels: ChannelReport) -> dict[str, Any]:
    """Known of live jobs: otherwise no frame is on its way between two subtasks."""
    return {
        "buffers.inPoolUsage": channels.in_usage,
        "buffers.outPoolUsage": channels.out_usage,
        "buffers.inputQueueLength": channels.in_queue,
        "buffers.outputQueueLength": channels.out_queue,
        "checkpointAlignmentTime": round(channels.alignment_ms * 1e6),
    }
