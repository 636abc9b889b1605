"""Two streams as inputs of one function: what is refused while a program is built."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import Types
from headrace.datastream import (
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.testing import collect


class Sides(CoMapFunction):
    def map1(self, value: Any) -> str:
        return f"left {value}"

    def map2(self, value: Any) -> str:
        return f"right {value}"


class Nothing(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return []

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return []


@pytest.fixture
def streams() -> tuple[DataStream[int], DataStream[str]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([1, 2], Types.INT()), env.from_collection(["a"], Types.STRING())


def test_a_function_gets_the_records_of_both(streams: Any) -> None:
    numbers, letters = streams
    both = numbers.connect(letters).map(Sides(), Types.STRING())
    assert both.get_type() == Types.STRING()
    assert sorted(collect(both)) == ["left 1", "left 2", "right a"]


def test_either_both_are_keyed_or_neither_is(streams: Any) -> None:
    numbers, letters = streams
    with pytest.raises(GraphError, match="call key_by\\(\\) on both"):
        numbers.key_by(lambda n: n).connect(letters).map(Sides())


def test_a_keyed_function_needs_keys(streams: Any) -> None:
    numbers, letters = streams
    with pytest.raises(FunctionTypeError, match="needs keyed streams"):
        numbers.connect(letters).process(Nothing())
    keyed = numbers.connect(letters).key_by(lambda n: n, lambda letter: letter)
    assert keyed.process(Nothing()).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_streams_of_other_programs_are_refused(streams: Any) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(GraphError, match="different environments"):
        streams[0].connect(other)
    with pytest.raises(FunctionTypeError, match="takes a DataStream"):
        streams[0].connect([1])
