"""Subtasks and their states: what the job master keeps of a running job."""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.graph.ids import SubtaskIndex, VertexId
from headrace.graph.job_graph import JobGraph, JobVertex


class ExecutionState(enum.Enum):
    """Life of a subtask, as in Flink."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    @property
    def terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = {ExecutionState.FINISHED, ExecutionState.CANCELED, ExecutionState.FAILED}

_S = ExecutionState
TRANSITIONS: dict[ExecutionState, frozenset[ExecutionState]] = {
    _S.CREATED: frozenset({_S.SCHEDULED, _S.CANCELED, _S.FAILED}),
    _S.SCHEDULED: frozenset({_S.DEPLOYING, _S.CANCELED, _S.FAILED}),
    _S.DEPLOYING: frozenset({_S.RUNNING, _S.CANCELING, _S.FAILED}),
    _S.RUNNING: frozenset({_S.FINISHED, _S.CANCELING, _S.FAILED}),
    _S.CANCELING: frozenset({_S.CANCELED, _S.FAILED}),
    _S.FINISHED: frozenset(),
    _S.CANCELED: frozenset(),
    _S.FAILED: frozenset(),
}


@dataclass
class ExecutionSubtask:
    """One of the parallel instances of a vertex, in its present attempt."""

    vertex: JobVertex
    index: SubtaskIndex
    attempt: int = 0
    state: ExecutionState = ExecutionState.CREATED
    since: dict[ExecutionState, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.vertex.name} ({self.index + 1}/{self.vertex.parallelism})"

    def move_to(self, state: ExecutionState, now: float | None = None) -> bool:
        """Follow a transition if the table has it; a subtask that has ended stays as it is."""
        if state not in TRANSITIONS[self.state]:
            return False
        self.state = state
        self.since[state] = time.time() if now is None else now
        return True

    def next_attempt(self) -> None:
        """Start over after a failure."""
        self.attempt += 1
        self.state = ExecutionState.CREATED
        self.since = {}


class ExecutionGraph:
    """All subtasks of a job."""

    def __init__(self, job_graph: JobGraph) -> None:
        self.job_graph = job_graph
        self.subtasks: dict[tuple[VertexId, SubtaskIndex], ExecutionSubtask] = {
            (vertex.id, SubtaskIndex(i)): ExecutionSubtask(vertex, SubtaskIndex(i))
            for vertex in job_graph.vertices
            for i in range(vertex.parallelism)
        }

    def __iter__(self) -> Iterator[ExecutionSubtask]:
        return iter(self.subtasks.values())

    def move_all(self, *states: ExecutionState) -> None:
        """Take every subtask through these states, where its own state allows it."""
        for subtask in self:
            for state in states:
                subtask.move_to(state)

    def counts(self) -> dict[str, int]:
        """How many subtasks are in each state."""
        counts = {state.value: 0 for state in ExecutionState}
        for subtask in self:
            counts[subtask.state.value] += 1
        return counts
