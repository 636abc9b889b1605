"""Enumerators of all sources of a job."""

from __future__ import annotations

from typing import Any

from headrace.datastream.connectors.base import SplitEnumerator
from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.specs import SourceSpec
from headrace.runtime.epoch import SubtaskKey


class SourceCoordinator:
    """Asks enumerators for splits before an epoch."""

    def __init__(self, job_graph: JobGraph) -> None:
        self._enumerators: dict[VertexId, SplitEnumerator] = {}
        for vertex in job_graph.vertices:
            spec = vertex.operators[0].spec
            if isinstance(spec, SourceSpec):
                self._enumerators[vertex.id] = spec.source.create_enumerator(vertex.parallelism)

    def discover(self, now_ms: int) -> dict[SubtaskKey, list[Any]]:
        """New splits for each subtask."""
        return {
            (vertex, subtask): splits
            for vertex, enumerator in self._enumerators.items()
            for subtask, splits in enumerator.discover(now_ms).items()
            if splits
        }

    @property
    def finished_vertices(self) -> frozenset[VertexId]:
        """Sources that will get no further split."""
        return frozenset(v for v, e in self._enumerators.items() if e.finished)

    def next_discovery(self, now_ms: int) -> int | None:
        """When to ask again."""
        times = [e.next_discovery(now_ms) for e in self._enumerators.values() if not e.finished]
        return min((t for t in times if t is not None), default=None)

    def snapshot(self) -> dict[VertexId, Any]:
        """State of all enumerators."""
        return {v: e.snapshot() for v, e in self._enumerators.items()}

    def restore(self, snapshot: dict[VertexId, Any]) -> None:
        """Take over the state of all enumerators, before the first discovery."""
        for vertex, enumerator in self._enumerators.items():
            enumerator.restore(snapshot[vertex])

    def close(self) -> None:
        """Close all enumerators."""
        for enumerator in self._enumerators.values():
            enumerator.close()
