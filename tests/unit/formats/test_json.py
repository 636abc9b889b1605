"""JSON of many rows, written column by column."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql import types as t
from headrace.sql.formats.base import FormatOptions, encoder_for

ROW = t.RowType([t.RowField("100%", t.IntType()), t.RowField('a"b', t.VarCharType(9))], False)


def encoded(row_type: t.RowType, rows: list[Any], **options: str) -> list[str]:
    return encoder_for("json", row_type, FormatOptions(options)).encode(rows)


def test_many_rows_are_written_as_each_is() -> None:
    rows = [(1, "x"), (None, 'y"'), (3, None), (-4, "%s")]
    assert encoded(ROW, rows) == [
        '{"100%":1,"a\\"b":"x"}',
        '{"100%":null,"a\\"b":"y\\""}',
        '{"100%":3,"a\\"b":null}',
        '{"100%":-4,"a\\"b":"%s"}',
    ]
    assert encoded(ROW, []) == []
    # The kind of a change at the end of a row is not one of its fields.
    assert encoded(ROW, [(1, "x", 3)]) == encoded(ROW, [(1, "x")])


def test_fields_without_a_value_may_be_left_out() -> None:
    options = {"encode.ignore-null-fields": "true"}
    assert encoded(ROW, [(None, "x"), (1, None)], **options) == ['{"a\\"b":"x"}', '{"100%":1}']


@pytest.mark.parametrize("count", [0, 2])
def test_rows_without_fields_are_written_too(count: int) -> None:
    assert encoded(t.RowType([], False), [()] * count) == ["{}"] * count
