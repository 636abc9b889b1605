"""What programs of PyFlink do with tables that no recorded probe can show."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import (
    DataTypes,
    PlanReference,
    Schema,
    SqlDialect,
    StreamTableEnvironment,
    TableDescriptor,
)
from headrace.table.expressions import col
from tests.sql.sessions import rows_of


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    found = StreamTableEnvironment.create(env)
    found.get_config().set("table.exec.spark-segments", "false")
    return found


@pytest.mark.parametrize(("ignored", "first"), [("true", 2), ("false", 1)])
def test_older_csv_tables_may_begin_with_names(
    t_env: StreamTableEnvironment, tmp_path: Path, ignored: str, first: int
) -> None:
    (tmp_path / "numbers.csv").write_text("1;a\n2;b\n3;c\n")
    t_env.execute_sql(f"""CREATE TABLE numbers (n INT, s STRING) WITH (
        'connector.type' = 'filesystem', 'connector.path' = '{tmp_path}', 'format.type' = 'csv',
        'format.ignore-first-line' = '{ignored}', 'format.field-delimiter' = ';')""")
    rows = rows_of(t_env, t_env.from_path("numbers"))
    assert [n for n, _ in rows] == list(range(first, 4))


def test_the_mode_of_an_environment_is_that_of_its_tables() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert StreamTableEnvironment.create(env)._session.batch


def test_plans_of_the_table_api_can_be_kept(t_env: StreamTableEnvironment, tmp_path: Path) -> None:
    schema = Schema.new_builder().column("a", DataTypes.BIGINT()).build()
    t_env.create_temporary_table(
        "sink", TableDescriptor.for_connector("print").schema(schema).build()
    )
    table = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    plan = table.filter(col("a") > 1).select(col("a") * 10).insert_into("sink").compile_plan()
    plan.write_to_file(str(tmp_path / "plan.json"))
    again = t_env.load_plan(PlanReference.from_file(str(tmp_path / "plan.json")))
    assert again.as_json_string() == plan.as_json_string()
    assert "Sink" in again.explain()
    other = PlanReference.from_json_string(
        plan.as_json_string().replace('version": "', 'version": "9')
    )
    with pytest.raises(HeadraceError, match=r"compiled by release 9.* compile it again"):
        t_env.load_plan(other).explain()


def test_statements_are_read_in_the_default_dialect_alone(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set_sql_dialect(SqlDialect.HIVE)
    with pytest.raises(SqlError, match="no parser for the SQL dialect 'hive'"):
        t_env.execute_sql("SHOW TABLES")
    t_env.execute_sql("SET 'table.sql-dialect' = 'default'")
    t_env.execute_sql("SHOW TABLES")
