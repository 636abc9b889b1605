from __future__ import annotations

import datetime as dt
import sys
from itertools import pairwise
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RandomGenerator,
    RateLimiterStrategy,
    RowGenerator,
    SequenceGenerator,
)
from tests.unit.datastream.connectors.reading import (
    FakeReaderContext,
    drain,
    opened,
    read_all,
    resumed,
)


def squares(count: int, rate: RateLimiterStrategy | None = None) -> DataGeneratorSource:
    return DataGeneratorSource(lambda i: i * i, count, rate)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7])
def test_every_index_once_whatever_the_parallelism(parallelism: int) -> None:
    read = read_all(squares(5), parallelism)
    assert sorted(v for part in read for v in part) == [0, 1, 4, 9, 16]


def test_a_practically_endless_source() -> None:
    reader = opened(squares(sys.maxsize), FakeReaderContext(1, 2))
    batch = reader.poll(1)
    assert batch is not None
    assert batch.values == [(sys.maxsize // 2) ** 2]
    assert not reader.exhausted


def test_resumes_after_the_last_record() -> None:
    source = squares(10)
    reader = opened(source)
    reader.poll(4)
    assert drain(resumed(source, reader)) == [16, 25, 36, 49, 64, 81]


def test_an_empty_source_ends() -> None:
    assert drain(opened(squares(0))) == []


def test_a_generator_function_is_opened_and_closed() -> None:
    class Named(GeneratorFunction[str]):
        def open(self, runtime_context: Any) -> None:
            self.name = runtime_context

        def map(self, value: int) -> str:
            return f"{self.name} {value}"

        def close(self) -> None:
            self.name = "closed"

    function = Named()
    reader = opened(DataGeneratorSource(function, 1))
    assert drain(reader) == ["runtime context of 0 0"]
    reader.close()
    assert function.name == "closed"


def test_an_error_names_the_index() -> None:
    reader = opened(DataGeneratorSource(lambda i: 1 // (3 - i), 10))
    with pytest.raises(ZeroDivisionError) as caught:
        reader.poll(10)
    assert caught.value.__notes__ == ["while generating the record with index 3"]


def test_stop_iteration_is_no_end() -> None:
    reader = opened(DataGeneratorSource(lambda i: next(iter(())), 10))
    with pytest.raises(RuntimeError, match="StopIteration"):
        reader.poll(10)


def test_the_rate_is_shared_among_subtasks_and_nothing_spins() -> None:
    context = FakeReaderContext(0, 2, now=1000)
    reader = opened(squares(1000, RateLimiterStrategy.per_second(20)), context)
    read = []
    for context.now in range(1000, 11_000):
        batch = reader.poll(100)
        if batch is not None:
            read.append((context.now, len(batch.values)))
    assert sum(n for _, n in read) == 100
    assert read[0] == (1000, 1)
    assert [b - a for (a, _), (b, _) in pairwise(read)] == [100] * 99


def test_the_reader_says_when_the_next_record_is_due() -> None:
    context = FakeReaderContext(now=1000)
    reader = opened(squares(1000, RateLimiterStrategy.per_second(2)), context)
    assert reader.poll(10) is not None
    assert reader.poll(10) is None
    assert reader.available_at(1000) == 1500
    context.now = 1499
    assert reader.poll(10) is None
    assert reader.available_at(1499) == 1549  # no sooner than after a short pause
    context.now = 1500
    assert reader.poll(10) is not None


def test_a_high_rate_comes_several_at_a_time() -> None:
    context = FakeReaderContext(now=0)
    reader = opened(squares(10**9, RateLimiterStrategy.per_second(100_000)), context)
    reader.poll(10)
    assert reader.available_at(0) == 50
    context.now = 50
    batch = reader.poll(10_000)
    assert batch is not None
    assert len(batch.values) == 5000


def test_what_a_held_up_reader_may_catch_up_is_limited() -> None:
    context = FakeReaderContext(now=0)
    reader = opened(squares(10**9, RateLimiterStrategy.per_second(10)), context)
    reader.poll(10)
    context.now = 3_600_000
    batch = reader.poll(10_000)
    assert batch is not None
    assert len(batch.values) == 20


def test_without_a_limit_there_is_nothing_to_wait_for() -> None:
    reader = opened(squares(3, RateLimiterStrategy.no_op()))
    assert reader.available_at(0) is None
    assert drain(reader) == [0, 1, 4]


def test_the_declared_type_is_that_of_the_stream() -> None:
    source = DataGeneratorSource(str, 1, type_info=Types.STRING())
    assert source.produced_type == Types.STRING()


def test_random_values_are_in_range_and_the_same_again() -> None:
    indices = range(2000)
    numbers = [RandomGenerator.int_generator(-3, 3).map(i) for i in indices]
    assert set(numbers) == set(range(-3, 4))
    assert numbers == [RandomGenerator.int_generator(-3, 3).map(i) for i in indices]
    assert numbers != [RandomGenerator.int_generator(-3, 3, seed=1).map(i) for i in indices]
    floats = [RandomGenerator.float_generator(2.0, 4.0).map(i) for i in indices]
    assert 2.0 <= min(floats) < 2.1
    assert 3.9 < max(floats) < 4.0
    assert {RandomGenerator.boolean_generator().map(i) for i in indices} == {True, False}
    texts = {RandomGenerator.string_generator(8, "ab").map(i) for i in indices}
    assert {len(t) for t in texts} == {8}
    assert len(texts) > 200
    assert {RandomGenerator.choice_generator("xyz").map(i) for i in indices} == set("xyz")


def test_sequences_and_rows() -> None:
    assert [SequenceGenerator(5, 2, 9).map(i) for i in range(5)] == [5, 7, 9, 5, 7]
    rows = RowGenerator(id=SequenceGenerator(1), half=SequenceGenerator(0.0, 0.5))
    assert [r.as_dict() for r in map(rows.map, range(2))] == [
        {"id": 1, "half": 0.0},
        {"id": 2, "half": 0.5},
    ]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: DataGeneratorSource(1, 1), FunctionTypeError),  # type: ignore[arg-type]
        (lambda: DataGeneratorSource(str, 1.5), FunctionTypeError),  # type: ignore[arg-type]
        (lambda: DataGeneratorSource(str, -1), GraphError),
        (lambda: DataGeneratorSource(str, 1, 100), FunctionTypeError),  # type: ignore[arg-type]
        (lambda: RateLimiterStrategy.per_second(0), GraphError),
        (lambda: RateLimiterStrategy.per_second("1"), FunctionTypeError),  # type: ignore[arg-type]
        (lambda: RandomGenerator.int_generator(2, 1), GraphError),
        (lambda: RandomGenerator.choice_generator([]), GraphError),
    ],
)
def test_wrong_arguments(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


BITS = range(2_000)
UNTIL = dt.datetime(2024, 2, 29, 12)


@pytest.mark.parametrize(
    ("generator", "fits"),
    [
        (RandomGenerator.short_generator(-3, 3), lambda v: -3 <= v <= 3),
        (RandomGenerator.byte_generator(0, 9), lambda v: 0 <= v <= 9),
        (
            RandomGenerator.decimal_generator(20, 2),
            lambda v: 0 <= v < 10**18 and v.as_tuple().exponent == -2,
        ),
        (RandomGenerator.bytes_generator(5), lambda v: isinstance(v, bytes) and len(v) == 5),
        (
            RandomGenerator.string_generator(9, variable_length=True),
            lambda v: isinstance(v, str) and 1 <= len(v) <= 9,
        ),
        (
            RandomGenerator.date_generator(dt.date(2024, 2, 28), dt.date(2024, 3, 1)),
            lambda v: v in {dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)},
        ),
        (RandomGenerator.time_generator(), lambda v: isinstance(v, dt.time)),
        (
            RandomGenerator.timestamp_generator(dt.timedelta(hours=1), UNTIL),
            lambda v: UNTIL - dt.timedelta(hours=1) <= v <= UNTIL,
        ),
        (
            RandomGenerator.instant_generator(dt.timedelta(seconds=1), Instant(100, 0)),
            lambda v: 99_000 <= v.to_epoch_milli() <= 100_000,
        ),
        (
            RandomGenerator.interval_generator(dt.timedelta(seconds=1)),
            lambda v: dt.timedelta() <= v <= dt.timedelta(seconds=1),
        ),
        (
            RandomGenerator.list_generator(RandomGenerator.int_generator(1, 6), 4),
            lambda v: len(v) == 4 and set(v) <= set(range(1, 7)),
        ),
        (
            RandomGenerator.map_generator(
                RandomGenerator.string_generator(8), RandomGenerator.boolean_generator(), 3
            ),
            lambda v: len(v) == 3 and set(v.values()) <= {True, False},
        ),
    ],
)
def test_random_fields_of_every_kind(generator: Any, fits: Any) -> None:
    values = [generator.map(i) for i in BITS]
    assert all(map(fits, values))
    assert len({repr(v) for v in values}) > 2
    assert values[7] == generator.map(7)


def test_a_share_of_nulls() -> None:
    dice = RandomGenerator.int_generator(1, 6).with_null_rate(0.25)
    values = [dice.map(i) for i in BITS]
    assert 400 < values.count(None) < 600
    assert values == [dice.map(i) for i in BITS]
    assert RandomGenerator.boolean_generator().with_null_rate(1).map(3) is None
    with pytest.raises(GraphError, match="between 0 and 1"):
        dice.with_null_rate(1.5)


def test_rows_may_hold_rows() -> None:
    rows = RowGenerator(id=SequenceGenerator(), at=RowGenerator(x=SequenceGenerator(5)))
    assert rows.map(2) == Row(id=2, at=Row(x=7))


def test_so_many_records_for_each_checkpoint() -> None:
    context = FakeReaderContext(0, 1)
    reader = opened(squares(7, RateLimiterStrategy.per_checkpoint(3)), context)
    for expected in ([0, 1, 4], [9, 16, 25], [36]):
        batch = reader.poll(10)
        assert batch is not None
        assert batch.values == expected
        assert reader.poll(10) is None
        assert reader.available_at(0) is None
        reader.on_checkpoint_complete(1)
    assert reader.exhausted
    assert context.wake_ups == 2
    with pytest.raises(GraphError, match="positive"):
        RateLimiterStrategy.per_checkpoint(0)


def test_bounds_of_fields_are_checked() -> None:
    with pytest.raises(GraphError, match="digits"):
        RandomGenerator.decimal_generator(3, 5)
    with pytest.raises(GraphError, match="negative"):
        RandomGenerator.interval_generator(dt.timedelta(seconds=-1))
    with pytest.raises(GraphError, match="length"):
        RandomGenerator.bytes_generator(-1)
