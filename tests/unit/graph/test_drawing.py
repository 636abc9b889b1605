"""A job graph drawn for a terminal."""

from __future__ import annotations

from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.drawing import drawing_of
from headrace.graph.job_graph import build_job_graph


def drawn(env: StreamExecutionEnvironment) -> str:
    return drawing_of(build_job_graph(env.get_stream_graph(None, clear=True)))


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


def test_a_chain_leads_to_the_next() -> None:
    env = environment()
    env.from_collection([1]).map(str).key_by(lambda v: v).map(str).name("keyed").print()
    lines = drawn(env).splitlines()
    boxes = [line for line in lines if line.startswith("│")]
    assert boxes[0].startswith("│ [1] ")
    assert boxes[-1].startswith("│ [")
    assert "keyed" in boxes[-1]
    assert [line.strip() for line in lines if "hash" in line] == ["│ hash"]
    assert len({len(line) for line in lines if line[:1] in "┌│└"}) == 1


def test_what_comes_from_further_up_is_named() -> None:
    env = environment()
    one = env.from_collection([1]).map(str).name("one").disable_chaining()
    one.key_by(lambda v: v).map(str).name("two").print()
    one.rebalance().map(str).name("three").print()
    text = drawn(env)
    assert "from [" in text
    assert text.count("▼") == text.count("┌") - 1
