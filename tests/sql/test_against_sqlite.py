"""Subqueries and OVER give what SQLite computes of all rows, however a stream is cut and run.

Hypothesis draws the rows, how they are cut into epochs and divided between subtasks, and where the
job fails and goes on from its state.
"""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.examples import scaled
from tests.sql.sessions import LocalSession

pytestmark = pytest.mark.timeout(600)

TABLE = """
CREATE TABLE t (id INT, item STRING, price INT, qty INT)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = 'null')
"""
ITEMS = "(SELECT item, COUNT(*) AS n, MAX(price) AS top FROM t GROUP BY item)"
OVER = [
    "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY price) AS s FROM t",
    "SELECT id, SUM(qty) OVER (ORDER BY id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) "
    "AS s, COUNT(*) OVER (ORDER BY price) AS n FROM t",
    "SELECT id, MIN(price) OVER (PARTITION BY item ORDER BY qty DESC) AS s FROM t",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id) AS n FROM t",
    "SELECT id, RANK() OVER (ORDER BY price) AS r, DENSE_RANK() OVER (ORDER BY price) AS d FROM t",
    "SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY id) AS p FROM t",
    f"SELECT item, SUM(n) OVER (ORDER BY top, item) AS s FROM {ITEMS} AS i",
    f"SELECT n, COUNT(*) OVER (ORDER BY n) AS c FROM {ITEMS} AS i",
    "SELECT s, COUNT(*) AS n FROM (SELECT SUM(price) OVER (PARTITION BY item ORDER BY qty) AS s "
    "FROM t) AS o GROUP BY s",
]
QUERIES = [
    *OVER,
    "SELECT id FROM t WHERE qty IN (SELECT price FROM t)",
    "SELECT id FROM t WHERE qty NOT IN (SELECT price FROM t WHERE price > 3)",
    "SELECT id FROM t WHERE qty NOT IN (SELECT price FROM t)",
    "SELECT id FROM t AS o WHERE qty NOT IN (SELECT price FROM t AS p WHERE p.item = o.item)",
    "SELECT id FROM t AS o WHERE qty NOT IN (SELECT price FROM t AS p WHERE p.id < o.id)",
    "SELECT id FROM t WHERE (item, qty) NOT IN (SELECT item, price FROM t WHERE id > 2)",
    "SELECT id, qty IN (SELECT price FROM t WHERE id > 3) AS f FROM t",
    "SELECT id, (item, qty) IN (SELECT item, price FROM t WHERE id > 2) AS f FROM t",
    "SELECT id FROM t WHERE price > 4 OR qty IN (SELECT price FROM t WHERE id < 4)",
    "SELECT id FROM t AS o WHERE NOT EXISTS (SELECT 1 FROM t AS p WHERE p.item = o.item AND "
    "p.price > o.price)",
    "SELECT id FROM t AS o WHERE EXISTS (SELECT 1 FROM t AS p WHERE p.qty > o.price)",
    "SELECT id FROM t AS o WHERE price = 1 OR NOT EXISTS (SELECT 1 FROM t AS p WHERE p.qty = "
    "o.price AND p.id <> o.id)",
    "SELECT id FROM t AS o WHERE EXISTS (SELECT 1 FROM t AS p WHERE p.id = o.id + 1 AND EXISTS "
    "(SELECT 1 FROM t AS q WHERE q.price > o.price AND q.item = p.item))",
    "SELECT id FROM t AS o WHERE id IN (SELECT p.price FROM t AS p WHERE p.item = o.item UNION "
    "SELECT q.qty FROM t AS q)",
    "SELECT id, (SELECT COUNT(*) FROM t AS p WHERE p.item = o.item) AS n FROM t AS o",
    "SELECT id, (SELECT MAX(p.price) FROM t AS p WHERE p.id < o.id) AS m FROM t AS o",
    "SELECT id, (SELECT COUNT(*) FROM t AS p WHERE p.price > o.qty) AS n FROM t AS o",
    "SELECT id, (SELECT p.price FROM t AS p WHERE p.item = o.item ORDER BY p.price DESC, p.id "
    "LIMIT 1) AS m FROM t AS o WHERE price IS NOT NULL",
    "SELECT id, (SELECT COUNT(*) FROM t AS p WHERE p.price < (SELECT MAX(q.qty) FROM t AS q WHERE "
    "q.item = o.item)) AS n FROM t AS o",
    "SELECT item, SUM(price) AS s FROM t AS o GROUP BY item HAVING SUM(price) > (SELECT MIN(price) "
    "FROM t) OR EXISTS (SELECT 1 FROM t AS p WHERE p.item = o.item AND p.qty = 1)",
    "SELECT item, (SELECT MAX(p.price) FROM t AS p WHERE p.item = o.item) AS m, COUNT(*) AS n "
    "FROM t AS o GROUP BY item",
    "SELECT qty IN (SELECT price FROM t) AS k, COUNT(*) AS n FROM t GROUP BY qty IN (SELECT price "
    "FROM t)",
    "SELECT item, SUM(CASE WHEN qty IN (SELECT price FROM t) THEN 1 ELSE 0 END) AS n FROM t GROUP "
    "BY item",
    f"SELECT id FROM t WHERE price IN (SELECT top FROM {ITEMS} AS i WHERE n > 1)",
    f"SELECT id FROM t WHERE item NOT IN (SELECT item FROM {ITEMS} AS i WHERE n = 1)",
    f"SELECT item, n FROM {ITEMS} AS o WHERE n > (SELECT MIN(n) FROM {ITEMS} AS p WHERE p.top = "
    "o.top) OR top = (SELECT MAX(top) FROM "
    f"{ITEMS} AS q)",
    "SELECT a.id, b.id AS other FROM t AS a LEFT JOIN t AS b ON a.qty = b.price AND a.price > "
    "(SELECT MIN(price) FROM t)",
]

Rows = list[tuple[Any, ...]]

ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["a", "b"]),
        st.none() | st.integers(0, 5),
        st.none() | st.integers(0, 4),
    ),
    min_size=1,
    max_size=9,
).map(lambda found: [(number, *row) for number, row in enumerate(found)])


def expected(rows: Rows, query: str) -> Rows:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (id INT, item TEXT, price INT, qty INT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        return sorted(database.execute(query).fetchall(), key=repr)


def write(folder: Path, rows: Rows) -> None:
    """The rows in two files, so that there is more than one split."""
    for number in range(2):
        with (folder / f"part-{number}.csv").open("w", newline="", encoding="utf-8") as file:
            for row in rows[number::2]:
                csv.writer(file).writerow(["null" if c is None else c for c in row])


def plain(row: Any) -> tuple[Any, ...]:
    """Truth values are numbers in SQLite."""
    return tuple(int(c) if isinstance(c, bool) else c for c in row)


@pytest.mark.parametrize("query", QUERIES)
def test_final_rows(query: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @given(
        rows=ROWS,
        epoch_records=st.integers(1, 4),
        restores=st.sets(st.integers(1, 4), max_size=2).map(lambda found: tuple(sorted(found))),
        parallelism=st.integers(1, 3),
        seed=st.integers(0, 99),
        every_change=st.booleans(),
    )
    @settings(
        max_examples=scaled(4),
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    def same(
        rows: Rows,
        epoch_records: int,
        restores: tuple[int, ...],
        parallelism: int,
        seed: int,
        every_change: bool,
    ) -> None:
        folder = tmp_path_factory.mktemp("rows")
        write(folder, rows)
        options = {"table.exec.mini-batch.enabled": str(not every_change).lower()}
        session = LocalSession(parallelism=parallelism, options=options)
        session.execute(TABLE.format(path=folder))
        result = session.query(
            query, epoch_records=epoch_records, restore_after=restores, shuffle_seed=seed
        )
        found = sorted((plain(r) for r in result.materialized()), key=repr)
        assert found == expected(rows, query)
        batch = LocalSession(batch=True, parallelism=parallelism)
        batch.execute(TABLE.format(path=folder))
        assert sorted((plain(r) for _, r in batch.query(query).rows), key=repr) == found

    same()
