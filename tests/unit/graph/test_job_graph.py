"""Which operators share a task."""

from __future__ import annotations

from typing import Any

from headrace.datastream import OutputTag
from headrace.datastream.functions import CoMapFunction
from headrace.graph.partitioning import Forward, Keyed
from tests.unit.graph.programs import chains, environment, job_graph, same, vertex

SEQUENCE = "Source: Sequence Source"


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def test_operators_of_one_parallelism_are_one_chain() -> None:
    env = environment()
    env.from_sequence(1, 5).map(same).name("a").filter(bool).name("b").print().name("c")
    assert chains(job_graph(env)) == [f"{SEQUENCE} -> a -> b -> Sink: c"]


def test_a_key_starts_a_chain() -> None:
    env = environment()
    env.from_sequence(1, 5).map(same).name("a").key_by(same).map(same).name("b").print().name("c")
    graph = job_graph(env)
    assert chains(graph) == [f"{SEQUENCE} -> a", "b -> Sink: c"]
    assert [o.keyed for o in vertex(graph, "b").operators] == [True, False]
    (edge,) = graph.edges
    assert isinstance(edge.partitioning, Keyed)
    assert (edge.source_vertex, edge.target_vertex) == tuple(v.id for v in graph.vertices)


def test_another_parallelism_starts_a_chain() -> None:
    env = environment()
    env.from_sequence(1, 5).map(same).name("a").set_parallelism(1).map(same).name("b")
    assert chains(job_graph(env)) == [SEQUENCE, "a", "b"]


def test_every_partitioning_but_forward_starts_a_chain() -> None:
    env = environment(1)
    stream = env.from_sequence(1, 5)
    for name in ("rebalance", "rescale", "shuffle", "broadcast", "global_"):
        stream = getattr(stream, name)().map(same).name(name)
    stream.forward().map(same).name("forward")
    assert chains(job_graph(env)) == [
        SEQUENCE,
        "rebalance",
        "rescale",
        "shuffle",
        "broadcast",
        "global_ -> forward",
    ]


def test_start_new_chain_cuts_before_the_operator() -> None:
    env = environment()
    stream = env.from_sequence(1, 5).map(same).name("a").map(same).name("b").start_new_chain()
    stream.map(same).name("c")
    assert chains(job_graph(env)) == [f"{SEQUENCE} -> a", "b -> c"]


def test_disable_chaining_cuts_on_both_sides() -> None:
    env = environment()
    stream = env.from_sequence(1, 5).map(same).name("a").map(same).name("b").disable_chaining()
    stream.map(same).name("c")
    graph = job_graph(env)
    assert chains(graph) == [f"{SEQUENCE} -> a", "b", "c"]
    assert all(isinstance(e.partitioning, Forward) for e in graph.edges)


def test_chaining_can_be_off_altogether() -> None:
    env = environment()
    env.disable_operator_chaining()
    env.from_sequence(1, 5).map(same).name("a").map(same).name("b")
    assert chains(job_graph(env)) == [SEQUENCE, "a", "b"]


def test_a_slot_sharing_group_starts_a_chain() -> None:
    env = environment()
    stream = env.from_sequence(1, 5).map(same).name("a")
    stream.map(same).name("b").slot_sharing_group("other").map(same).name("c")
    graph = job_graph(env)
    assert chains(graph) == [f"{SEQUENCE} -> a", "b -> c"]
    assert [v.slot_sharing_group for v in graph.vertices] == ["default", "other"]


def test_a_fork_stays_one_chain() -> None:
    env = environment()
    stream = env.from_sequence(1, 5).map(same).name("a")
    stream.map(same).name("b")
    stream.map(same).name("c").map(same).name("d")
    graph = job_graph(env)
    assert chains(graph) == [f"{SEQUENCE} -> a -> (b, c -> d)"]
    assert len(graph.vertices[0].chained_edges) == 4
    assert graph.edges == ()


def test_two_inputs_start_a_chain() -> None:
    env = environment()
    one, two = env.from_sequence(1, 5).name("one"), env.from_sequence(1, 5).name("two")
    one.union(two).map(same).name("union")
    one.connect(two).map(Both()).name("both")
    graph = job_graph(env)
    assert chains(graph) == ["Source: one", "Source: two", "union", "both"]
    assert [e.input_index for e in vertex(graph, "both").in_edges] == [0, 1]
    assert [e.input_index for e in vertex(graph, "union").in_edges] == [0, 0]


def test_a_stream_united_with_itself_has_two_edges() -> None:
    env = environment()
    stream = env.from_sequence(1, 5)
    stream.union(stream).map(same).name("twice")
    graph = job_graph(env)
    assert [e.index for e in vertex(graph, "twice").in_edges] == [0, 1]


def test_side_outputs_chain_too() -> None:
    env = environment()
    tag = OutputTag("side")
    stream = env.from_sequence(1, 5).map(same).name("a")
    stream.get_side_output(tag).map(same).name("b")
    stream.get_side_output(tag).rebalance().map(same).name("c")
    graph = job_graph(env)
    assert chains(graph) == [f"{SEQUENCE} -> a -> b", "c"]
    assert [e.tag for e in graph.vertices[0].chained_edges] == [None, tag]
    assert [e.tag for e in graph.edges] == [tag]


def test_a_vertex_has_the_id_of_its_first_operator() -> None:
    env = environment()
    env.from_sequence(1, 5).uid("source").map(same).uid("map")
    (chain,) = job_graph(env).vertices
    assert chain.id == chain.operators[0].operator_id
    assert [o.uid for o in chain.operators] == ["source", "map"]
    assert chain.is_source
    assert job_graph(env).vertex(chain.id) == chain
