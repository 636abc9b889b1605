"""The stages that Spark runs: vertices in levels, subtasks as partitions, slots as processes.

A vertex is in the level of its longest path from a source. Level *l* is one stage with one
partition for every subtask of its vertices, and the partition number between levels *is* the
subtask.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.graph.ids import SlotId, SubtaskIndex, VertexId
from headrace.graph.job_graph import JobGraph


@dataclass(frozen=True)
class Partition:
    """One partition of a level: which subtask it is and which slot serves it."""

    vertex: VertexId
    subtask: SubtaskIndex
    slot: SlotId


@dataclass(frozen=True)
class Location:
    """Where a subtask's input goes: the level and the partition in it."""

    level: int
    partition: int


@dataclass(frozen=True)
class PhysicalGraph:
    """Levels of partitions, and the number of slots they need."""

    levels: tuple[tuple[Partition, ...], ...]
    slots: int

    def locations(self) -> dict[tuple[VertexId, int], Location]:
        """Level and partition of every subtask."""
        return {
            (p.vertex, p.subtask): Location(level, number)
            for level, partitions in enumerate(self.levels)
            for number, p in enumerate(partitions)
        }

    def subtasks_of(self, slot: SlotId) -> list[Partition]:
        """What lives in a slot, upstream first."""
        return [p for level in self.levels for p in level if p.slot == slot]


def build_physical_graph(job_graph: JobGraph) -> PhysicalGraph:
    """Lay the job out as a straight line of stages."""
    level_of: dict[VertexId, int] = {}
    for vertex in job_graph.vertices:
        above = [level_of[e.source_vertex] + 1 for e in vertex.in_edges]
        level_of[vertex.id] = max(above, default=0)
    first_slot = _first_slots(job_graph)
    levels: list[list[Partition]] = [[] for _ in range(max(level_of.values()) + 1)]
    for vertex in job_graph.vertices:
        base = first_slot[vertex.slot_sharing_group]
        levels[level_of[vertex.id]].extend(
            Partition(vertex.id, SubtaskIndex(i), SlotId(base + i))
            for i in range(vertex.parallelism)
        )
    return PhysicalGraph(tuple(map(tuple, levels)), sum(_group_sizes(job_graph).values()))


def _group_sizes(job_graph: JobGraph) -> dict[str, int]:
    """Slots of each sharing group: as many as its widest vertex needs."""
    sizes: dict[str, int] = {}
    for vertex in job_graph.vertices:
        group = vertex.slot_sharing_group
        sizes[group] = max(sizes.get(group, 0), vertex.parallelism)
    return sizes


def _first_slots(job_graph: JobGraph) -> dict[str, int]:
    first, total = {}, 0
    for group, size in _group_sizes(job_graph).items():
        first[group] = total
        total += size
    return first
