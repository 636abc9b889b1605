"""Rows of a result as JSON or plain text, in the form that Flink's gateway gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.cluster.sql_gateway.logical_types import logical_type
from headrace.sql import types as t
from headrace.sql.formats.json import value_writer
from headrace.sql.functions.builtin.times import to_local
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType
from headrace.sql.types.text import sql_text

__all__ = ["PLAIN_TEXT", "ROW_FORMATS", "results_json"]

PLAIN_TEXT = "PLAIN_TEXT"
ROW_FORMATS = ("JSON", PLAIN_TEXT)

_KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")

Rows = Sequence[tuple[int, Sequence[Any]]]


def results_json(schema: Schema, rows: Rows, row_format: str, zone: str) -> str:
    """Columns and rows; numbers of any size stay exact, so the text is made directly."""
    columns = [
        {"name": f.name, "logicalType": logical_type(f.type), "comment": None} for f in schema
    ]
    write = _plain if row_format == PLAIN_TEXT else _value
    writers = [write(f.type, ZoneInfo(zone)) for f in schema]
    data = ",".join(_row(kind, row, writers) for kind, row in rows)
    return f'{{"columns":{json.dumps(columns)},"rowFormat":"{row_format}","data":[{data}]}}'


def _row(kind: int, row: Sequence[Any], writers: list[Callable[[Any], str]]) -> str:
    cells = ("null" if v is None else w(v) for w, v in zip(writers, row, strict=True))
    return f'{{"kind":"{_KINDS[kind]}","fields":[{",".join(cells)}]}}'


def _plain(type_: DataType, zone: ZoneInfo) -> Callable[[Any], str]:
    text = sql_text(type_, zone, printing=True)
    return lambda v: json.dumps(text(v))


def _value(type_: DataType, zone: ZoneInfo) -> Callable[[Any], str]:
    write = value_writer(type_, null_keys="LITERAL")
    if isinstance(type_, t.LocalZonedTimestampType):
        # As in Flink's gateway: the time on the session's clock, whatever the letter behind it.
        return lambda v: write(to_local(zone, v))
    return write
