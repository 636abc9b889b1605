"""Results depend neither on epochs, nor on parallelism, nor on a restore in between."""

from __future__ import annotations

import pytest

from headrace.sql.plan.text import plan_text
from tests.examples import scaled
from tests.sql.sessions import with_tables

ITEMS = "SELECT item, COUNT(*) AS n FROM orders GROUP BY item"
TUMBLE = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND))"
BY_ITEM = "item, window_start, window_end, SUM(price) AS s"
HOP = "TABLE(HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND))"

QUERIES = [
    "SELECT item, COUNT(*), SUM(price), AVG(qty), MIN(price), MAX(id) FROM orders GROUP BY item",
    "SELECT item, COUNT(DISTINCT price), SUM(DISTINCT qty) FROM orders GROUP BY item",
    "SELECT COUNT(*), STDDEV_POP(price) FROM orders",
    f"SELECT n, COUNT(*), MIN(item), MAX(item) FROM ({ITEMS}) GROUP BY n",
    f"SELECT MAX(n), MIN(item), COUNT(*) FROM ({ITEMS}) WHERE n >= 2",
    f"SELECT window_start, window_end, item, SUM(price) FROM {TUMBLE} "
    "GROUP BY window_start, window_end, item",
    f"SELECT window_start, window_end, COUNT(*), COUNT(DISTINCT item) FROM {HOP} "
    "GROUP BY window_start, window_end",
    "SELECT window_start, window_end, SUM(price) FROM TABLE(CUMULATE(TABLE orders, "
    "DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '30' SECOND)) "
    "GROUP BY window_start, window_end",
    "SELECT SESSION_START(et, INTERVAL '6' SECOND), item, SUM(price) FROM orders "
    "GROUP BY SESSION(et, INTERVAL '6' SECOND), item",
    "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) FROM orders",
    "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN UNBOUNDED PRECEDING "
    "AND CURRENT ROW) FROM orders",
    "SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY et), LAG(id, 2, 0) OVER (PARTITION BY "
    "item ORDER BY et), ROW_NUMBER() OVER (PARTITION BY item ORDER BY et) FROM orders",
    "SELECT item, window_start, COUNT(DISTINCT price), SUM(DISTINCT qty) FROM TABLE(SESSION(TABLE "
    "orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '12' SECOND)) "
    "GROUP BY item, window_start, window_end",
    "SELECT item, PERCENTILE(price, 0.5), PERCENTILE(price, ARRAY[0.1, 0.9], qty) FROM orders "
    "WHERE qty > 0 GROUP BY item",
    f"SELECT n, PERCENTILE(n, 0.5), JSON_OBJECTAGG(KEY item VALUE n) FROM ({ITEMS}) "
    "WHERE item IS NOT NULL GROUP BY n",
    f"SELECT CARDINALITY(ARRAY_AGG(n)), CHAR_LENGTH(LISTAGG(item)) FROM ({ITEMS})",
    "SELECT * FROM (SELECT id, item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price "
    "DESC, id) AS rn FROM orders) WHERE rn <= 2",
    f"SELECT * FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY n DESC, item) AS rn FROM ({ITEMS})) "
    "WHERE rn <= 2",
    "SELECT id, item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn "
    "FROM orders) WHERE rn = 1",
    f"SELECT id, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
    f"window_end ORDER BY price DESC, id) AS rn FROM {TUMBLE}) WHERE rn <= 1",
    "SELECT item FROM orders INTERSECT SELECT item FROM orders WHERE price > 7",
    "SELECT item FROM orders EXCEPT ALL SELECT item FROM orders WHERE price > 7",
    "SELECT id FROM orders ORDER BY price, id LIMIT 4",
    "SELECT id FROM orders ORDER BY et",
    "SELECT item, qty, COUNT(*) FROM orders GROUP BY CUBE(item, qty)",
    f"SELECT window_start, window_end, COUNT(*), SUM(s) FROM (SELECT {BY_ITEM} FROM "
    "TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '6' SECOND)) GROUP BY "
    "item, window_start, window_end) GROUP BY window_start, window_end",
    "SELECT window_start, window_end, item, COUNT(*) FROM TABLE(SESSION(TABLE orders, "
    "DESCRIPTOR(et), INTERVAL '6' SECOND)) GROUP BY window_start, window_end, item",
    "SELECT id, window_start, window_end, window_time FROM TABLE(SESSION(TABLE orders PARTITION BY "
    "item, DESCRIPTOR(et), INTERVAL '12' SECOND))",
    f"SELECT window_start, window_end, item, qty, COUNT(item), GROUPING_ID(item, qty) FROM {HOP} "
    "GROUP BY window_start, window_end, CUBE(item, qty)",
    "SELECT id, item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et) AS rn "
    "FROM orders) WHERE rn = 1",
    f"SELECT window_start, window_end, COUNT(*), MAX(s) FROM (SELECT {BY_ITEM} FROM {HOP} "
    "GROUP BY item, window_start, window_end) GROUP BY window_start, window_end",
    f"SELECT id FROM orders WHERE item IN (SELECT item FROM ({ITEMS}) WHERE n = 2)",
    f"SELECT id FROM orders WHERE item NOT IN (SELECT item FROM ({ITEMS}) WHERE n = 2)",
    "SELECT id FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM orders AS p WHERE p.id = o.id + 1 "
    "AND p.price > 5)",
    f"SELECT id, (SELECT MAX(n) FROM ({ITEMS})) FROM orders WHERE price > (SELECT AVG(price) FROM "
    "orders)",
]


CUTS: list[tuple[int, int, tuple[int, ...]]] = [
    (2, 1, (2, 5)),
    (3, 2, ()),
    (1, 1, ()),
    (1, 3, (1, 2)),
]


@pytest.mark.parametrize("query", QUERIES)
def test_any_cut_into_epochs_and_any_parallelism(query: str) -> None:
    expected = sorted(with_tables().query(query).materialized(), key=str)
    assert expected
    for parallelism, records, restores in CUTS[: scaled(len(CUTS))]:
        session = with_tables(parallelism=parallelism)
        result = session.query(query, epoch_records=records, restore_after=restores)
        found = sorted(result.materialized(), key=str)
        assert found == expected, (parallelism, records, restores)


@pytest.mark.parametrize("phases", ["ONE_PHASE", "TWO_PHASE"])
def test_windows_of_another_clock_are_ranked_when_they_are_over(phases: str) -> None:
    """The ends of windows are hours before the watermark here."""
    query = (
        "SELECT n, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
        "window_end ORDER BY n DESC) AS rn FROM TABLE(TUMBLE(TABLE ticks, DESCRIPTOR(rt), "
        "INTERVAL '1' HOUR))) WHERE rn <= 1"
    )
    found = {}
    for zone in ("UTC", "America/New_York"):
        options = {"table.local-time-zone": zone, "table.optimizer.agg-phase-strategy": phases}
        result = with_tables(options=options).query(query, epoch_records=2)
        found[zone] = sorted(row[0] for _, row in result.rows)
    assert found["UTC"]
    assert found["UTC"] == found["America/New_York"]


def test_every_change_of_a_group_is_seen_if_wanted() -> None:
    session = with_tables()
    session.session.config.set("table.exec.mini-batch.enabled", "false")
    rows = session.query("SELECT COUNT(*) FROM people WHERE age > 30").rows
    assert [(k, r[0]) for k, r in rows] == [(0, 1), (1, 1), (2, 2), (1, 2), (2, 3)]


def test_every_last_row_is_seen_if_wanted() -> None:
    """By processing time, which batch mode has no order of."""
    session = with_tables(options={"table.exec.mini-batch.enabled": "false"})
    query = (
        "SELECT symbol, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY symbol ORDER BY pt "
        "DESC) AS rn FROM ticker WHERE id < 5) WHERE rn = 1"
    )
    assert [(k, tuple(r)) for k, r in session.query(query).rows] == [
        (0, ("ACME", 1)),
        (1, ("ACME", 1)),
        (2, ("ACME", 2)),
        (0, ("BETA", 3)),
        (1, ("ACME", 2)),
        (2, ("ACME", 4)),
    ]


def test_a_limit_counts_equal_rows_one_by_one() -> None:
    counts = "SELECT n FROM (SELECT id, COUNT(*) AS n FROM orders GROUP BY id) LIMIT 3"
    for records in (1, 4, 100):
        assert with_tables().query(counts, epoch_records=records).materialized() == [(1,)] * 3


def test_places_of_rows_in_batch_mode() -> None:
    query = (
        "SELECT id, NTILE(2) OVER (ORDER BY id), PERCENT_RANK() OVER (ORDER BY qty DESC), "
        "CUME_DIST() OVER (ORDER BY price), RANK() OVER (ORDER BY price), DENSE_RANK() OVER (ORDER "
        "BY price) FROM orders WHERE id < 6"
    )
    result = with_tables(batch=True).query(query, epoch_records=1)
    assert sorted(tuple(row) for _, row in result.rows) == [
        (1, 1, 0.5, 0.8, 4, 4),
        (2, 1, 0.75, 0.4, 2, 2),
        (3, 1, 1.0, 1.0, 5, 5),
        (4, 2, 0.0, 0.2, 1, 1),
        (5, 2, 0.25, 0.6, 3, 3),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT item, COUNT(DISTINCT price), SUM(DISTINCT price), MIN(qty), MAX(id), COUNT(*) "
        "FROM orders GROUP BY item",
        "SELECT COUNT(DISTINCT item) FILTER (WHERE price > 3), COUNT(item), SUM(qty) FROM orders",
        f"SELECT COUNT(DISTINCT n), SUM(n), MIN(n) FROM ({ITEMS})",
        "SELECT COUNT(DISTINCT et), SUM(price) FROM orders WHERE price > 1000",
    ],
)
def test_splitting_distinct_aggregates_changes_nothing(query: str) -> None:
    expected = sorted(with_tables().query(query).materialized(), key=str)
    options = {
        "table.optimizer.distinct-agg.split.enabled": "true",
        "table.optimizer.distinct-agg.split.bucket-num": "3",
    }
    for parallelism, records, restores in ((1, 100, ()), (3, 2, ()), (2, 1, (2, 5))):
        session = with_tables(parallelism=parallelism, options=options)
        assert "$bucket" in plan_text(session.plan(query))
        result = session.query(query, epoch_records=records, restore_after=restores)
        assert sorted(result.materialized(), key=str) == expected
