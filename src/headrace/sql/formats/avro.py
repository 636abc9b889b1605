"""Avro, one record for each row. It needs fastavro: `pip install 'headrace[avro]'`."""

from __future__ import annotations

import datetime
import json
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.formats.avro import fastavro, record_reader, record_writer
from headrace.formats.shapes import Convert, fitted_decimal, or_none
from headrace.sql import types as t
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.types import DataType, RowType

OPTIONS = ("codec", "encoding", "timestamp_mapping.legacy")

_NAMESPACE = "org.apache.flink.avro.generated"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_DAY = datetime.date(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def avro_codec(options: FormatOptions) -> str:
    """How blocks of files are compressed."""
    return options.choice(
        "codec", "deflate", ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
    )


def _check(options: FormatOptions) -> None:
    options.choice("encoding", "binary", ("binary",))
    options.flag("timestamp_mapping.legacy")


def avro_schema(row_type: RowType) -> dict[str, Any]:
    """The schema of a table, as Flink derives it: nullable columns are unions with null."""
    record = _record(row_type, "record")
    return {"type": "record", "name": "record", "namespace": _NAMESPACE, **record}


def _record(row_type: RowType, name: str) -> dict[str, Any]:
    fields = []
    for f in row_type.fields:
        declared = _schema(f.data_type, f"{name}_{f.name}")
        field: dict[str, Any] = {"name": f.name, "type": declared}
        if f.data_type.is_nullable:
            field["default"] = None
        fields.append(field)
    return {"type": "record", "name": name, "fields": fields}


_SIMPLE: list[tuple[Any, Any]] = [
    (t.BooleanType, "boolean"),
    (t.BigIntType, "long"),
    (t.IntegralType, "int"),
    (t.FloatType, "float"),
    (t.DoubleType, "double"),
    (t.CharType | t.VarCharType, "string"),
    (t.BinaryType | t.VarBinaryType, "bytes"),
    (t.DateType, {"type": "int", "logicalType": "date"}),
    (t.TimeType, {"type": "int", "logicalType": "time-millis"}),
]


def _schema(type_: DataType, name: str) -> Any:
    plain = _present(type_, name)
    return ["null", plain] if type_.is_nullable else plain


def _present(type_: DataType, name: str) -> Any:
    for kind, schema in _SIMPLE:
        if isinstance(type_, kind):
            return schema
    if isinstance(type_, t.DecimalType):
        scale = {"precision": type_.precision, "scale": type_.scale}
        return {"type": "bytes", "logicalType": "decimal", **scale}
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        unit = "timestamp-millis" if type_.precision <= 3 else "timestamp-micros"
        return {"type": "long", "logicalType": unit}
    if isinstance(type_, t.RowType):
        return _record(type_, name)
    if isinstance(type_, t.MapType):
        return {"type": "map", "values": _schema(type_.value_type, name)}
    if isinstance(type_, t.ArrayType) and not isinstance(type_, t.MultisetType):
        return {"type": "array", "items": _schema(type_.element_type, name)}
    raise SqlError(f"Avro has no {type_.sql_text()}")


def to_avro(row_type: RowType) -> Convert:
    """Makes a record as fastavro takes it of an internal row."""
    fields = [(f.name, or_none(_outward(f.data_type))) for f in row_type.fields]
    return lambda row: {n: w(v) for (n, w), v in zip(fields, row, strict=True)}


def from_avro(row_type: RowType) -> Convert:
    """Makes an internal row of a record of fastavro."""
    fields = [(f.name, or_none(_inward(f.data_type))) for f in row_type.fields]
    return lambda record: tuple([read(record.get(name)) for name, read in fields])


def _outward(type_: DataType) -> Convert | None:
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return (lambda v: v // 1000) if type_.precision <= 3 else None
    if isinstance(type_, t.TimeType):
        return lambda v: v // 1000
    if isinstance(type_, t.RowType):
        return to_avro(type_)
    if isinstance(type_, t.MapType):
        value = or_none(_outward(type_.value_type))
        return lambda v: {str(k): value(x) for k, x in v.items()}
    if isinstance(type_, t.ArrayType):
        element = or_none(_outward(type_.element_type))
        return lambda v: [element(x) for x in v]
    return None


def _inward(type_: DataType) -> Convert | None:
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        unit = 1000 if type_.precision <= 3 else 1
        return lambda v: v * unit if isinstance(v, int) else _micros(v)
    if isinstance(type_, t.DateType):
        return lambda v: v if isinstance(v, int) else (v - _FIRST_DAY).days
    if isinstance(type_, t.TimeType):
        return _time
    if isinstance(type_, t.DecimalType):
        return fitted_decimal(type_.precision, type_.scale)
    if isinstance(type_, t.RowType):
        return from_avro(type_)
    if isinstance(type_, t.MapType):
        value = or_none(_inward(type_.value_type))
        return lambda v: {k: value(x) for k, x in v.items()}
    if isinstance(type_, t.ArrayType):
        element = or_none(_inward(type_.element_type))
        return lambda v: tuple([element(x) for x in v])
    return None


def _micros(value: datetime.datetime) -> int:
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return int((value - _EPOCH) / _MICROSECOND)


def _time(value: Any) -> int:
    if isinstance(value, int):
        return value * 1000
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return int(seconds * 1_000_000 + value.microsecond)


class AvroDecoder(Decoder):
    """Single records in Avro's binary form, without a schema before them."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        _check(options)
        self._schema = avro_schema(row_type)
        self._read = record_reader(fastavro().parse_schema(self._schema))
        self._convert = from_avro(row_type)

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        try:
            found = [self._read(m) for m in messages if m]
        except Exception as error:
            raise HeadraceError(
                f"Failed to deserialize an Avro record of the schema {json.dumps(self._schema)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        return [self._convert(r) for r in found]


class AvroEncoder(Encoder):
    """Single records in Avro's binary form, without a schema before them."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        _check(options)
        self._write = record_writer(fastavro().parse_schema(avro_schema(row_type)))
        self._convert = to_avro(row_type)

    def encode(self, rows: list[tuple[Any, ...]]) -> list[bytes]:
        return [self._write(self._convert(row)) for row in rows]


decoder, encoder = AvroDecoder, AvroEncoder
