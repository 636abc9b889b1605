"""From the calls of a program to nodes and edges, and the ids of operators."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import GraphError
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.functions import CoMapFunction
from headrace.graph.partitioning import Broadcast, Forward, KeyBy, Rebalance, Rescale
from headrace.graph.stream_graph import StreamGraph, StreamNode
from tests.unit.graph.programs import environment, same, stream_graph


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def node(graph: StreamGraph, name: str) -> StreamNode:
    return next(n for n in graph.nodes.values() if n.name == name)


def edges(graph: StreamGraph, name: str) -> list[tuple[str, str, int]]:
    return [
        (graph.nodes[e.source].name, type(e.partitioning).__name__, e.input_index)
        for e in node(graph, name).in_edges
    ]


def test_an_empty_program_is_refused() -> None:
    with pytest.raises(GraphError, match="No operators"):
        stream_graph(environment())


def test_equal_parallelism_forwards_and_another_rebalances() -> None:
    env = environment(2)
    first = env.from_sequence(1, 5).map(same).name("first")
    second = first.map(same).name("second").set_parallelism(3)
    second.map(same).name("third")
    graph = stream_graph(env)
    assert edges(graph, "first") == [("Source: Sequence Source", "Forward", 0)]
    assert edges(graph, "second") == [("first", "Rebalance", 0)]
    assert edges(graph, "third") == [("second", "Rebalance", 0)]
    assert [n.parallelism for n in graph.nodes.values()] == [2, 2, 3, 2]


def test_partitioning_is_a_property_of_the_edge() -> None:
    env = environment(2)
    source = env.from_sequence(1, 5)
    source.rebalance().map(same).name("rebalanced")
    source.rescale().map(same).name("rescaled")
    source.broadcast().map(same).name("broadcast")
    source.key_by(same).map(same).name("keyed")
    source.rebalance().rescale().map(same).name("last counts")
    graph = stream_graph(env)
    partitionings = {
        n.name: type(n.in_edges[0].partitioning) for n in graph.nodes.values() if n.in_edges
    }
    assert partitionings == {
        "rebalanced": Rebalance,
        "rescaled": Rescale,
        "broadcast": Broadcast,
        "keyed": KeyBy,
        "last counts": Rescale,
    }
    assert {n.name for n in graph.nodes.values() if n.keyed} == {"keyed"}
    for partitioned in ("rebalance", "rescale", "shuffle", "forward", "broadcast", "global_"):
        with pytest.raises(GraphError, match="Cannot override partitioning for KeyedStream"):
            getattr(source.key_by(same), partitioned)()


def test_a_union_is_several_edges() -> None:
    env = environment(1)
    one, two = env.from_collection([1]), env.from_collection([2])
    one.union(two, one).rebalance().map(same).name("all")
    graph = stream_graph(env)
    assert [e[1:] for e in edges(graph, "all")] == [("Rebalance", 0)] * 3
    assert len({e.source for e in node(graph, "all").in_edges}) == 2


def test_two_inputs_have_their_numbers() -> None:
    env = environment(1)
    one, two = env.from_collection([1]), env.from_sequence(1, 2)
    one.connect(two).map(Both()).name("both")
    graph = stream_graph(env)
    assert edges(graph, "both") == [
        ("Source: Collection Source", "Forward", 0),
        ("Source: Sequence Source", "Forward", 1),
    ]


def test_side_outputs_are_edges_with_a_tag() -> None:
    env = environment(1)
    tag = OutputTag("late")
    main = env.from_collection([1]).map(same).name("main")
    main.get_side_output(tag).map(same).name("late ones")
    main.map(same).name("on time")
    graph = stream_graph(env)
    assert node(graph, "late ones").in_edges[0].tag == tag
    assert node(graph, "on time").in_edges[0].tag is None


def test_forward_needs_one_parallelism() -> None:
    env = environment(2)
    env.from_sequence(1, 5).forward().map(same).set_parallelism(3)
    with pytest.raises(GraphError, match="both sides need the same parallelism"):
        stream_graph(env)


def test_slot_sharing_groups_are_inherited_if_the_inputs_agree() -> None:
    env = environment(1)
    one = env.from_collection([1]).slot_sharing_group("a").map(same).name("one")
    two = env.from_collection([2]).slot_sharing_group("b").map(same).name("two")
    one.union(two).map(same).name("both")
    one.map(same).name("again").slot_sharing_group("c")
    graph = stream_graph(env)
    assert [node(graph, n).slot_sharing_group for n in ("one", "two", "both", "again")] == [
        "a",
        "b",
        "default",
        "c",
    ]


def test_max_parallelism_bounds_parallelism() -> None:
    env = environment(4)
    env.from_sequence(1, 5).map(same).set_max_parallelism(3)
    with pytest.raises(GraphError, match="max parallelism is 3"):
        stream_graph(env)


@pytest.mark.parametrize(("parallelism", "expected"), [(1, 128), (85, 128), (86, 256), (300, 512)])
def test_the_default_max_parallelism_is_flinks(parallelism: int, expected: int) -> None:
    env = environment(parallelism)
    env.from_sequence(1, 5).map(same).name("m")
    assert node(stream_graph(env), "m").max_parallelism == expected


def ids(env: StreamExecutionEnvironment) -> dict[str, str]:
    graph = stream_graph(env)
    return {n.name: graph.operator_ids[n.id] for n in graph.nodes.values()}


def program(uid: str | None = None, extra: bool = False) -> StreamExecutionEnvironment:
    env = environment(2)
    if extra:
        env.from_collection([1]).map(same).name("extra")
    stream = env.from_sequence(1, 5).map(same).name("counted")
    if uid:
        stream.uid(uid)
    stream.filter(bool).name("kept")
    return env


def test_the_same_program_has_the_same_ids() -> None:
    assert ids(program()) == ids(program())
    assert len(set(ids(program()).values())) == 3


def test_ids_do_not_depend_on_what_was_built_before() -> None:
    env = environment(2)
    env.from_collection([1]).print()
    env.get_stream_graph("first", clear=True)
    stream = env.from_sequence(1, 5).map(same).name("counted")
    stream.filter(bool).name("kept")
    assert ids(env) == ids(program())


def test_a_uid_makes_an_id_that_stays() -> None:
    with_uid, changed = ids(program("u")), ids(program("u", extra=True))
    assert with_uid["counted"] == changed["counted"]
    assert with_uid["counted"] != ids(program())["counted"]
    assert with_uid["counted"] != ids(program("v"))["counted"]


def test_a_uid_hash_is_the_id() -> None:
    env = environment(1)
    env.from_collection([1]).map(same).name("m").set_uid_hash("ab" * 16)
    assert ids(env)["m"] == "ab" * 16


def test_a_uid_belongs_to_one_operator() -> None:
    env = environment(1)
    stream = env.from_collection([1]).map(same).name("one").uid("twice")
    second = stream.map(same).name("two")
    with pytest.raises(GraphError, match="'twice' is used by 'one' and by 'two'"):
        second.uid("twice")


def test_uids_can_be_demanded() -> None:
    env = environment(1)
    env.get_config().disable_auto_generated_uids()
    env.from_collection([1]).uid("a").map(same).name("forgotten")
    with pytest.raises(GraphError, match=r"'forgotten' has no uid.*\.uid\('"):
        stream_graph(env)


def test_a_long_program_is_no_problem() -> None:
    env = environment(1)
    stream = env.from_collection([1])
    for _ in range(3_000):
        stream = stream.map(same)
    assert len(stream_graph(env).nodes) == 3_001


def test_nodes_come_after_those_before_them() -> None:
    env = environment(1)
    one, two = env.from_collection([1]), env.from_collection([2])
    late = two.map(same).map(same)
    one.union(late).map(same)
    order = list(stream_graph(env).nodes)
    graph = stream_graph(env)
    for edge in (e for n in graph.nodes.values() for e in n.in_edges):
        assert order.index(edge.source) < order.index(edge.target)
    assert isinstance(graph.nodes[order[0]].in_edges, list)
    assert all(
        isinstance(e.partitioning, Forward) for n in graph.nodes.values() for e in n.in_edges
    )
