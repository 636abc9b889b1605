"""Batch mode, streams and Spark SQL agree on statements and rows that hypothesis draws.

Batch mode runs on headrace's operators and, where that is possible, as one query of Spark. The same
statements are drawn every time; HEADRACE_SQL_EXAMPLES draws so many others.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import scaled
from tests.sql.sessions import LocalSession
from tests.sql.statement_grammar import Pair, statements
from tests.sql.test_against_spark import (
    COURSES,
    DRAWN,
    FILES,
    PHASES,
    Course,
    Rows,
    load,
    ordered,
    rows,
    spark,
    write_parquet,
)

__all__ = ["spark"]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
EXAMPLES = int(os.environ.get(DRAWN) or scaled(6))


def test_all_ways_agree(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    @given(
        found=rows(times_differ=True),
        drawn=st.lists(statements(), min_size=3, max_size=3),
        course=COURSES,
    )
    @settings(
        max_examples=EXAMPLES,
        derandomize=DRAWN not in os.environ,
        database=None,
        phases=PHASES,
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    def same_rows(found: Rows, drawn: list[Pair], course: Course) -> None:
        folder = tmp_path_factory.mktemp("rows")
        write_parquet(folder, found)
        load(spark, found)
        spark.table("t").createOrReplaceTempView("u")
        options = {"table.exec.mini-batch.enabled": str(not course.every_change).lower()}
        batch = LocalSession(batch=True, parallelism=2)
        stream = LocalSession(parallelism=course.parallelism, options=options)
        for session in (batch, stream):
            for name in "tu":
                session.execute(FILES.replace("TABLE t ", f"TABLE {name} ").format(path=folder))
        for ours, theirs in drawn:
            expected = ordered(spark.sql(theirs).collect())
            assert ordered(batch.query(ours).materialized()) == expected, ours
            on_spark = batch.query_on_spark(ours)
            if on_spark is not None:
                assert ordered(on_spark.materialized()) == expected, ours
            streamed = stream.query(
                ours,
                epoch_records=course.epoch_records,
                restore_after=course.restores,
                shuffle_seed=course.shuffle_seed,
            )
            assert ordered(streamed.materialized()) == expected, ours

    same_rows()
