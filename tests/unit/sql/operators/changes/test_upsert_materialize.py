"""The operator that keeps the rows of each key of a sink, and when a plan needs it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.connectors.base import TableSink
from headrace.sql.operators.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.sql.operators.changes.specs import UpsertMaterializeSpec
from headrace.sql.physical.settings import PlanSettings, SinkSettings
from headrace.sql.physical.upsert_materialize import upsert_materialize
from headrace.sql.plan import nodes as n
from headrace.testing import keyed_harness
from tests.examples import examples
from tests.sql.sessions import with_tables


def first(row: Any) -> Any:
    return row[0]


def test_the_row_before_counts_again_when_the_last_one_goes() -> None:
    with keyed_harness(UpsertMaterializeSpec(), key=first) as h:
        steps: list[tuple[tuple[Any, ...], list[tuple[Any, ...]]]] = [
            (("k", "a", INSERT), [("k", "a", INSERT)]),
            (("k", "b", UPDATE_AFTER), [("k", "b", UPDATE_AFTER)]),
            # Not the row that counts.
            (("k", "a", UPDATE_BEFORE), []),
            (("k", "c", INSERT), [("k", "c", UPDATE_AFTER)]),
            (("k", "c", DELETE), [("k", "b", UPDATE_AFTER)]),
            (("k", "x", DELETE), []),
            (("k", "b", DELETE), [("k", "b", DELETE)]),
            (("k", "d", INSERT), [("k", "d", INSERT)]),
        ]
        for change, expected in steps:
            h.process(change)
            h.snapshot_and_restore()
            assert h.output() == expected


@examples(30)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.booleans()), max_size=40
    ),
    size=st.integers(1, 7),
    parallelism=st.integers(1, 3),
)
def test_a_sink_has_for_each_key_the_newest_row_that_is_left(
    changes: list[tuple[int, int, bool, bool]], size: int, parallelism: int
) -> None:
    rows: list[tuple[int, int]] = []
    history: list[tuple[int, int, int]] = []
    for key, value, goes, updates in changes:
        row = (key, value)
        if not goes:
            rows.append(row)
            history.append((*row, UPDATE_AFTER if updates else INSERT))
        elif row in rows:
            rows.remove(row)
            history.append((*row, UPDATE_BEFORE if updates else DELETE))
    table: dict[int, int] = {}
    with keyed_harness(UpsertMaterializeSpec(), key=first, parallelism=parallelism) as h:
        for start in range(0, len(history), size):
            h.process_many(history[start : start + size])
            h.snapshot_and_restore(parallelism=1 + start % 3)
        for key, value, kind in h.output():
            assert (kind == INSERT) == (key not in table)
            if kind == DELETE:
                del table[key]
            else:
                table[key] = value
    assert table == dict(rows)


class Upserts(TableSink):
    accepts_updates = upsert = True

    def attach(self, stream: Any, schema: Any, changelog: bool) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("query", "keys", "needed"),
    [
        ("SELECT item, COUNT(*) FROM orders GROUP BY item", (0,), False),
        ("SELECT COUNT(*), item FROM orders GROUP BY item", (1,), False),
        ("SELECT COUNT(*), item FROM orders GROUP BY item", (0, 1), False),
        ("SELECT COUNT(*), item FROM orders GROUP BY item", (0,), True),
        ("SELECT item, price, COUNT(*) FROM orders GROUP BY item, price", (0,), True),
        ("SELECT UPPER(item), COUNT(*) FROM orders GROUP BY item", (0,), True),
        ("SELECT CAST(id AS BIGINT), COUNT(*) FROM orders GROUP BY id", (0,), False),
        ("SELECT CAST(id AS TINYINT), COUNT(*) FROM orders GROUP BY id", (0,), True),
        ("SELECT MAX(price), COUNT(*) FROM orders", (0,), False),
        ("SELECT id, item FROM orders", (0,), False),
        ("SELECT item FROM orders INTERSECT SELECT name FROM people", (0,), False),
        (
            "SELECT item, r, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY "
            "price) AS r FROM orders) WHERE r <= 3",
            (0, 1),
            False,
        ),
        (
            "SELECT item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY "
            "price) AS r FROM orders) WHERE r <= 3",
            (0, 1),
            True,
        ),
        (
            "SELECT item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY "
            "price) AS r FROM orders) WHERE r = 1",
            (0,),
            False,
        ),
        (
            "SELECT item, COUNT(*) FROM orders GROUP BY item UNION ALL "
            "SELECT name, COUNT(*) FROM people GROUP BY name",
            (0,),
            True,
        ),
    ],
)
def test_it_is_needed_where_the_key_is_no_key_of_the_query(
    query: str, keys: tuple[int, ...], needed: bool
) -> None:
    plan = with_tables().plan(query)

    def kept(wanted: str, keys: tuple[int, ...] = keys) -> bool:
        sink = n.Sink(plan.schema, plan, ("t",), Upserts(), plan.schema, keys)
        settings = PlanSettings(sinks=SinkSettings(materialize=wanted))
        return upsert_materialize(sink, settings) is not sink

    assert kept("AUTO") is needed
    assert not kept("NONE")
    assert not kept("FORCE", ())
    assert kept("FORCE") is not (query == "SELECT id, item FROM orders")


def test_a_batch_needs_nothing() -> None:
    plan = with_tables().plan("SELECT MAX(id), item FROM orders GROUP BY item")
    sink = n.Sink(plan.schema, plan, ("t",), Upserts(), plan.schema, (0,))
    assert upsert_materialize(sink, PlanSettings(batch=True)) is sink
    assert upsert_materialize(sink, PlanSettings()) is not sink
