"""Asynchronous I/O: order, capacity, timeouts, retries, errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, JobExecutionError
from headrace.common.time import Time
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.async_retry_predicates import has_exception_predicate
from headrace.datastream.async_retry_strategies import FixedDelayRetryStrategy
from headrace.datastream.functions import AsyncFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process


class Sleeper(AsyncFunction[int, Any]):
    """Sleeps for as many milliseconds as the record says; knows how many slept at once."""

    running = 0
    most = 0

    async def async_invoke(self, value: int) -> list[Any]:
        type(self).running += 1
        type(self).most = max(type(self).most, type(self).running)
        await asyncio.sleep(value / 1000)
        type(self).running -= 1
        return [value]


class WithFallback(Sleeper):
    def timeout(self, value: int) -> list[Any]:
        return [("late", value)]


class FailsTwice(AsyncFunction[int, int]):
    def __init__(self) -> None:
        self.calls: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        self.calls[value] = self.calls.get(value, 0) + 1
        if self.calls[value] < 3:
            raise ConnectionError("try again")
        return [value]


class Wrong(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> Any:
        return value


def run(values: list[int], apply: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = apply(env.from_collection(values))
    return run_in_process(env, {"out": stream})["out"]


def test_ordered_results_keep_the_order_of_records() -> None:
    values = [30, 1, 20, 2]
    out = run(values, lambda s: AsyncDataStream.ordered_wait(s, Sleeper(), Time.seconds(10), 4))
    assert out == values


def test_unordered_results_come_as_they_are_ready() -> None:
    values = [200, 1, 100, 2]
    out = run(values, lambda s: AsyncDataStream.unordered_wait(s, Sleeper(), 10_000, 4))
    assert out == sorted(values)


@pytest.mark.parametrize("capacity", [1, 3])
def test_no_more_calls_than_the_capacity_are_in_flight(capacity: int) -> None:
    class Counted(Sleeper):
        running = 0
        most = 0

        async def async_invoke(self, value: int) -> list[Any]:
            results = await super().async_invoke(value)
            assert type(self).most <= capacity
            return [*results, type(self).most]

    out = run(
        [2] * 10, lambda s: AsyncDataStream.ordered_wait(s, Counted(), Time.seconds(10), capacity)
    )
    assert max(out[1::2]) == capacity


def test_a_slow_call_times_out_and_the_function_says_what_then() -> None:
    out = run([1, 500], lambda s: AsyncDataStream.ordered_wait(s, WithFallback(), 50, 2))
    assert out == [1, ("late", 500)]


def test_a_timeout_of_zero_means_any_time() -> None:
    assert run([20], lambda s: AsyncDataStream.ordered_wait(s, Sleeper(), 0, 2)) == [20]


def test_without_a_fallback_a_timeout_fails_the_job() -> None:
    with pytest.raises(JobExecutionError, match="timed out") as failed:
        run([500], lambda s: AsyncDataStream.ordered_wait(s, Sleeper(), 20, 2))
    assert failed.value.record == "500"


def test_failed_calls_are_tried_again() -> None:
    strategy = FixedDelayRetryStrategy(5, 1, None, has_exception_predicate)
    out = run(
        [1, 2],
        lambda s: AsyncDataStream.ordered_wait_with_retry(s, FailsTwice(), 5_000, strategy, 2),
    )
    assert out == [1, 2]


def test_the_last_failure_counts_when_retries_are_used_up() -> None:
    strategy = FixedDelayRetryStrategy(1, 1, None, has_exception_predicate)
    with pytest.raises(JobExecutionError, match="ConnectionError: try again"):
        run(
            [1],
            lambda s: AsyncDataStream.unordered_wait_with_retry(
                s, FailsTwice(), 5_000, strategy, 2
            ),
        )


def test_a_result_that_is_no_list_is_explained() -> None:
    with pytest.raises(JobExecutionError, match="must return a list"):
        run([1], lambda s: AsyncDataStream.ordered_wait(s, Wrong(), 5_000))


def test_a_text_is_a_list_of_characters_as_in_pyflink() -> None:
    class Spelled(AsyncFunction[int, str]):
        async def async_invoke(self, value: int) -> Any:
            return "ab"

    assert run([1], lambda ds: AsyncDataStream.ordered_wait(ds, Spelled(), Time.seconds(1))) == [
        "a",
        "b",
    ]


def test_wrong_arguments_fail_while_the_program_is_built() -> None:
    class NotAsync(AsyncFunction[int, int]):
        def async_invoke(self, value: int) -> Any:
            return [value]

    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])
    with pytest.raises(FunctionTypeError, match="async def"):
        AsyncDataStream.ordered_wait(stream, NotAsync(), 10)
    strategy = FixedDelayRetryStrategy(5, 1, None, has_exception_predicate)
    with pytest.raises(GraphError, match="Timeout should be configured"):
        AsyncDataStream.ordered_wait_with_retry(stream, Sleeper(), 0, strategy)
    with pytest.raises(GraphError, match="capacity"):
        AsyncDataStream.ordered_wait(stream, Sleeper(), 10, 0)
