"""What time does to window joins: late rows are dropped, and rows wait for the slower side."""

from __future__ import annotations

from pathlib import Path

from tests.sql.test_interval_joins import changes

WINDOW = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(et), INTERVAL '10' SECOND))"
JOIN = (
    f"SELECT l.v, r.v FROM {WINDOW.format('l')} AS l {{}} {WINDOW.format('r')} AS r "
    "ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
)


def test_late_rows_are_dropped_on_both_sides(tmp_path: Path) -> None:
    pairs = changes(
        tmp_path,
        "1,1,1 1,2,2 1,3,15 1,4,3 1,5,16",
        "1,6,1 1,7,15 1,8,16 1,9,4 1,10,17",
        JOIN.format("FULL JOIN"),
    )
    assert sorted(pairs) == [(0, 1, 6), (0, 2, 6), *((0, v, w) for v in (3, 5) for w in (7, 8, 10))]


def test_rows_wait_for_the_slower_side(tmp_path: Path) -> None:
    pairs = changes(
        tmp_path,
        "1,1,1 1,2,15 1,3,25 1,4,35",
        "1,5,1 1,6,2 1,7,3 1,8,4 1,9,45",
        JOIN.format("LEFT JOIN"),
    )
    assert sorted(pairs, key=str) == sorted(
        [*((0, 1, w) for w in (5, 6, 7, 8)), (0, 2, None), (0, 3, None), (0, 4, None)], key=str
    )
