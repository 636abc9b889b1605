"""Avro schemas as columns, for Avro's records in Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError
from headrace.datastream.formats.avro import AvroSchema
from headrace.datastream.formats.avro_unions import member_fields

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["avro_arrow_schema", "records_of"]


def avro_arrow_schema(schema: AvroSchema) -> pa.Schema:
    """The columns of records of a schema."""
    import pyarrow as pa

    parsed = schema.parsed
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise GraphError(f"columns need an Avro record schema, not {schema}")
    return pa.schema(_field_types(parsed, {}))


def _field_types(record: dict[str, Any], named: dict[str, Any]) -> list[tuple[str, Any]]:
    named[record["name"]] = record
    return [(f["name"], _arrow_type(f["type"], named)) for f in record["fields"]]


def _arrow_type(kind: Any, named: dict[str, Any]) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, list):
        members = member_fields(kind)
        if len(members) <= 1:
            return _arrow_type(members.get("member0", "null"), named)
        return pa.struct([(name, _arrow_type(k, named)) for name, k in members.items()])
    if isinstance(kind, str):
        return _arrow_type(named[kind], named) if kind in named else _simple(kind)
    logical = _logical(kind)
    if logical is not None:
        return logical
    inner = kind["type"]
    if inner == "record":
        return pa.struct(_field_types(kind, named))
    if inner == "array":
        return pa.list_(_arrow_type(kind["items"], named))
    if inner == "map":
        return pa.map_(pa.string(), _arrow_type(kind["values"], named))
    if inner in ("enum", "fixed"):
        named[kind["name"]] = kind
        return pa.string() if inner == "enum" else pa.binary(kind["size"])
    return _arrow_type(inner, named)


def _simple(kind: str) -> pa.DataType:
    import pyarrow as pa

    types = {
        "null": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "bytes": pa.binary(),
    }
    if kind not in types:
        raise GraphError(f"there is no column type for the Avro type {kind!r}")
    return types[kind]


def _logical(kind: dict[str, Any]) -> pa.DataType | None:
    import pyarrow as pa

    logical = kind.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(kind["precision"], kind.get("scale", 0))
    return {
        "date": pa.date32(),
        "time-millis": pa.time32("ms"),
        "time-micros": pa.time64("us"),
        "timestamp-millis": pa.timestamp("ms", "UTC"),
        "timestamp-micros": pa.timestamp("us", "UTC"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
    }.get(str(logical))


def records_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The records of a batch of columns, as Avro's readers give them."""
    maps = [field.name for field in batch.schema if _has_map(field.type)]
    records: list[dict[str, Any]] = batch.to_pylist()
    for name in maps:
        kind = batch.schema.field(name).type
        for record in records:
            record[name] = _with_dicts(record[name], kind)
    return records


def _has_map(kind: pa.DataType) -> bool:
    import pyarrow.types as at

    if at.is_map(kind):
        return True
    if at.is_list(kind):
        return _has_map(kind.value_type)
    if at.is_struct(kind):
        return any(_has_map(kind.field(i).type) for i in range(kind.num_fields))
    return False


def _with_dicts(value: Any, kind: pa.DataType) -> Any:
    """Arrow gives a map as a list of pairs."""
    import pyarrow.types as at

    if value is None:
        return None
    if at.is_map(kind):
        return {k: _with_dicts(v, kind.item_type) for k, v in value}
    if at.is_list(kind):
        return [_with_dicts(v, kind.value_type) for v in value]
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return {f.name: _with_dicts(value[f.name], f.type) for f in fields}
    return value
