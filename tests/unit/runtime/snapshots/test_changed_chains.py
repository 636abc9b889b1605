"""Operators that were in chains of their own when they were saved, and are in one chain now."""

from __future__ import annotations

from typing import Any

from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.graph.ids import SlotId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.operator import SubtaskServices, TaskInfo
from headrace.runtime.slot.deployment import deployment_of
from headrace.runtime.snapshots.subtasks import restore_subtask
from headrace.runtime.subtask import Subtask
from headrace.testing.runner import MiniRunner
from headrace.testing.snapshots import snapshot_subtask

NAMES = ("a", "b")
RECORDS = 5


class Listing(MapFunction[Any, Any], CheckpointedFunction):
    """Keeps what it has seen in operator state."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: int) -> int:
        self.seen.add(value)
        return value


def program(chained: bool) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream: Any = env.from_collection(list(range(RECORDS))).uid("numbers")
    for name in NAMES:
        stream = stream.map(Listing()).uid(name).name(name)
        if not chained:
            stream = stream.disable_chaining()
    stream.print().uid("printing")
    return env.get_job_graph()


def fresh_subtask(graph: JobGraph) -> Subtask:
    """The one that the whole job is."""
    deployment = deployment_of(graph, build_physical_graph(graph))
    ((_, vertex),) = deployment.subtasks_of(SlotId(0))
    task = TaskInfo("0" * 32, "job", vertex.vertex.name, 0, 1, vertex.vertex.max_parallelism)
    return Subtask(vertex, task, SubtaskServices(), lambda: 0)


def test_operator_state_of_several_vertices_comes_together_in_one() -> None:
    before = MiniRunner(program(chained=False), epoch_records=RECORDS)
    before.open()
    before.run_epoch()
    snapshots = [snapshot_subtask(s) for s in before.subtasks.values()]
    before.close(quietly=True)
    assert len(snapshots) > 2
    subtask = fresh_subtask(program(chained=True))
    restore_subtask(subtask, snapshots)
    subtask.open()
    functions = [getattr(o, "function", None) for o in subtask.operators.values()]
    seen = [list(f.seen.get()) for f in functions if isinstance(f, Listing)]
    subtask.close()
    assert seen == [list(range(RECORDS))] * len(NAMES)
