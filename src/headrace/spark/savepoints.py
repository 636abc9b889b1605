"""Savepoints as DataFrames: one partition for each subtask, in both directions."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from headrace.common.errors import StateError, shorten_repr
from headrace.common.types import Row, row_of
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.writer import Seal
from headrace.spark.session import get_or_create_session
from headrace.state_processor.tasks import Bootstrap

_SAMPLE = 100

Reader = Callable[[list[SnapshotRef]], Iterator[Any]]


def frame_of_files(
    chains: list[list[SnapshotRef]],
    read: Reader,
    columns: tuple[str, ...] | None,
    schema: Any,
    spark: SparkSession | None,
) -> DataFrame:
    """A DataFrame of the rows that `read` gives for the files of each subtask.

    Without a schema the types are those of the first rows; `columns` names them.
    """
    session = spark or get_or_create_session({})
    if not chains:
        raise StateError("the operator has no file in the savepoint")
    rows = session.sparkContext.parallelize(chains, len(chains)).flatMap(read)
    if schema is None:
        assert columns is not None
        schema = _schema_of(rows.take(_SAMPLE), columns)
    return session.createDataFrame(rows.map(_plain), schema)


def write_files(data: DataFrame, bootstrap: Bootstrap, paths: list[str]) -> list[Seal]:
    """Make the snapshot files of an operator from the rows of a DataFrame."""
    names = list(data.columns)
    rows = data.rdd.map(lambda row: row_of(list(row), names))
    if bootstrap.key is None:
        dealt = rows.repartition(len(paths)) if len(paths) > 1 else rows.coalesce(1)
    else:
        dealt = (
            rows.mapPartitions(_Keyed(bootstrap))
            .partitionBy(len(paths), lambda subtask: subtask)
            .values()
        )
    return dealt.mapPartitionsWithIndex(_Written(bootstrap, paths)).collect()


class _Keyed:
    """Puts the number of its file before each row."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap

    def __call__(self, rows: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        subtask_of = self._bootstrap.subtask_of()
        return ((subtask_of(row), row) for row in rows)


class _Written:
    """Writes one file."""

    def __init__(self, bootstrap: Bootstrap, paths: list[str]) -> None:
        self._bootstrap = bootstrap
        self._paths = paths

    def __call__(self, index: int, rows: Iterable[Any]) -> Iterator[Seal]:
        yield self._bootstrap.write(index, rows, self._paths[index])


# Types and values as Spark knows them.


def _plain(value: Any) -> Any:
    if isinstance(value, Row | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list | set | frozenset):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return {_plain(key): _plain(content) for key, content in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(_plain(getattr(value, f.name)) for f in dataclasses.fields(value))
    return value


_SIMPLE: dict[type, st.DataType] = {
    bool: st.BooleanType(),
    int: st.LongType(),
    float: st.DoubleType(),
    str: st.StringType(),
    bytes: st.BinaryType(),
    bytearray: st.BinaryType(),
    decimal.Decimal: st.DecimalType(38, 18),
    datetime.date: st.DateType(),
    datetime.datetime: st.TimestampType(),
}


def _schema_of(sample: list[tuple[Any, ...]], columns: tuple[str, ...]) -> st.StructType:
    """The types of columns, each by its first value that is there; text where there is none."""
    fields = []
    for index, name in enumerate(columns):
        found = next((row[index] for row in sample if row[index] not in (None, [], {})), None)
        fields.append(st.StructField(name, _type_of(found, name)))
    return st.StructType(fields)


def _type_of(value: Any, name: str) -> st.DataType:
    if value is None:
        return st.StringType()
    simple = _SIMPLE.get(type(value))
    if simple is not None:
        return simple
    if isinstance(value, list | set | frozenset):
        return st.ArrayType(_type_of(next(iter(value), None), name))
    if isinstance(value, Mapping):
        key, content = next(iter(value.items()), (None, None))
        return st.MapType(_type_of(key, name), _type_of(content, name))
    fields = _fields_of(value)
    if fields is None:
        raise StateError(
            f"column {name!r} holds objects of class {type(value).__name__} such as "
            f"{shorten_repr(value)}, for which Spark has no type; read the state with a "
            "KeyedStateReaderFunction that yields rows of simple values"
        )
    return st.StructType([st.StructField(n, _type_of(v, name)) for n, v in fields])


def _fields_of(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, Row):
        names = value.get_field_names() or [f"f{i}" for i in range(len(value))]
        return list(zip(names, value, strict=True))
    if isinstance(value, tuple):
        names = getattr(value, "_fields", [f"f{i}" for i in range(len(value))])
        return list(zip(names, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    return None
