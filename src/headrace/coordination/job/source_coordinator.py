"""Enumerators of all sources of a job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.datastream.connectors.base import SplitEnumerator
from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.specs import SourceSpec
from headrace.runtime.epoch import EpochReport, SubtaskKey


class SourceCoordinator:
    """Asks enumerators for splits before an epoch."""

    def __init__(self, job_graph: JobGraph) -> None:
        self._enumerators: dict[VertexId, SplitEnumerator] = {}
        self._parallelism: dict[VertexId, int] = {}
        self._returned: dict[SubtaskKey, list[Any]] = {}
        self._found: dict[SubtaskKey, list[Any]] = {}
        for vertex in job_graph.vertices:
            spec = vertex.operators[0].spec
            if isinstance(spec, SourceSpec):
                self._enumerators[vertex.id] = spec.source.create_enumerator(vertex.parallelism)
                self._parallelism[vertex.id] = vertex.parallelism

    def discover(self, now_ms: int) -> dict[SubtaskKey, list[Any]]:
        """New splits for each subtask."""
        found, self._found = self._found, {}
        return found or self._ask(now_ms)

    def look(self, now_ms: int) -> bool:
        """Look for splits that the next discovery gives out; whether there is any news."""
        finished = self.finished_vertices
        self._found = self._ask(now_ms)
        return bool(self._found) or finished != self.finished_vertices

    def _ask(self, now_ms: int) -> dict[SubtaskKey, list[Any]]:
        found, self._returned = self._returned, {}
        for vertex, enumerator in self._enumerators.items():
            for subtask, splits in enumerator.discover(now_ms).items():
                if splits:
                    found[vertex, subtask] = [*found.get((vertex, subtask), []), *splits]
        return found

    def observe(self, reports: Iterable[EpochReport]) -> None:
        """Tell enumerators whose splits were all read, after an epoch."""
        reading = {r.vertex for r in reports if r.source and not r.exhausted}
        for vertex, enumerator in self._enumerators.items():
            if vertex not in reading:
                enumerator.on_all_read()

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

    def restore(
        self,
        snapshot: dict[VertexId, Any],
        splits: dict[VertexId, dict[int, list[Any]]] | None = None,
    ) -> None:
        """Take over the state of all enumerators, before the first discovery.

        Args:
            snapshot: State by source; a source that is not in it starts from the beginning.
            splits: What each subtask was reading, with positions; dealt out again with the next
                discovery.
        """
        for vertex, enumerator in self._enumerators.items():
            if vertex in snapshot:
                enumerator.restore(snapshot[vertex])
        for vertex, by_subtask in (splits or {}).items():
            if vertex in self._parallelism:
                self._returned.update(self._dealt(vertex, by_subtask))

    def _dealt(
        self, vertex: VertexId, by_subtask: dict[int, list[Any]]
    ) -> dict[SubtaskKey, list[Any]]:
        """Splits to the subtasks that had them; in turn to all if their number has changed."""
        parallelism = self._parallelism[vertex]
        if len(by_subtask) == parallelism:
            return {(vertex, subtask): splits for subtask, splits in by_subtask.items()}
        dealt: dict[SubtaskKey, list[Any]] = {}
        everything = [s for _, splits in sorted(by_subtask.items()) for s in splits]
        for number, split in enumerate(everything):
            dealt.setdefault((vertex, number % parallelism), []).append(split)
        return dealt

    def close(self) -> None:
        """Close all enumerators."""
        for enumerator in self._enumerators.values():
            enumerator.close()
