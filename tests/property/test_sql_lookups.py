"""Lookup joins of random rows, whatever the cut into epochs, the parallelism and the restores."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.sql.sessions import LocalSession

KEYS = st.one_of(st.none(), st.integers(0, 4))
LEFT = st.lists(st.tuples(st.integers(0, 3), KEYS), min_size=1, max_size=12)
RIGHT = st.lists(st.tuples(KEYS, st.integers(0, 5)), min_size=1, max_size=8)


def values(rows: list[Any], names: str) -> str:
    """Rows as a relation of SQL."""
    cells = (", ".join("CAST(NULL AS INT)" if v is None else str(v) for v in row) for row in rows)
    return f"(VALUES {', '.join(f'({c})' for c in cells)}) AS t({names})"


@examples(15)
@given(
    left=LEFT,
    right=RIGHT,
    outer=st.booleans(),
    grouped=st.booleans(),
    kept=st.booleans(),
    least=st.integers(0, 4),
    parallelism=st.integers(1, 3),
    epoch_records=st.integers(1, 5),
    restore_after=st.sets(st.integers(1, 4), max_size=2),
)
def test_the_result_is_that_of_a_join(
    left: list[Any],
    right: list[Any],
    outer: bool,
    grouped: bool,
    kept: bool,
    least: int,
    parallelism: int,
    epoch_records: int,
    restore_after: set[int],
) -> None:
    strategy = "TRY_RESOLVE" if kept else "IGNORE"
    session = LocalSession(
        parallelism=parallelism,
        options={"table.optimizer.non-deterministic-update.strategy": strategy},
    )
    session.execute(f"CREATE VIEW dim AS SELECT * FROM {values(right, 'k, v')}")
    rows = f"SELECT k, a AS n FROM {values(left, 'a, k')}"
    expected = [(k, a) for a, k in left]
    if grouped:
        rows = f"SELECT k, SUM(a) AS n FROM {values(left, 'a, k')} GROUP BY k"
        sums = Counter[Any]()
        for a, k in left:
            sums[k] += a
        expected = list(sums.items())
    query = (
        f"SELECT o.k, o.n, d.v FROM (SELECT *, PROCTIME() AS pt FROM ({rows})) AS o "
        f"{'LEFT' if outer else ''} JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d "
        f"ON o.k = d.k AND d.v >= {least} AND d.v + o.n < 9"
    )
    result = session.query(query, epoch_records=epoch_records, restore_after=restore_after)
    joined: Counter[Any] = Counter()
    for k, total in expected:
        partners = [v for key, v in right if k is not None and key == k]
        fitting = [v for v in partners if v >= least and v + total < 9]
        joined.update((k, total, v) for v in fitting or ([None] if outer else []))
    assert Counter(map(tuple, result.materialized())) == joined
