"""Rows that are made internal together are those that are made so one by one."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from headrace.common.errors import TypeMismatchError
from headrace.sql import types as t
from headrace.sql.types.values import rows_to_internal, to_internal

TYPE = t.RowType(
    [
        t.RowField("i", t.IntType()),
        t.RowField("b", t.BigIntType(False)),
        t.RowField("s", t.VarCharType(10)),
        t.RowField("k", t.VarCharType(10, False)),
        t.RowField("d", t.DecimalType(5, 2)),
    ],
    False,
)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(1, 2, "a", "k", Decimal(1)), (3, 4, "b", "l", Decimal("2.555"))],
        [(None, 2, None, "k", None), (True, 2.0, "x", "k", 7)],
    ],
)
def test_rows_are_the_same_together_and_alone(rows: list[Any]) -> None:
    assert rows_to_internal(TYPE)(rows) == list(map(to_internal(TYPE), rows))


@pytest.mark.parametrize(
    "wrong",
    [
        (1 << 31, 2, "a", "k", None),
        (1, None, "a", "k", None),
        (1, 2, "a", None, None),
        (1, 2, 3, "k", None),
        (1, 2, "a", "k"),
    ],
)
def test_one_wrong_row_is_named(wrong: Any) -> None:
    right = (1, 2, "a", "k", None)
    with pytest.raises(TypeMismatchError, match=re.escape(f"{wrong!r} (tuple) is not of type ROW")):
        rows_to_internal(TYPE)([right, wrong, right])
