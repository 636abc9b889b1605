"""SQL on Spark: queries that print and collect, INSERTs that wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, SqlError
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment


def test_statements_run_as_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE f (a INT, b STRING) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/f', 'format' = 'csv')"
    )
    t_env.execute_sql("INSERT INTO f VALUES (1, 'x'), (2, 'y'), (3, 'x')").wait()
    with t_env.execute_sql("SELECT b, SUM(a) FROM f GROUP BY b").collect() as rows:
        final = {row[0]: row[1] for row in rows if str(row.get_row_kind()) in ("+I", "+U")}
    assert final == {"x": 4, "y": 2}
    t_env.execute_sql("CREATE TABLE p (n BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql("INSERT INTO p SELECT COUNT(*) FROM f").wait()
    shown = capsys.readouterr().out.splitlines()
    assert [line.rpartition("> ")[2] for line in shown if "[" in line][-1].endswith("[3]")


def test_execute_after_an_insert_waits_for_it() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql("CREATE TABLE nothing (a INT) WITH ('connector' = 'blackhole')")
    inserted = t_env.execute_sql("INSERT INTO nothing VALUES (1), (2)")
    with pytest.warns(DeprecationWarning, match="after an INSERT"):
        result = env.execute()
    assert result.get_job_id() == inserted.get_job_client().get_job_id()
    env.from_collection([1]).print()
    env.execute()
    with pytest.raises(GraphError, match="No operators defined"):
        env.execute()


def test_a_number_of_first_rows_is_refused_before_a_job_runs() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table = t_env.from_elements([(1,)], ["n"])
    with pytest.raises(SqlError, match="equal or larger than 0"):
        table.show(-1)
    with pytest.raises(FunctionTypeError, match="must be an int, not 'x'"):
        table.head("x")  # type: ignore[arg-type]
