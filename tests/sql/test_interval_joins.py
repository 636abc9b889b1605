"""What time does to interval joins: rows are forgotten, outer ones come out, late ones too."""

from __future__ import annotations

from pathlib import Path

from tests.sql.sessions import LocalSession

TABLE = """
CREATE TABLE {} (k INT, v INT, s INT, et AS TO_TIMESTAMP_LTZ(s * 1000, 3), pt AS PROCTIME(),
  WATERMARK FOR et AS et) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')
"""


def changes(tmp_path: Path, left: str, right: str, query: str) -> list[tuple[object, ...]]:
    """An epoch takes ten seconds, and reads a row of each table."""
    session = LocalSession()
    for name, rows in (("l", left), ("r", right)):
        (tmp_path / name).write_text(rows.replace(" ", "\n"), encoding="utf-8")
        session.execute(TABLE.format(name, tmp_path / name))
    result = session.query(query, epoch_records=1, epoch_ms=10_000)
    return [(kind, *row) for kind, row in result.rows]


def test_processing_time_is_when_rows_come(tmp_path: Path) -> None:
    rows = "1,1,0 1,2,0 1,3,0 1,4,0"
    pairs = changes(
        tmp_path,
        rows,
        rows,
        "SELECT l.v, r.v FROM l JOIN r ON l.k = r.k "
        "AND l.pt BETWEEN r.pt - INTERVAL '1' SECOND AND r.pt + INTERVAL '15' SECOND",
    )
    assert sorted(pairs) == [(0, v, w) for v in range(1, 5) for w in (v - 1, v) if w]


def test_outer_rows_come_out_when_processing_time_has_passed_them(tmp_path: Path) -> None:
    rows = "1,1,0 1,2,0 1,3,0 1,4,0"
    pairs = changes(
        tmp_path,
        rows,
        rows,
        "SELECT l.v, r.v FROM l LEFT JOIN r ON l.k = r.k AND l.v = r.v + 10 "
        "AND l.pt BETWEEN r.pt - INTERVAL '15' SECOND AND r.pt",
    )
    # As in Flink, what waits when the input ends never comes out.
    assert pairs == [(0, 1, None), (0, 2, None)]


def test_late_rows_meet_what_is_still_there(tmp_path: Path) -> None:
    pairs = changes(
        tmp_path,
        "1,1,100 1,2,200 1,3,197 1,4,100",
        "1,5,100 1,6,198 1,7,200 1,8,200",
        "SELECT l.v, r.v FROM l LEFT JOIN r ON l.k = r.k "
        "AND l.et BETWEEN r.et - INTERVAL '5' SECOND AND r.et + INTERVAL '5' SECOND",
    )
    pad = (0, 4, None)
    assert sorted(set(pairs) - {pad}) == [
        (0, 1, 5),
        *((0, v, w) for v in (2, 3) for w in (6, 7, 8)),
    ]
    assert pad in pairs


def test_the_first_row_behind_a_regular_join_is_not_decided_by_late_rows(tmp_path: Path) -> None:
    rows = changes(
        tmp_path,
        "1,1,100 1,2,200 1,3,300 2,4,50",
        "1,5,500 1,6,500 1,7,500 2,8,500",
        "SELECT k, v FROM (SELECT l.k, l.v, ROW_NUMBER() OVER (PARTITION BY l.k ORDER BY l.et) "
        "AS n FROM l JOIN r ON l.k = r.k) WHERE n = 1",
    )
    assert {row[1:] for row in rows} == {(1, 1), (2, 4)}
