"""What Flink 2.3 refuses, or fails at, is refused here too, unless it is listed as more than Flink.

The statements are those of `cases` for which `golden` has an error.
"""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from tests.sql.sessions import case_files, case_options, golden, with_tables

STREAMING, BATCH, BOTH = ("streaming",), ("batch",), ("streaming", "batch")

_ONE_KEY = "Flink wants a key of each row, not one for all"

# (a part of the statement, in which modes Flink refuses it, why headrace runs it)
BEYOND_FLINK: list[tuple[str, tuple[str, ...], str]] = [
    ("TABLE(SESSION(", BATCH, "Flink has no session windows in batch mode"),
    ("SESSION_START(", BATCH, "Flink has no session windows in batch mode"),
    ("TUMBLE_ROWTIME(", BATCH, "Flink finds no plan for it"),
    ("TUMBLE_START(rt,", BATCH, "Flink meets a bug of its own"),
    ("RANGE BETWEEN INTERVAL '", BATCH, "the code that Flink generates takes times for numbers"),
    ("COUNT(DISTINCT price) OVER", BATCH, "Flink has DISTINCT in OVER on streams only"),
    ("RANK() OVER (ORDER BY rt)", BATCH, "Flink's ranks do not know TIMESTAMP_LTZ"),
    ("BITMAP_BUILD_AGG(", BATCH, "the job fails in Flink"),
    ("COUNT(DISTINCT BITMAP_BUILD(", BATCH, "Flink would have to sort bitmaps; a hash will do"),
    ("ORDER BY id OFFSET 6", BATCH, "Flink sorts with a limit only"),
    (
        "TABLE(TUMBLE(TABLE ticker, DESCRIPTOR(pt),",
        BATCH,
        "Flink has windows of processing time on streams only",
    ),
    ("SELECT APPROX_COUNT_DISTINCT(item)", STREAMING, "the count is exact, and so needs no sketch"),
    ("PATTERN (S A{,2} B)", BOTH, "Flink reads {,n} and then wants a lower bound above 0"),
    ("GROUP BY item QUALIFY", BOTH, "Flink's planner fails with a ClassCastException"),
    ("SUM(qty) OVER (PARTITION BY item ORDER BY price DE", STREAMING, "Flink orders OVER upwards"),
    ("SUM(price) OVER (PARTITION BY item ORDER BY et DE", STREAMING, "Flink orders OVER upwards"),
    ("SUM(qty) OVER (PARTITION BY item ORDER BY price,", STREAMING, "Flink orders by one column"),
    ("LAG(price) OVER (PARTITION BY item ORDER BY price)", STREAMING, "the job fails in Flink"),
    ("COUNT(*) OVER (ORDER BY price, id)", STREAMING, "Flink orders by one column"),
    ("SUM(v) OVER (PARTITION BY k ORDER BY v DESC)", STREAMING, "Flink orders OVER upwards"),
    ("OVER (PARTITION BY item ORDER BY qty)", STREAMING, "Flink has one order of OVER only"),
    ("LEFT JOIN stock FOR SYSTEM_TIME AS OF o.pt AS s ON s.item = 'fig'", STREAMING, _ONE_KEY),
    ("JOIN stock FOR SYSTEM_TIME AS OF o.pt AS s ON s.item = 'fig' AND", STREAMING, _ONE_KEY),
    ("ON b.item = 'fig' AND b.amount > o.price", STREAMING, _ONE_KEY),
    ("ON o.side = p.side AND p.id > o.id", STREAMING, _ONE_KEY),
    ("JOIN stocked FOR SYSTEM_TIME AS OF", BOTH, "Flink looks up tables only, not views of them"),
    ("JOIN people FOR SYSTEM_TIME AS OF o.pt", BOTH, "Flink cannot look up files"),
]


def beyond(mode: str, query: str) -> list[str]:
    """The parts of a statement that are more than Flink can do."""
    return [part for part, modes, _ in BEYOND_FLINK if mode in modes and part in query]


def refused(more: bool) -> list[Any]:
    """Statements that Flink refuses; those that headrace runs, or the others."""
    return [
        pytest.param(mode, name, query, id=f"{mode}-{name}-{number}")
        for mode in BOTH
        for name in case_files()
        for number, (query, expected) in enumerate(golden(name, mode).items(), 1)
        if "error" in expected and bool(beyond(mode, query)) == more
    ]


def run(mode: str, file: str, query: str) -> None:
    session = with_tables(mode == "batch", parallelism=2, options=case_options(file))
    (session.explain if query.startswith("EXPLAIN") else session.query)(query)


@pytest.mark.parametrize(("mode", "file", "query"), refused(more=False))
def test_what_flink_refuses_is_refused(mode: str, file: str, query: str) -> None:
    with pytest.raises(HeadraceError):
        run(mode, file, query)


@pytest.mark.parametrize(("mode", "file", "query"), refused(more=True))
def test_what_is_more_than_flink_runs(mode: str, file: str, query: str) -> None:
    run(mode, file, query)


def test_each_entry_is_about_a_statement_that_flink_refuses() -> None:
    used = {
        (mode, part)
        for mode in BOTH
        for name in case_files()
        for query, expected in golden(name, mode).items()
        if "error" in expected
        for part in beyond(mode, query)
    }
    assert used == {(mode, part) for part, modes, _ in BEYOND_FLINK for mode in modes}
