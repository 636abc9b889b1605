"""`EXPLAIN ESTIMATED_COST`: how many rows the parts of a plan have."""

from __future__ import annotations

import pytest

from headrace.sql.catalog import TableStatistics
from tests.sql.sessions import with_tables

UNION = "SELECT id FROM orders UNION ALL (SELECT rate FROM rates ORDER BY rate LIMIT 3)"


@pytest.mark.parametrize(
    ("query", "node", "rows"),
    [
        ("SELECT a.id FROM orders AS a LEFT JOIN rates AS b ON a.item = b.item", "Join", 9),
        ("SELECT a.id FROM rates AS b JOIN orders AS a ON a.item = b.item", "Join", 9),
        ("SELECT a.id FROM orders AS a RIGHT JOIN rates AS b ON a.item = b.item", "Join", None),
        ("SELECT a.id FROM orders AS a JOIN orders AS b ON a.item = b.item", "Join", None),
        ("SELECT a.id FROM orders AS a, rates AS b", "Join", 90),
        ("SELECT id FROM orders WHERE id > 3", "Calc", None),
        (UNION, "Union", 12),
        (f"SELECT COUNT(*) FROM ({UNION})", "GlobalAggregate", 1),
        ("SELECT item, COUNT(*) FROM orders GROUP BY item", "GlobalAggregate", None),
        ("SELECT name FROM people", "Scan", None),
    ],
)
def test_rows_are_known_where_statistics_tell(query: str, node: str, rows: int | None) -> None:
    session = with_tables(batch=True)
    catalog = session.session.catalogs.find_catalog("default_catalog")
    assert catalog is not None
    for table, count in (("orders", 9), ("rates", 10)):
        statistics = TableStatistics(row_count=count)
        catalog.put_table_statistics("default_database", table, statistics)
    plan = session.explain(f"EXPLAIN ESTIMATED_COST {query}").split("== Optimized")[1]
    (line,) = [x for x in plan.splitlines() if x.lstrip(" :+-").startswith(f"{node}(")][:1]
    assert line.endswith(")" if rows is None else f": rowcount = {rows}")
    assert "rowcount" not in session.explain(f"EXPLAIN {query}")
