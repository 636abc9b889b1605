"""The datagen connector: rows of random values and sequences, made column by column."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.datagen import IndexRange, IndexReader, RateLimiter
from headrace.datastream.connectors.spark_query import RowNumbers
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import types as t
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.random_numbers import number_text, numbers_between
from headrace.sql.segments.expressions import column_name, storage
from headrace.sql.types import DataType

__all__ = ["DataGenFactory"]

_UNBOUNDED = 1 << 62
_BLOCK = 4096
_RATE = 10_000
_AS_FAST_AS_IT_CAN = 10_000_000
_MOST_FOR_SPARK = 1_000_000_000
_NUMBERS = t.IntegralType | t.FloatType | t.DoubleType

Column = Callable[[random.Random, int, int], Sequence[Any]]
"""Makes the values of indices from one up to another."""


class DataGenFactory(TableFactory):
    """`'connector' = 'datagen'`, with options for each field."""

    name = "datagen"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads `rows-per-second`, `number-of-rows` and `fields.#.*`."""
        rate = context.integer("rows-per-second", _RATE)
        rows = context.integer("number-of-rows")
        context.option("scan.parallelism")
        fields = []
        limit = _UNBOUNDED if rows is None else rows
        for number, f in enumerate(context.schema):
            spec = _field(context, f.name, f.type, number)
            fields.append(spec)
            if isinstance(spec, Sequence_):
                limit = min(limit, spec.end - spec.start + 1)
        context.check_all_used()
        source = DataGenSource(tuple(fields), limit, rate)
        return _DataGenTable(source, rows is not None or limit < _UNBOUNDED)


@dataclass
class _DataGenTable(TableSource):
    source: DataGenSource
    is_bounded: bool

    @property
    def bounded(self) -> bool:
        return self.is_bounded

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        return env.from_source(self.source, WatermarkStrategy.no_watermarks(), "Source: datagen")

    def spark_scan(self, columns: Sequence[int]) -> RowNumbers | None:
        source = self.source
        if source.count > _MOST_FOR_SPARK or source.limited:
            return None
        texts = [(column_name(i), source.fields[i].spark_text()) for i in columns]
        found = tuple((name, text) for name, text in texts if text is not None)
        return RowNumbers(source.count, found) if len(found) == len(texts) else None


@dataclass(frozen=True)
class Sequence_:
    """Numbers from `start` to `end`; `text` if the field is text."""

    start: int
    end: int
    type: DataType

    def values(self, rng: random.Random, first: int, last: int) -> Sequence[Any]:
        """Numbers of the field's type."""
        numbers = range(self.start + first, self.start + last)
        if isinstance(self.type, t.CharType | t.VarCharType):
            return [str(x) for x in numbers]
        if isinstance(self.type, t.FloatType | t.DoubleType):
            return [float(x) for x in numbers]
        if isinstance(self.type, t.DecimalType):
            unit = Decimal(1).scaleb(-self.type.scale)
            return [Decimal(x).quantize(unit) for x in numbers]
        return list(numbers)

    def spark_text(self) -> str | None:
        """The same numbers in Spark's SQL, of the row's number `id`; None: not there."""
        simple = t.IntegralType | t.DoubleType | t.CharType | t.VarCharType
        if not isinstance(self.type, simple):
            return None
        return f"CAST(id + {self.start}L AS {storage(self.type)})"


@dataclass(frozen=True)
class Random_:
    """Random values of a type, between bounds or of a length.

    Numbers are made of the row's number and the field's: Spark makes the same ones.
    """

    type: DataType
    low: Any = None
    high: Any = None
    length: int = 100
    max_past_ms: int = 0
    null_rate: float = 0.0
    var_len: bool = False
    number: int = 0

    def values(self, rng: random.Random, first: int, last: int) -> Sequence[Any]:
        """Values; some are NULL if the field says so."""
        if isinstance(self.type, _NUMBERS):
            values = numbers_between(self.type, self.low, self.high, self.number, first, last)
        else:
            values = self.present(rng, last - first)
        if self.null_rate:
            chance = rng.random
            values = [None if chance() < self.null_rate else v for v in values]
        return values

    def spark_text(self) -> str | None:
        """The same values in Spark's SQL; None: not there."""
        if self.null_rate or not isinstance(self.type, t.IntegralType | t.DoubleType):
            return None
        return number_text(self.type, self.low, self.high, self.number)

    def present(self, rng: random.Random, count: int) -> list[Any]:
        """So many values, none of them NULL."""
        type_ = self.type
        if isinstance(type_, t.IntegralType):
            return random_whole(rng, self.low, self.high, count)
        if isinstance(type_, t.FloatType | t.DoubleType):
            return random_floats(rng, self.low, self.high, count, type_)
        if isinstance(type_, t.BooleanType):
            bits = rng.getrandbits(count)
            return [bool(bits >> i & 1) for i in range(count)]
        if isinstance(type_, t.CharType | t.VarCharType):
            return random_text(rng, self.length, count, self.var_len)
        if isinstance(type_, t.DecimalType):
            unit = Decimal(1).scaleb(-type_.scale)
            top = 10**type_.precision - 1
            return [Decimal(rng.randint(-top, top)) * unit for _ in range(count)]
        if isinstance(type_, t.BinaryType | t.VarBinaryType):
            return [rng.randbytes(self.length) for _ in range(count)]
        return self._nested(rng, count)

    def _nested(self, rng: random.Random, count: int) -> list[Any]:
        type_ = self.type
        now = time.time_ns() // 1_000_000
        if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
            past = self.max_past_ms
            return [(now - (rng.randrange(past) if past else 0)) * 1000 for _ in range(count)]
        if isinstance(type_, t.DateType):
            return [now // 86_400_000] * count
        if isinstance(type_, t.TimeType):
            return [now % 86_400_000 * 1000] * count
        if isinstance(type_, t.ArrayType):
            inner = random_of(type_.element_type)
            return [tuple(inner.present(rng, 3)) for _ in range(count)]
        if isinstance(type_, t.MapType):
            keys, values = random_of(type_.key_type), random_of(type_.value_type)
            pairs = [(keys.present(rng, 3), values.present(rng, 3)) for _ in range(count)]
            return [dict(zip(k, v, strict=True)) for k, v in pairs]
        if isinstance(type_, t.RowType):
            columns = [random_of(f.data_type).present(rng, count) for f in type_.fields]
            return list(zip(*columns, strict=True))
        raise SqlError(f"datagen cannot produce values of {type_.sql_text()}")


def random_of(type_: DataType) -> Random_:
    """Values of a type without further settings."""
    if isinstance(type_, t.IntegralType):
        return Random_(type_, -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1)
    if isinstance(type_, t.FloatType | t.DoubleType):
        top = 3.4028234e38 if isinstance(type_, t.FloatType) else 1.7976931348623157e308
        return Random_(type_, 0.0, top)
    if isinstance(type_, t.CharType | t.BinaryType):
        return Random_(type_, length=type_.length)
    return Random_(type_)


def random_whole(rng: random.Random, low: int, high: int, count: int) -> list[int]:
    """Whole numbers between bounds, both included: quickly, with numpy."""
    import numpy as np

    generator = np.random.default_rng(rng.getrandbits(64))
    return generator.integers(low, high, count, endpoint=True).tolist()  # type: ignore[no-any-return]


def random_floats(
    rng: random.Random, low: float, high: float, count: int, type_: DataType
) -> list[float]:
    """Numbers between bounds."""
    import numpy as np

    generator = np.random.default_rng(rng.getrandbits(64))
    values = low + (high - low) * generator.random(count)
    if isinstance(type_, t.FloatType):
        values = values.astype(np.float32).astype(np.float64)
    return values.tolist()  # type: ignore[no-any-return]


def random_text(rng: random.Random, length: int, count: int, var_len: bool) -> list[str]:
    """Hexadecimal digits."""
    digits = rng.randbytes((length + 1) // 2 * count).hex()
    step = (length + 1) // 2 * 2
    texts = [digits[i : i + length] for i in range(0, step * count, step)]
    if var_len and length > 1:
        return [x[: rng.randint(1, length)] for x in texts]
    return texts


def _field(context: TableContext, name: str, type_: DataType, number: int) -> Sequence_ | Random_:
    prefix = f"fields.{name}."
    kind = context.option(prefix + "kind", "random")
    if kind == "sequence":
        start, end = context.required(prefix + "start"), context.required(prefix + "end")
        return Sequence_(int(start), int(end), type_)
    if kind != "random":
        raise SqlError(f"Unsupported generator kind: {kind} for the field {name}")
    found = random_of(type_)
    low, high = context.option(prefix + "min"), context.option(prefix + "max")
    parse = int if isinstance(type_, t.IntegralType) else float
    if low is not None:
        found = replace(found, low=parse(low))
    if high is not None:
        found = replace(found, high=parse(high))
    length = context.integer(prefix + "length")
    if length is not None:
        found = replace(found, length=length)
    past = context.duration(prefix + "max-past")
    if past is not None:
        found = replace(found, max_past_ms=int(past.total_seconds() * 1000))
    rate = context.option(prefix + "null-rate")
    var_len = context.boolean(prefix + "var-len")
    return replace(found, null_rate=float(rate or 0), var_len=var_len, number=number)


@dataclass(frozen=True)
class DataGenSource(Source):
    """Rows by index: those of an index are always the same, so that they can be made again."""

    fields: tuple[Sequence_ | Random_, ...]
    count: int
    rows_per_second: int | None = None
    seed: int = 0

    @property
    def bounded(self) -> bool:
        """Whether the rows come to an end."""
        return self.count < _UNBOUNDED

    @property
    def limited(self) -> bool:
        """Whether rows come at a rate: the default one is for streams without end."""
        rate = self.rows_per_second
        if not rate or rate >= _AS_FAST_AS_IT_CAN:
            return False
        return self.count >= _UNBOUNDED or rate != _RATE

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Blocks of indices: subtask i has every i-th one."""
        share = -(-self.count // parallelism)
        share = -(-share // _BLOCK) * _BLOCK
        splits = []
        for i in range(parallelism):
            first, last = i * share, min((i + 1) * share, self.count)
            if first < last:
                splits.append(IndexRange(f"rows-{i}", first, last))
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        """The reader of a subtask."""
        limiter = None
        if self.limited and self.rows_per_second:
            limiter = RateLimiter(self.rows_per_second / context.parallelism, context.now_ms)
        return _DataGenReader(self, limiter)


class _DataGenReader(IndexReader):
    """Makes blocks of rows; the seed of a block is its number."""

    def __init__(self, source: DataGenSource, limiter: RateLimiter | None) -> None:
        super().__init__(limiter)
        self._source = source
        self._block: tuple[int, list[Any]] | None = None

    def generate(self, start: int, end: int) -> list[Any]:
        values: list[Any] = []
        while start < end:
            number, first = divmod(start, _BLOCK)
            values += self._rows(number)[first : first + end - start]
            start = (number + 1) * _BLOCK
        return values

    def _rows(self, number: int) -> list[Any]:
        if self._block is None or self._block[0] != number:
            rng = random.Random(self._source.seed * 1_000_003 + number)
            first = number * _BLOCK
            last = min(first + _BLOCK, self._source.count)
            columns = [f.values(rng, first, last) for f in self._source.fields]
            self._block = (number, list(zip(*columns, strict=True)))
        return self._block[1]
