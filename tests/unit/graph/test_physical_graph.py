"""Levels, partitions and slots."""

from __future__ import annotations

from headrace.graph.execution_graph import ExecutionGraph, ExecutionState
from headrace.graph.ids import SlotId
from headrace.graph.physical_graph import Location, PhysicalGraph, build_physical_graph
from headrace.testing import run_in_process
from tests.unit.graph.programs import environment, job_graph, same, vertex


def shape(physical: PhysicalGraph) -> list[list[tuple[int, int]]]:
    return [[(p.subtask, p.slot) for p in level] for level in physical.levels]


def test_one_chain_is_one_level() -> None:
    env = environment(3)
    env.from_sequence(1, 5).map(same)
    physical = build_physical_graph(job_graph(env))
    assert shape(physical) == [[(0, 0), (1, 1), (2, 2)]]
    assert physical.slots == 3


def test_subtasks_with_one_number_share_a_slot() -> None:
    env = environment(2)
    env.from_sequence(1, 5).key_by(same).map(same).set_parallelism(3).rebalance().map(same)
    physical = build_physical_graph(job_graph(env))
    assert shape(physical) == [
        [(0, 0), (1, 1)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (1, 1)],
    ]
    assert physical.slots == 3
    assert len(physical.subtasks_of(SlotId(2))) == 1
    assert len(physical.subtasks_of(SlotId(0))) == 3


def test_slot_sharing_groups_have_slots_of_their_own() -> None:
    env = environment(2)
    stream = env.from_sequence(1, 5)
    stream.map(same).slot_sharing_group("other").set_parallelism(3)
    stream.map(same).slot_sharing_group("third").set_parallelism(1)
    physical = build_physical_graph(job_graph(env))
    assert physical.slots == 6
    assert shape(physical) == [[(0, 0), (1, 1)], [(0, 2), (1, 3), (2, 4), (0, 5)]]


def skipping() -> tuple[object, object]:
    env = environment(2)
    source = env.from_sequence(1, 10).map(same).name("source")
    long = source.rebalance().map(lambda x: x * 10).name("first")
    long = long.rebalance().map(lambda x: x + 1).name("second")
    united = source.union(long).rebalance().map(same).name("united")
    return env, united


def test_a_vertex_is_below_its_longest_path() -> None:
    env, _ = skipping()
    graph = job_graph(env)  # type: ignore[arg-type]
    physical = build_physical_graph(graph)
    level_of = {p.vertex: level for level, ps in enumerate(physical.levels) for p in ps}
    names = ("source", "first", "second", "united")
    assert [level_of[vertex(graph, n).id] for n in names] == [0, 1, 2, 3]
    # The edge from the source to the last level passes two levels by.
    spans = sorted(level_of[e.target_vertex] - level_of[e.source_vertex] for e in graph.edges)
    assert spans == [1, 1, 1, 3]


def test_records_that_pass_levels_by_arrive() -> None:
    env, united = skipping()
    result = run_in_process(env, {"all": united}, epoch_records=3)  # type: ignore[arg-type, dict-item]
    expected = [*range(1, 11), *(x * 10 + 1 for x in range(1, 11))]
    assert sorted(result["all"]) == sorted(expected)


def test_several_vertices_share_a_level() -> None:
    env = environment(2)
    env.from_sequence(1, 5).name("one").print()
    env.from_sequence(1, 5).name("two").set_parallelism(1).print().set_parallelism(1)
    graph = job_graph(env)
    physical = build_physical_graph(graph)
    assert shape(physical) == [[(0, 0), (1, 1), (0, 0)]]
    assert physical.locations()[vertex(graph, "two").id, 0] == Location(0, 2)


def test_subtasks_follow_the_table_of_transitions() -> None:
    env = environment(2)
    env.from_sequence(1, 5).print()
    execution = ExecutionGraph(job_graph(env))
    subtask, other = execution
    assert subtask.name == "Source: Sequence Source -> Sink: Print to Std. Out (1/2)"
    assert not subtask.move_to(ExecutionState.RUNNING)
    execution.move_all(ExecutionState.SCHEDULED, ExecutionState.DEPLOYING, ExecutionState.RUNNING)
    assert subtask.move_to(ExecutionState.FINISHED, now=5.0)
    assert subtask.state.terminal
    assert subtask.since[ExecutionState.FINISHED] == 5.0
    assert not subtask.move_to(ExecutionState.FAILED)
    assert other.move_to(ExecutionState.CANCELING)
    counts = execution.counts()
    assert (counts["FINISHED"], counts["CANCELING"], counts["RUNNING"]) == (1, 1, 0)
    other.next_attempt()
    assert (other.attempt, other.state) == (1, ExecutionState.CREATED)
