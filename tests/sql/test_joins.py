"""What regular joins keep, and rows that have no hash of their own."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.codegen.calc import calc_code
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.operators.base import DELETE, INSERT
from headrace.sql.operators.emission import Emission
from headrace.sql.operators.joins.specs import GrowingJoinSpec, JoinSide, JoinSpec
from headrace.sql.plan.expressions import Call, Column
from headrace.sql.types import BooleanType, IntType
from headrace.testing import two_input_harness
from tests.sql.sessions import LocalSession

MAPS = "(VALUES (1, MAP['a', ARRAY[MAP[1, 2]]]), (2, MAP['b', ARRAY[MAP[3, 4]]])) AS m (k, v)"


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT k, v FROM {MAPS} JOIN (VALUES (1), (1)) AS o (k2) ON k = k2", [1, 1]),
        (f"SELECT k2, v FROM (VALUES (1), (3)) AS o (k2) LEFT JOIN {MAPS} ON k = k2", [1, 3]),
        (f"SELECT k, v FROM {MAPS} WHERE k IN (SELECT 2)", [2]),
        (f"SELECT k, v FROM {MAPS} WHERE k NOT IN (SELECT 2)", [1]),
    ],
)
def test_rows_with_maps_in_them_are_joined(query: str, expected: list[int], batch: bool) -> None:
    rows = LocalSession(batch=batch).query(query).materialized()
    assert sorted(k for k, _ in rows) == expected
    found: dict[int, Any] = dict(rows)
    assert found.get(1, {"a": ({1: 2},)}) == {"a": ({1: 2},)}


def test_rows_of_a_semi_join_that_only_come_have_no_kind() -> None:
    result = LocalSession().query("SELECT k FROM (VALUES (1), (2)) AS m (k) WHERE k IN (SELECT 2)")
    assert result.rows == [(0, (2,))]


def first(row: Any) -> Any:
    return row[0]


def test_of_a_key_with_one_row_nothing_but_the_row_is_kept() -> None:
    side = JoinSide(2, changes=True, outer=False)
    spec = JoinSpec(side, side, (False,), emission=Emission.EVERY_CHANGE)
    with two_input_harness(spec, key1=first, key2=first) as h:
        h.process1(("a", 1, 0))
        assert h.state("left") == {"a": ("a", 1)}
        h.process1(("a", 2, 0))
        h.process1(("a", 2, 0))
        assert h.state("left") == {"a": {("a", 1): 1, ("a", 2): 2}}
        h.snapshot_and_restore()
        for row in (("a", 2, 3), ("a", 1, 3)):
            h.process1(row)
        assert h.state("left") == {"a": ("a", 2)}
        h.process1(("a", 2, 3))
        assert h.state("left") == {}


def test_rows_and_their_partners_move_to_other_subtasks() -> None:
    function = builtin_registry().find("LESS_THAN")
    columns = (Column(IntType(), 1), Column(IntType(), 3))
    smaller = calc_code([Call(BooleanType(), function, columns)], None)
    left, right = (JoinSide(2, changes=True, outer=True) for _ in range(2))
    spec = JoinSpec(left, right, (False,), smaller, emission=Emission.EVERY_CHANGE)
    keys = range(20)
    with two_input_harness(spec, key1=first, key2=first, parallelism=2) as h:
        h.process_many1([(k, 1, INSERT) for k in keys])
        h.snapshot_and_restore(parallelism=3)
        h.process_many2([(k, v, INSERT) for k in keys for v in (0, 2)])
        h.output()
        h.snapshot_and_restore(parallelism=1)
        h.process_many2([(k, 2, DELETE) for k in keys])
        expected = [(k, 1, k, 2, DELETE) for k in keys] + [(k, 1, None, None, INSERT) for k in keys]
        assert sorted(h.output(), key=str) == sorted(expected, key=str)


def test_order_by_means_the_column_of_the_result() -> None:
    """The name is ambiguous in the input, but not there."""
    tables = "(VALUES (2), (1)) AS a (k) JOIN (VALUES (1), (2)) AS b (k) ON a.k = b.k"
    result = LocalSession(batch=True).query(f"SELECT a.k FROM {tables} ORDER BY k")
    assert [row for _, row in result.rows] == [(1,), (2,)]


def test_of_a_key_with_many_rows_only_the_last_page_changes() -> None:
    side = JoinSide(2, changes=False, outer=False)
    spec = GrowingJoinSpec(side, side, (False,), None, False, Emission.EVERY_CHANGE)
    rows = [("a", i) for i in range(1_200)]
    with two_input_harness(spec, key1=first, key2=first) as h:
        h.process_many1([("b", 0), *rows[:1_100]])
        assert h.state("left")["b"] == ("b", 0)
        pages = h.state("left-pages")
        h.process_many1(rows[1_100:])
        pages_then, *last = h.state("left")["a"]
        assert h.state("left-pages") == pages
        assert pages_then == len(pages) == 2
        assert last == rows[1_000:]
        h.snapshot_and_restore(parallelism=2)
        h.process_many2([("a", -1), ("c", 0), (None, 0)])
        h.process1((None, 1))
        assert sorted(h.output()) == [(*row, "a", -1) for row in rows]


def test_rows_that_were_counted_before_are_still_there() -> None:
    side = JoinSide(2, changes=False, outer=False)
    counted = JoinSpec(side, side, (False,), None, False, Emission.EVERY_CHANGE)
    with two_input_harness(counted, key1=first, key2=first) as h:
        h.process_many1([("a", 1), ("a", 1), ("a", 2), ("b", 3)])
        before = h.snapshot()
    grown = GrowingJoinSpec(**vars(counted))
    with two_input_harness(grown, key1=first, key2=first) as h:
        h.restore(before)
        h.process1(("a", 4))
        h.process_many2([("a", 0), ("b", 0)])
        assert sorted(row[:2] for row in h.output()) == [
            ("a", 1), ("a", 1), ("a", 2), ("a", 4), ("b", 3)
        ]  # fmt: skip
