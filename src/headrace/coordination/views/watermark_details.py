"""Event time of a job, and who holds it back."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.coordination.bodies.jobs import (
    HeldWatermark,
    SourceWatermark,
    SplitWatermark,
    VertexWatermark,
    Watermarks,
)
from headrace.coordination.bodies.vertices import SubtaskWatermark
from headrace.coordination.job.figures import known_watermark
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.vertex_details import report_of, subtasks_of
from headrace.graph.job_graph import JobVertex
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.runtime.epoch import EpochReport

__all__ = ["held_back_by", "vertex_watermarks", "watermarks_of"]


def vertex_watermarks(master: JobMaster, vertex: JobVertex) -> tuple[SubtaskWatermark, ...]:
    """As Flink's `/jobs/:id/vertices/:id/watermarks`."""
    found = [(s.index, report_of(master, s)) for s in subtasks_of(master, vertex)]
    return tuple(
        SubtaskWatermark(f"{index}.currentInputWatermark", str(report.watermark))
        for index, report in found
        if report is not None
    )


def watermarks_of(master: JobMaster) -> Watermarks:
    """Watermarks of all subtasks and splits, and the one that the job waits for."""
    vertices = tuple(_vertex(master, v) for v in master.job_graph.vertices)
    return Watermarks(_lowest(vertices), held_back_by(master), vertices)


def _vertex(master: JobMaster, vertex: JobVertex) -> VertexWatermark:
    found = ((int(s.index), report_of(master, s)) for s in subtasks_of(master, vertex))
    subtasks = tuple(_subtask(index, report) for index, report in found)
    return VertexWatermark(vertex.id, vertex.name, _lowest(subtasks), subtasks)


def _subtask(index: int, report: EpochReport | None) -> SourceWatermark:
    if report is None:
        return SourceWatermark(index, None, ())
    splits = (SplitWatermark(s.split, known_watermark(s.watermark), s.idle) for s in report.splits)
    return SourceWatermark(index, known_watermark(report.watermark), tuple(splits))


def _lowest(known: Iterable[VertexWatermark | SourceWatermark]) -> int | None:
    return min((k.watermark for k in known if k.watermark is not None), default=None)


def held_back_by(master: JobMaster) -> HeldWatermark | None:
    """The split, or the source without splits of its own, that is furthest behind the others."""
    candidates: list[tuple[int, JobVertex, EpochReport, str | None]] = []
    for vertex in master.job_graph.vertices:
        if not vertex.is_source:
            continue
        for subtask in subtasks_of(master, vertex):
            report = report_of(master, subtask)
            if report is None or report.finished:
                continue
            active = [s for s in report.splits if not s.idle]
            candidates += [(s.watermark, vertex, report, s.split) for s in active]
            if not report.splits:
                candidates.append((report.watermark, vertex, report, None))
    if not any(known_watermark(c[0]) is not None for c in candidates):
        return None
    lowest = min(candidates, key=lambda c: c[0])
    furthest = max(c[0] for c in candidates if c[0] != MAX_TIMESTAMP)
    watermark = known_watermark(lowest[0])
    if len(candidates) == 1 or lowest[0] == furthest:
        return None
    return HeldWatermark(
        lowest[1].id,
        lowest[1].name,
        lowest[2].subtask,
        lowest[3],
        watermark,
        None if watermark is None else furthest - watermark,
    )
