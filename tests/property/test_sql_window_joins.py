"""Window joins give all pairs of each window when it is over, and outer rows with NULL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.property.test_sql_interval_joins import ROWS, times, with_sides

WINDOWS = {
    "TUMBLE": "INTERVAL '3' SECOND",
    "HOP": "INTERVAL '2' SECOND, INTERVAL '4' SECOND",
    "CUMULATE": "INTERVAL '2' SECOND, INTERVAL '6' SECOND",
    "SESSION": "INTERVAL '2' SECOND",
}
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS")
COLUMNS = ("k", "v", "s", "start_s", "end_s")
Row = tuple[Any, ...]


def windowed(kind: str, rows: list[Row]) -> list[Row]:
    """Rows with start and end of each window that they are in; sessions are of their key."""
    if kind == "SESSION":
        return list(sessions(rows))
    found = []
    for row in rows:
        at = row[2]
        if kind == "TUMBLE":
            found.append((*row, at // 3 * 3, at // 3 * 3 + 3))
        elif kind == "HOP":
            found += [(*row, s, s + 4) for s in range(at // 2 * 2 - 2, at + 1, 2)]
        else:
            start = at // 6 * 6
            found += [(*row, start, e) for e in range(at // 2 * 2 + 2, start + 7, 2)]
    return found


def sessions(rows: list[Row], gap: int = 2) -> Iterable[Row]:
    for key in {row[0] for row in rows}:
        together: list[Row] = []
        for row in sorted((r for r in rows if r[0] == key), key=lambda r: r[2]):
            if together and row[2] > together[-1][2] + gap:
                yield from ((*r, together[0][2], together[-1][2] + gap) for r in together)
                together = []
            together.append(row)
        yield from ((*r, together[0][2], together[-1][2] + gap) for r in together)


def expected(kind: str, further: bool, left: list[Row], right: list[Row]) -> Counter[Any]:
    def matches(a: Row, b: Row) -> bool:
        return a[0] is not None and a[0] == b[0] and a[3:] == b[3:] and (a[1] < b[1] or not further)

    nulls = (None,) * 5
    if kind in ("EXISTS", "NOT EXISTS"):
        return Counter(a for a in left if any(matches(a, b) for b in right) is (kind == "EXISTS"))
    result = Counter((*a, *b) for a in left for b in right if matches(a, b))
    if kind in ("LEFT JOIN", "FULL JOIN"):
        result.update((*a, *nulls) for a in left if not any(matches(a, b) for b in right))
    if kind in ("RIGHT JOIN", "FULL JOIN"):
        result.update((*nulls, *b) for b in right if not any(matches(a, b) for a in left))
    return result


def query_of(kind: str, window: str, further: bool) -> str:
    partition = "PARTITION BY k" if window == "SESSION" else ""

    def side(name: str) -> str:
        made = f"TABLE({window}(TABLE {name} {partition}, DESCRIPTOR(ts), {WINDOWS[window]}))"
        # Seconds are compared more easily than times.
        seconds = ", ".join(
            f"TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_{c}) AS {c}_s"
            for c in ("start", "end")
        )
        return f"(SELECT *, {seconds} FROM {made})"

    on = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    on += " AND l.v < r.v" if further else ""
    if "EXISTS" in kind:
        where = f"WHERE {kind} (SELECT * FROM {side('r')} AS r WHERE {on})"
        return f"SELECT {', '.join(COLUMNS)} FROM {side('l')} AS l {where}"
    columns = ", ".join(f"{t}.{c} AS {t}_{c}" for t in "lr" for c in COLUMNS)
    return f"SELECT {columns} FROM {side('l')} AS l {kind} {side('r')} AS r ON {on}"


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", KINDS)
@examples(6, phases=[Phase.explicit, Phase.generate])
@given(
    left=ROWS.map(times),
    right=ROWS.map(times),
    further=st.booleans(),
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    restored=st.booleans(),
    batch=st.booleans(),
)
def test_all_pairs_of_a_window_come_out_once(
    kind: str,
    window: str,
    left: list[Any],
    right: list[Any],
    further: bool,
    epoch_records: int,
    parallelism: int,
    restored: bool,
    batch: bool,
) -> None:
    further = further and "EXISTS" not in kind
    batch = batch and window != "SESSION"
    query = query_of(kind, window, further)
    running: dict[str, Any] = {"epoch_records": epoch_records}
    if restored:
        running |= {"restore_after": [1, 3], "rescale_after": {2: parallelism % 3 + 1}}
    session = with_sides(left, right, parallelism, batch)
    found = session.query(query, **({} if batch else running))
    assert {change for change, _ in found.rows} <= {0}
    wanted = expected(kind, further, windowed(window, left), windowed(window, right))
    assert Counter(tuple(row) for _, row in found.rows) == wanted
