"""Which operators of a checkpoint a program has to have: those that had state, and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.common.errors import CheckpointError
from headrace.coordination.checkpoint_store import (
    CompletedCheckpoint,
    OperatorEntry,
    SourceEntry,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.graph.ids import CheckpointId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.snapshot_files import write_snapshot
from headrace.runtime.snapshots.subtasks import take_snapshot
from headrace.runtime.storage import Storages
from headrace.testing.runner import MiniRunner

STATELESS = ("plain", "keyed without state", "printing")
STATEFUL = ("numbers", "counting", "listing", "timing")


class Counting(KeyedProcessFunction[Any, Any, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Passing(KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        yield value


class Timing(Passing):
    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        ctx.timer_service().register_event_time_timer(1 << 50)
        yield value


class Listing(MapFunction[Any, Any], CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: int) -> int:
        self.seen.add(value)
        return value


def program(without: Collection[str] = ()) -> JobGraph:
    """A program with operators of every kind, some of which may be left out or renamed."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    def uid(name: str) -> str:
        return f"another {name}" if name in without else name

    stream: Any = env.from_collection(list(range(20))).uid(uid("numbers"))
    if "plain" not in without:
        stream = stream.map(lambda value: value).uid("plain")
    stream = stream.map(Listing()).uid(uid("listing"))
    stream = stream.key_by(lambda value: value % 3).process(Counting()).uid(uid("counting"))
    stream = stream.key_by(lambda value: value % 3).process(Timing()).uid(uid("timing"))
    if "keyed without state" not in without:
        keyed = stream.key_by(lambda value: value % 3)
        stream = keyed.process(Passing()).uid("keyed without state")
    stream.print().uid(uid("printing"))
    return env.get_job_graph()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> CompletedCheckpoint:
    """Of the program in the middle of its work."""
    directory = tmp_path_factory.mktemp("checkpoint")
    graph = program()
    runner = MiniRunner(graph, epoch_records=10)
    runner.open()
    runner.run_epoch()
    operators = []
    for (vertex_id, _), subtask in runner.subtasks.items():
        file = f"{vertex_id}-0.snapshot"
        snapshot = take_snapshot(subtask, CheckpointId(1)).serialized()
        write_snapshot(Storages().of(str(directory)), str(directory / file), snapshot)
        operators += [
            OperatorEntry(o.operator_id, o.uid, o.name, 1, subtask.task.max_parallelism, (file,))
            for o in graph.vertex(vertex_id).operators
        ]
    runner.close()
    source = operators[0].operator_id
    return CompletedCheckpoint(
        CheckpointId(1),
        str(directory),
        "job",
        0,
        False,
        tuple(operators),
        {source: SourceEntry(None, {})},
    )


def test_the_program_itself_has_all(checkpoint: CompletedCheckpoint) -> None:
    assert len(checkpoint.files_for(program(), False)) == len(STATELESS + STATEFUL)


@pytest.mark.parametrize("gone", STATELESS)
def test_nobody_misses_what_had_no_state(checkpoint: CompletedCheckpoint, gone: str) -> None:
    files = checkpoint.files_for(program(without=[gone]), False)
    assert len(files) == len(STATELESS + STATEFUL) - 1


@pytest.mark.parametrize("gone", STATEFUL)
def test_state_that_nobody_claims_is_refused(checkpoint: CompletedCheckpoint, gone: str) -> None:
    other = program(without=[gone])
    with pytest.raises(CheckpointError, match=f"uid '{gone}'"):
        checkpoint.files_for(other, False)
    assert checkpoint.files_for(other, True)


def test_what_is_chained_to_a_source_in_one_subtask_can_be_rescaled(
    checkpoint: CompletedCheckpoint,
) -> None:
    listing = next(o for o in checkpoint.operators if o.uid == "listing")
    assert listing.max_parallelism == 128
    # One that an older version has saved.
    older = tuple(
        replace(o, max_parallelism=1) if o.uid == "listing" else o for o in checkpoint.operators
    )
    assert replace(checkpoint, operators=older).files_for(program(), allow_unmatched=False)


def test_the_number_of_key_groups_of_keyed_state_cannot_change(
    checkpoint: CompletedCheckpoint,
) -> None:
    other = tuple(replace(o, max_parallelism=64) for o in checkpoint.operators)
    with pytest.raises(CheckpointError, match="saved with max parallelism 64"):
        replace(checkpoint, operators=other).files_for(program(), allow_unmatched=False)
