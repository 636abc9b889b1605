"""The figures of a running job, gathered for its diagnosis."""

from __future__ import annotations

import os
import re
import time

from headrace.coordination.bodies.jobs import Diagnosis, Epoch
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.diagnosis import (
    CheckpointPicture,
    JobPicture,
    LongEpoch,
    SubtaskPicture,
    VertexPicture,
    diagnose,
)
from headrace.coordination.views.vertex_details import report_of, subtasks_of
from headrace.coordination.views.watermark_details import held_back_by
from headrace.graph.execution_graph import ExecutionSubtask
from headrace.graph.job_graph import JobVertex

__all__ = ["diagnosis_of", "picture_of", "place_of"]

_RECENT_MS = 600_000
_EPOCHS = 10
_LONG_S = 15.0
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def diagnosis_of(master: JobMaster) -> Diagnosis:
    """What limits a job now."""
    return diagnose(picture_of(master))


def picture_of(master: JobMaster) -> JobPicture:
    """What the diagnosis looks at."""
    epochs = master.figures.epochs(limit=_EPOCHS)
    vertices = tuple(_vertex(master, v) for v in master.job_graph.vertices)
    failure = master.history.root_failure
    recent = int(time.time() * 1000) - _RECENT_MS
    return JobPicture(
        state=master.status().name,
        vertices=vertices,
        records_per_s=sum(s.records_in for v in vertices if v.source for s in v.subtasks),
        more=sum(e.more for e in epochs) > len(epochs) / 2,
        # For an epoch of a live job nothing is started.
        spark_share=0.0 if master.live else _share_of(epochs, "spark"),
        held=held_back_by(master),
        checkpoints=_checkpoints(master),
        recent_restarts=sum(f.timestamp_ms > recent for f in list(master.history.failures)),
        last_failure=failure.message if failure else "",
        long_epoch=_long_epoch(master),
    )


def _long_epoch(master: JobMaster) -> LongEpoch | None:
    seconds = master.figures.epoch_age_s
    if seconds < _LONG_S or master.attempt is None:
        return None
    dumps = [d for d in master.attempt.observations.threads() if d.threads]
    # The slot that works; the others wait for it.
    dump = next((d for d in dumps if d.subtask), dumps[0] if dumps else None)
    if dump is None:
        return LongEpoch(seconds, None, "an unknown place: no slot answers")
    return LongEpoch(seconds, dump.subtask, place_of(dump.threads[0].text))


def place_of(stack: str) -> str:
    """Where a thread is: the innermost line of the user or of a client, else of ours."""
    frames = _FRAME.findall(stack)
    theirs = [f for f in frames if not f[0].startswith((_PACKAGE, "<"))]
    file, line, function = (theirs or frames or [("?", "?", "?")])[-1]
    return f"{file}:{line} ({function})"


def _vertex(master: JobMaster, vertex: JobVertex) -> VertexPicture:
    subtasks = tuple(_subtask(master, s) for s in subtasks_of(master, vertex))
    return VertexPicture(vertex.id, vertex.name, vertex.is_source, subtasks)


def _subtask(master: JobMaster, subtask: ExecutionSubtask) -> SubtaskPicture:
    rates = master.figures.rates((subtask.vertex.id, int(subtask.index)))
    report = report_of(master, subtask)
    hot = report.hot_key if report else None
    return SubtaskPicture(
        int(subtask.index),
        rates.busy,
        rates.back_pressured,
        rates.records_in,
        hot.key if hot else None,
        hot.share if hot else 0.0,
    )


def _share_of(epochs: list[Epoch], phase: str) -> float:
    whole = sum(e.duration for e in epochs)
    return sum(p.ms for e in epochs for p in e.phases if p.name == phase) / whole if whole else 0.0


def _checkpoints(master: JobMaster) -> CheckpointPicture:
    failed: list[str] = []
    completed = master.checkpoints.totals["COMPLETED"] > 0
    for entry in reversed(list(master.checkpoints.history)):
        if entry.status != "FAILED":
            break
        failed.append(entry.failure_message or "")
    return CheckpointPicture(len(failed), failed[0] if failed else "", completed)
