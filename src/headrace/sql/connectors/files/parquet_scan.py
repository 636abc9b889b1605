"""How Spark's JVM reads the Parquet files of a table, if their columns are what was declared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace.common.instants import local_zone
from headrace.datastream.connectors.file_system.enumeration import files_under
from headrace.datastream.connectors.spark_query import ParquetFiles
from headrace.sql import types as t
from headrace.sql.plan.expressions import Schema
from headrace.sql.segments.expressions import column_name, storage
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = ["parquet_scan"]


def parquet_scan(
    path: str, schema: Schema, columns: Sequence[int], utc: bool
) -> ParquetFiles | None:
    """The columns as Spark reads them; None where headrace's own reader has to do it.

    The first file is looked at. All files of a table have the same columns. Where `utc` is not
    set, only headrace's own reader puts instants on the clock of the machine.
    """
    first = next(iter(files_under(path)), None) if os.path.exists(path) else None
    there = None if first is None else _file_types(first)
    if there is None or not columns:
        return None
    on_utc = utc or str(local_zone()) == "UTC"
    declared: list[tuple[str, str]] = []
    texts: list[tuple[str, str]] = []
    for index in columns:
        field = schema[index]
        found = _read_as(there.get(field.name), field.type, on_utc)
        if found is None:
            return None
        kind, pattern = found
        declared.append((field.name, kind))
        name = "`" + field.name.replace("`", "``") + "`"
        texts.append((column_name(index), pattern.format(name)))
    return ParquetFiles(path, tuple(declared), tuple(texts))


def _file_types(file: str) -> dict[str, Any] | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {f.name: f.type for f in pq.read_schema(file)}
    except (pa.ArrowInvalid, OSError):
        # The reader says what is wrong with the file when the job runs.
        return None


def _read_as(found: Any, declared: DataType, on_utc: bool) -> tuple[str, str] | None:
    """Spark's type of a column in the file, and a text that makes an internal value of it."""
    import pyarrow as pa

    if found is None:
        return None
    if pa.types.is_dictionary(found):
        found = found.value_type
    if isinstance(declared, t.IntegralType):
        bits = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}.get(found, 99)
        kinds = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
        return (
            (kinds[bits], f"CAST({{0}} AS {storage(declared)})") if bits <= declared.bits else None
        )
    if is_timestamp(declared) and pa.types.is_timestamp(found) and found.unit != "ns":
        if found.tz is not None:
            on_clock = on_utc or isinstance(declared, t.LocalZonedTimestampType)
            return ("TIMESTAMP", "unix_micros({0})") if on_clock else None
        return "TIMESTAMP_NTZ", "unix_micros(CAST({0} AS TIMESTAMP))"
    if isinstance(declared, t.DecimalType):
        same = pa.decimal128(declared.precision, declared.scale) == found
        return (storage(declared), "{0}") if same else None
    text = found in (pa.string(), pa.large_string(), pa.string_view())
    if is_character(declared):
        return ("STRING", "{0}") if text else None
    simple = {
        (t.BooleanType, pa.bool_()): ("BOOLEAN", "{0}"),
        (t.FloatType, pa.float32()): ("FLOAT", "{0}"),
        (t.DoubleType, pa.float64()): ("DOUBLE", "{0}"),
        (t.DateType, pa.date32()): ("DATE", "unix_date({0})"),
        (t.VarBinaryType, pa.binary()): ("BINARY", "{0}"),
    }
    return simple.get((type(declared), found))
