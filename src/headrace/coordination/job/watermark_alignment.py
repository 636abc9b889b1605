"""Sources of one alignment group wait for each other when their watermarks drift apart."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.watermark_strategy import WatermarkAlignment, WatermarkStrategy
from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.specs import SourceSpec
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.epoch import EpochReport, SubtaskKey


class WatermarkAligner:
    """Knows how far the sources have come, and how far each may go in the next epoch.

    A subtask that is idle, has ended or has nothing to read counts for nobody. One that has not
    read its first record stands at the beginning of time, so no other one runs ahead at the start.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        self._settings: dict[VertexId, WatermarkAlignment] = {}
        self._progress: dict[SubtaskKey, int | None] = {}
        self._announced: dict[VertexId, int] = {}
        self._announced_ms = 0
        for vertex in job_graph.vertices:
            alignment = _alignment_of(vertex.operators[0].spec)
            if alignment is not None:
                self._settings[vertex.id] = alignment
                for subtask in range(vertex.parallelism):
                    self._progress[vertex.id, subtask] = MIN_TIMESTAMP

    def limits(self, now_ms: int) -> dict[VertexId, int]:
        """The watermark at which each source has to wait in the next epoch."""
        self._announced, self._announced_ms = self._limits(), now_ms
        return self._announced

    def observe(self, reports: Iterable[EpochReport]) -> None:
        """Learn from an epoch."""
        for report in reports:
            key = (report.vertex, report.subtask)
            if key in self._progress:
                self._progress[key] = None if report.finished else report.aligned_watermark

    def resume_at(self) -> int | None:
        """When to run an epoch for sources that waited and may go on; None if there are none.

        Where all wait they go on at once. Where another one still reads, its epochs take them
        along, and one for them alone comes no earlier than the update interval says.
        """
        times: list[int] = []
        limits = self._limits()
        for group in {a.group for a in self._settings.values()}:
            active = self._active(group)
            waiting = [(v, w) for v, w in active if w > self._announced.get(v, MAX_TIMESTAMP)]
            ready = [v for v, w in waiting if w <= limits.get(v, MAX_TIMESTAMP)]
            all_wait = len(waiting) == len(active)
            times += [
                self._announced_ms + (0 if all_wait else self._settings[v].update_interval_ms)
                for v in ready
            ]
        return min(times, default=None)

    def _limits(self) -> dict[VertexId, int]:
        limits: dict[VertexId, int] = {}
        for vertex, alignment in self._settings.items():
            active = self._active(alignment.group)
            if len(active) > 1:
                lowest = min(watermark for _, watermark in active)
                limits[vertex] = min(lowest + alignment.max_drift_ms, MAX_TIMESTAMP)
        return limits

    def _active(self, group: str) -> list[tuple[VertexId, int]]:
        return [
            (vertex, watermark)
            for (vertex, _), watermark in self._progress.items()
            if watermark is not None and self._settings[vertex].group == group
        ]


def _alignment_of(spec: object) -> WatermarkAlignment | None:
    """The alignment of a source; None if it will never have a watermark to wait for."""
    if not isinstance(spec, SourceSpec):
        return None
    strategy: WatermarkStrategy | None = spec.watermark_strategy
    if strategy is None or strategy.kind == "none":
        return None
    periodic = strategy.kind != "generator"
    return None if periodic and spec.watermark_interval_ms <= 0 else strategy.alignment
