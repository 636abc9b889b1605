"""Between streams of internal rows and streams of users' objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.data_stream import DataStream
from headrace.datastream.operator_settings import transformation_of
from headrace.graph import partitioning as p
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import OperatorTransformation, PartitionTransformation
from headrace.sql.operators.specs import ExternalRowsSpec, InternalRowsSpec
from headrace.sql.plan.expressions import Schema, TimeAttribute

__all__ = ["by_columns", "external_rows", "internal_rows", "with_operator"]


@dataclass(frozen=True)
class _ColumnsOf:
    columns: tuple[int, ...]

    def __call__(self, row: Any) -> tuple[Any, ...]:
        return tuple([row[c] for c in self.columns])


def by_columns(stream: DataStream[Any], columns: Sequence[int]) -> DataStream[Any]:
    """Rows with equal columns go to one subtask, in their order.

    Not `key_by`: a sink on a keyed stream goes on from records as they were before.
    """
    env = stream.get_execution_environment()
    keyed = p.Keyed(_ColumnsOf(tuple(columns)))
    return DataStream(env, PartitionTransformation(env.ids, transformation_of(stream), keyed))


def with_operator(
    stream: DataStream[Any], name: str, spec: OperatorSpec, output: TypeInformation | None = None
) -> DataStream[Any]:
    """A stream after one more operator, which has as many subtasks: all rows keep their order."""
    env = stream.get_execution_environment()
    transformation = OperatorTransformation(
        env.ids, name, [transformation_of(stream)], output or Types.PICKLED_BYTE_ARRAY(), spec
    )
    transformation.parallelism = transformation_of(stream).parallelism
    env.register(transformation)
    return DataStream(env, transformation)


def external_rows(
    stream: DataStream[Any],
    schema: Schema,
    changelog: bool,
    zone: str = "UTC",
    upsert_key: tuple[int, ...] | None = None,
    output: TypeInformation | None = None,
) -> DataStream[Any]:
    """`Row` objects of internal rows, with event time if a column has it.

    Where rows replace each other by an `upsert_key`, those before an update are left out.
    """
    rowtime = next((i for i, f in enumerate(schema) if f.time is TimeAttribute.ROWTIME), None)
    names, types = tuple(schema.names), tuple(schema.types)
    spec = ExternalRowsSpec(names, types, changelog, zone, rowtime, upsert_key)
    return with_operator(stream, "TableToDataStream", spec, output)


def internal_rows(
    stream: DataStream[Any],
    schema: Schema,
    changelog: bool,
    zone: str = "UTC",
    whole: bool = False,
    rowtimes: tuple[bool, ...] = (),
) -> DataStream[Any]:
    """Internal rows of `Row` objects and the like; `whole` if a record is the only column."""
    names, types = tuple(schema.names), tuple(schema.types)
    spec = InternalRowsSpec(names, types, changelog, zone, whole, rowtimes)
    return with_operator(stream, "DataStreamToTable", spec)
