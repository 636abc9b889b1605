"""A program at another parallelism: what changes, and what must not."""

from __future__ import annotations

import pytest

from headrace.common.errors import GraphError
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import JobGraph
from headrace.graph.partitioning import Rebalance


def a_job(parallelism: int) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    numbers = env.generate_sequence(1, 9).key_by(lambda x: x % 3)
    counted = numbers.reduce(lambda a, b: a).name("reduce")
    counted.map(str).name("fixed").set_parallelism(2).print()
    return env.get_job_graph("job")


def operators(job: JobGraph) -> dict[str, tuple[str, int, int]]:
    return {
        o.name: (o.operator_id, v.parallelism, v.max_parallelism)
        for v in job.vertices
        for o in v.operators
    }


def test_only_what_the_program_left_open_changes() -> None:
    before, after = operators(a_job(2)), operators(a_job(2).rescaled(5))
    assert {name: ids[0] for name, ids in before.items()} == {n: i[0] for n, i in after.items()}
    assert {name: found[1] for name, found in after.items() if found[1] != 5} == {"fixed": 2}
    assert all(after[name][2] == before[name][2] for name in before)


def test_edges_and_chains_follow_the_parallelism() -> None:
    job = a_job(2)
    assert [v.name for v in job.vertices][1:] == ["reduce -> fixed -> Sink: Print to Std. Out"]
    wider = job.rescaled(3)
    assert [v.name for v in wider.vertices][1:] == ["reduce", "fixed", "Sink: Print to Std. Out"]
    assert [type(e.partitioning) for e in wider.edges][1:] == [Rebalance, Rebalance]
    assert wider.rescaled(2).vertices == job.vertices


def test_a_batch_job_and_too_many_subtasks_are_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH).set_parallelism(1)
    env.from_collection([1]).key_by(lambda x: x).reduce(lambda a, b: a).print()
    with pytest.raises(GraphError, match="batch mode"):
        env.get_job_graph("job").rescaled(2)
    with pytest.raises(GraphError, match="has 128 key groups"):
        a_job(1).rescaled(129)
