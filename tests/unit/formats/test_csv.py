"""CSV: lines that are written column by column are those of single rows."""

from __future__ import annotations

from decimal import Decimal

from headrace.sql import types as t
from headrace.sql.formats.base import FormatOptions
from headrace.sql.formats.csv import CsvEncoder


def test_columns_are_written_as_rows_are() -> None:
    types = [
        t.BigIntType(),
        t.VarCharType(50),
        t.TimestampType(3),
        t.DoubleType(),
        t.DecimalType(10, 2),
        t.BooleanType(),
    ]
    row_type = t.RowType([t.RowField(f"f{i}", kind) for i, kind in enumerate(types)])
    encode = CsvEncoder(row_type, FormatOptions({})).encode
    rows = [
        (1, "a", 1_000, 0.0, Decimal("1.0"), True),
        (1, "a", 1_000, -0.0, Decimal("1.00"), False),
        (None, None, None, None, None, None),
        (-7, 'with "quotes", and more', 86_400_000_000, 1e300, Decimal("0.10"), True),
    ]
    assert encode(rows) == [line for row in rows for line in encode([row])]
    assert encode(rows)[:2] == [
        '1,a,"1970-01-01 00:00:00.001",0.0,1.0,true',
        '1,a,"1970-01-01 00:00:00.001",-0.0,1.00,false',
    ]
    assert encode([]) == []


def test_a_line_with_nothing_in_it_is_quoted() -> None:
    row_type = t.RowType([t.RowField("a", t.VarCharType(50))])
    encode = CsvEncoder(row_type, FormatOptions({})).encode
    assert encode([(None,), ("",), ("x",)]) == ['""', '""', "x"]
