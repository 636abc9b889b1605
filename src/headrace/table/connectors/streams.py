"""Between streams of internal rows and streams of users' objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import Types
from headrace.datastream.data_stream import DataStream
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import OperatorTransformation
from headrace.sql.expressions import Schema, TimeAttribute
from headrace.sql.specs import ExternalRowsSpec, InternalRowsSpec

__all__ = ["ColumnsOf", "external_rows", "internal_rows", "with_operator"]


@dataclass(frozen=True)
class ColumnsOf:
    """A key selector: some columns of a row."""

    columns: tuple[int, ...]

    def __call__(self, row: Any) -> tuple[Any, ...]:
        return tuple([row[c] for c in self.columns])


def with_operator(stream: DataStream[Any], name: str, spec: OperatorSpec) -> DataStream[Any]:
    """A stream after one more operator."""
    env = stream.get_execution_environment()
    transformation = OperatorTransformation(
        env.ids, name, [stream._transformation], Types.PICKLED_BYTE_ARRAY(), spec
    )
    env.register(transformation)
    return DataStream(env, transformation)


def external_rows(
    stream: DataStream[Any], schema: Schema, changelog: bool, zone: str = "UTC"
) -> DataStream[Any]:
    """`Row` objects of internal rows, with event time if a column has it."""
    rowtime = next((i for i, f in enumerate(schema) if f.time is TimeAttribute.ROWTIME), None)
    spec = ExternalRowsSpec(tuple(schema.names), tuple(schema.types), changelog, zone, rowtime)
    return with_operator(stream, "TableToDataStream", spec)


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
