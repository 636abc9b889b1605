"""Event time of a job, and who holds it back."""

from __future__ import annotations

from typing import Any

from headrace.coordination.job.figures import known_watermark
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.vertex_details import report_of, subtasks_of
from headrace.graph.job_graph import JobVertex
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.runtime.epoch import EpochReport

__all__ = ["vertex_watermarks", "watermarks_of"]


def vertex_watermarks(master: JobMaster, vertex: JobVertex) -> list[dict[str, str]]:
    """As Flink's `/jobs/:id/vertices/:id/watermarks`."""
    found = [(s.index, report_of(master, s)) for s in subtasks_of(master, vertex)]
    return [
        {"id": f"{index}.currentInputWatermark", "value": str(report.watermark)}
        for index, report in found
        if report is not None
    ]


def watermarks_of(master: JobMaster) -> dict[str, Any]:
    """Watermarks of all subtasks and splits, and the one that the job waits for."""
    vertices = [_vertex(master, v) for v in master.job_graph.vertices]
    known = [v["watermark"] for v in vertices if v["watermark"] is not None]
    return {
        "watermark": min(known, default=None),
        "held-back-by": _held_back_by(master),
        "vertices": vertices,
    }


def _vertex(master: JobMaster, vertex: JobVertex) -> dict[str, Any]:
    subtasks = [_subtask(int(s.index), report_of(master, s)) for s in subtasks_of(master, vertex)]
    known = [s["watermark"] for s in subtasks if s["watermark"] is not None]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "watermark": min(known, default=None),
        "subtasks": subtasks,
    }


def _subtask(index: int, report: EpochReport | None) -> dict[str, Any]:
    return {
        "subtask": index,
        "watermark": known_watermark(report.watermark) if report else None,
        "splits": [
            {"id": s.split, "watermark": known_watermark(s.watermark), "idle": s.idle}
            for s in (report.splits if report else ())
        ],
    }


def _held_back_by(master: JobMaster) -> dict[str, Any] | None:
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
    return {
        "vertex": lowest[1].id,
        "name": lowest[1].name,
        "subtask": lowest[2].subtask,
        "split": lowest[3],
        "watermark": watermark,
        "behind-ms": None if watermark is None else furthest - watermark,
    }
