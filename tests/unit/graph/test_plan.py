"""A program in writing: Flink's JSON, and text."""

from __future__ import annotations

import json

from headrace.datastream import OutputTag
from headrace.graph.plan import plan_text
from tests.unit.graph.programs import environment, same, stream_graph


def test_the_json_has_flinks_fields() -> None:
    env = environment(2)
    stream = env.from_sequence(1, 5).map(same).name("a").set_description("does nothing")
    stream.print().name("out")
    stream.key_by(same).map(same).name("b")
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [(n["type"], n["pact"]) for n in nodes] == [
        ("Source: Sequence Source", "Data Source"),
        ("a", "Operator"),
        ("_stream_key_by_map_operator", "Operator"),
        ("b", "Operator"),
        ("Sink: out", "Data Sink"),
    ]
    assert "predecessors" not in nodes[0]
    by_name = {n["type"]: n for n in nodes}
    assert by_name["a"]["contents"] == "does nothing"
    assert by_name["b"]["contents"] == "b"
    assert by_name["b"]["parallelism"] == 2
    key = by_name["_stream_key_by_map_operator"]
    assert by_name["b"]["predecessors"] == [
        {"id": key["id"], "ship_strategy": "HASH", "side": "second"}
    ]
    assert key["predecessors"] == [
        {"id": by_name["a"]["id"], "ship_strategy": "FORWARD", "side": "second"}
    ]


def test_asking_for_the_plan_leaves_the_program_alone() -> None:
    env = environment(1)
    env.from_sequence(1, 5).map(same)
    assert env.get_execution_plan() == env.get_execution_plan()
    assert env.explain() == env.explain()


def test_the_text_shows_levels_chains_and_partitioning() -> None:
    env = environment(2)
    late = OutputTag("late")
    stream = env.from_sequence(1, 5).map(same).name("a").uid("my-a")
    counted = stream.key_by(same).map(same).name("b")
    other = stream.get_side_output(late).rebalance().map(same).name("c").slot_sharing_group("x")
    counted.union(other).map(same).name("d").set_parallelism(1)
    assert plan_text(stream_graph(env)).splitlines() == [
        "Job 'job': 5 operators in 4 vertices, 7 subtasks in 4 slots, 3 levels",
        "Level 0",
        "  [1] Source: Sequence Source -> a  (x2)",
        "      uids: my-a",
        "Level 1",
        "  [2] b  (x2)",
        "      <- hash from [1] (x2)",
        "  [3] c  (x2, slot sharing group 'x')",
        "      <- rebalance from [1] (x2), side output 'late'",
        "Level 2",
        "  [4] d  (x1)",
        "      <- rebalance from [2] (x2)",
        "      <- rebalance from [3] (x2)",
    ]
