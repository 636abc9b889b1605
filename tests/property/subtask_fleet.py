"""Subtasks of one keyed vertex outside of any job, for tests of what snapshots have of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.ids import SlotId
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.batch import Batch
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.operator import SubtaskServices, TaskInfo
from headrace.runtime.slot.deployment import JobSettings, deployment_of
from headrace.runtime.state.factory import StateBackends, StateBackendSettings
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from headrace.runtime.subtask import Subtask

GROUPS = 8
SETTINGS = {
    "hashmap": StateBackendSettings(),
    # So few objects are cached that the database comes into being at once.
    "rocksdb": StateBackendSettings("rocksdb", RocksDBSettings(object_cache_size=2)),
}


class _Silent(SubtaskServices):
    """Nobody reads what is printed."""

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        pass


class Obeying(KeyedProcessFunction[Any, Any, Any]):
    """Does to state and timers what records say: `(key, command, argument)`."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items"))

    def process_element(self, value: Any, ctx: Any) -> None:
        _, command, argument = value
        timers = ctx.timer_service()
        if command == "put":
            self.value.update(argument)
        elif command == "remove":
            self.value.clear()
            self.items.clear()
        elif command == "add":
            self.items.add(argument)
        elif command == "set":
            timers.register_event_time_timer(argument)
        else:
            timers.delete_event_time_timer(argument)


def obeying(keyed: Any) -> DataStream[Any]:
    return keyed.process(Obeying()).uid("obeying")


class Fleet:
    """All subtasks of the vertex that a function puts on a keyed stream."""

    def __init__(
        self, backend: str, parallelism: int, build: Callable[[Any], Any] = obeying
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        env.set_max_parallelism(GROUPS)
        build(env.from_collection([]).key_by(lambda value: value[0])).print()
        graph = env.get_job_graph()
        physical = build_physical_graph(graph)
        job = pickle.loads(deployment_of(graph, physical).packed(JobSettings("0" * 32, "fleet")))
        self.subtasks: list[Subtask] = []
        for slot in range(physical.slots):
            for partition, deployment in job.subtasks_of(SlotId(slot)):
                if not deployment.vertex.is_source:
                    task = TaskInfo(
                        "0" * 32, "fleet", "v", int(partition.subtask), parallelism, GROUPS
                    )
                    subtask = Subtask(
                        deployment,
                        task,
                        _Silent(),
                        lambda: 0,
                        True,
                        StateBackends(SETTINGS[backend]),
                    )
                    self.subtasks.append(subtask)

    def open(self) -> None:
        for subtask in self.subtasks:
            subtask.open()

    def close(self) -> None:
        for subtask in self.subtasks:
            subtask.close()

    def process(self, *values: Any, timestamp: int | None = None) -> None:
        """Give records to whom their key belongs."""
        for value in values:
            group = key_group_of(value[0], GROUPS)
            subtask = self.subtasks[group * len(self.subtasks) // GROUPS]
            stamps = None if timestamp is None else [timestamp]
            channel = (subtask.vertex.in_edges[0].index, 0)
            subtask.take(channel, Batch([value], stamps, [value[0]]))

    def watermark(self, timestamp: int) -> None:
        for subtask in self.subtasks:
            subtask.head.process_watermark(timestamp)

    def timers(self) -> set[tuple[int, Any]]:
        return {timer for s in self.subtasks for timer in s.head.event_timers}

    def contents(self, state: str) -> dict[Any, Any]:
        """What a state of the function has, by key."""
        found: dict[Any, Any] = {}
        for subtask in self.subtasks:
            function: Any = subtask.head
            held = getattr(function.function, state)
            for backend in subtask.backends.values():
                for key in backend.keys(state):
                    function.cell.key = key
                    found[key] = held.value() if state == "value" else held.get()
        return found
