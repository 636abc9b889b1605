"""The sink of execute_and_collect: it runs where its stream is made, so that the order stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.graph.stream_graph import StreamGraph, StreamNode


class Collecting(StreamExecutionEnvironment):
    """Keeps the program instead of running it."""

    def execute_collecting(self, collect_id: str, job_name: str | None) -> Any:
        return iter(())


@pytest.fixture
def env() -> Collecting:
    made = Collecting()
    made.set_parallelism(4)
    return made


def sink_of(env: StreamExecutionEnvironment, stream: DataStream[Any]) -> tuple[StreamGraph, Any]:
    stream.execute_and_collect()
    graph = env.get_stream_graph()
    sink: StreamNode = next(
        n for n in graph.nodes.values() if n.name == "Sink: Data stream collect sink"
    )
    return graph, sink


def test_the_sink_has_the_parallelism_of_its_stream(env: Collecting) -> None:
    graph, sink = sink_of(env, env.from_collection([1, 2, 3]))
    assert sink.parallelism == 1
    (edge,) = sink.in_edges
    assert type(edge.partitioning).__name__ == "Forward"
    assert graph.nodes[edge.source].parallelism == 1


def test_an_operator_without_a_parallelism_leaves_the_sink_without_one(env: Collecting) -> None:
    _, sink = sink_of(env, env.from_sequence(1, 9).map(lambda x: x))
    assert sink.parallelism == 4


def test_the_maximum_comes_along(env: Collecting) -> None:
    env.set_max_parallelism(8)
    stream = env.from_sequence(1, 9).map(lambda x: x).set_max_parallelism(64).set_parallelism(16)
    _, sink = sink_of(env, stream)
    assert (sink.parallelism, sink.max_parallelism) == (16, 64)


def test_a_keyed_stream_is_collected_where_its_records_are_made(env: Collecting) -> None:
    stream = env.from_sequence(1, 9).map(lambda x: x).set_parallelism(2)
    _, sink = sink_of(env, stream.key_by(lambda x: x))
    assert sink.parallelism == 2


def test_a_side_output_is_collected_where_it_is_made(env: Collecting) -> None:
    stream = env.from_sequence(1, 9).map(lambda x: x).set_parallelism(2)
    _, sink = sink_of(env, stream.get_side_output(OutputTag("late")))
    assert sink.parallelism == 2


def test_a_stream_that_was_dealt_out_anew_has_the_default(env: Collecting) -> None:
    _, sink = sink_of(env, env.from_collection([1, 2, 3]).rebalance())
    assert sink.parallelism == 4


def test_a_float_is_collected_with_the_fewest_digits() -> None:
    found: list[Any] = []
    context: Any = SimpleNamespace(collect=lambda collect_id, values: found.extend(values))
    exact = 0.10000000149011612
    for type_info, value in [
        (Types.FLOAT(), exact),
        (Types.TUPLE([Types.FLOAT(), Types.DOUBLE()]), (exact, exact)),
        (None, exact),
    ]:
        CollectSink("c", type_info).create_writer(context).write([value], None)
    assert found == [0.1, (0.1, exact), exact]


def test_the_sink_knows_the_type_of_its_stream(env: Collecting) -> None:
    _, sink = sink_of(env, env.from_collection([0.1], Types.FLOAT()))
    assert sink.spec.sink.type_info == Types.FLOAT()
