"""Plans that are kept, and tables as older programs describe them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.connectors.legacy_keys import modern_options
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    ModelDescriptor,
    PlanReference,
    TableEnvironment,
)
from headrace.table import Schema as TableSchema
from headrace.table.descriptors import Rowtime, Schema


def environment() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_a_plan_brings_its_tables_and_views_with_it(tmp_path: Path) -> None:
    t_env = environment()
    t_env.execute_sql("CREATE DATABASE db")
    t_env.execute_sql("USE db")
    t_env.execute_sql("CREATE TABLE source (a INT, b STRING) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE VIEW v AS SELECT a + 1 AS a, b FROM source")
    t_env.execute_sql("USE default_database")
    t_env.execute_sql("CREATE TABLE sink (a INT, b STRING) WITH ('connector' = 'blackhole')")
    plan = t_env.compile_plan_sql("INSERT INTO sink SELECT a, UPPER(b) FROM db.v")
    file = tmp_path / "plan.json"
    plan.write_to_file(str(file))
    plan.write_to_file(str(file), ignore_if_exists=True)
    with pytest.raises(HeadraceError, match="Cannot overwrite the plan file"):
        plan.write_to_file(str(file))
    loaded = environment().load_plan(PlanReference.from_file(str(file)))
    assert loaded.explain() == plan.explain()
    assert "Scan(table=[default_catalog.db.source]" in loaded.explain()
    assert loaded.as_json_string() == plan.as_json_string()


def test_a_plan_brings_its_models_with_it() -> None:
    t_env = environment()
    t_env.execute_sql("CREATE TABLE source (a STRING) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE sink (a STRING, b STRING) WITH ('connector' = 'blackhole')")
    t_env.execute_sql(
        "CREATE TEMPORARY MODEL m INPUT (a STRING) OUTPUT (b STRING) WITH ('provider' = 'openai', "
        "'endpoint' = 'http://x/chat/completions', 'api-key' = 'k', 'model' = 'm')"
    )
    insert = "INSERT INTO sink SELECT a, b FROM ML_PREDICT(TABLE source, MODEL m, DESCRIPTOR(a))"
    plan = t_env.compile_plan_sql(insert)
    loaded = environment().load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert loaded.explain() == plan.explain()
    assert "ML_PREDICT(MODEL default_catalog.default_database.m" in loaded.explain()


def test_a_model_that_is_an_object_cannot_be_kept() -> None:
    t_env = environment()
    t_env.execute_sql("CREATE TABLE source (a STRING) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE sink (a STRING) WITH ('connector' = 'blackhole')")
    columns = TableSchema.new_builder().column("a", DataTypes.STRING()).build()
    model = ModelDescriptor.for_provider(str.upper).input_schema(columns).output_schema(columns)
    t_env.create_temporary_model("m", model.build())
    insert = "INSERT INTO sink SELECT a FROM ML_PREDICT(TABLE source, MODEL m, DESCRIPTOR(a))"
    with pytest.raises(SqlError, match=r"the model default_catalog.*m is a Python object"):
        t_env.compile_plan_sql(insert)


def test_only_plans_of_inserts_are_compiled_and_loaded() -> None:
    t_env = environment()
    with pytest.raises(SqlError, match="statement of type INSERT"):
        t_env.compile_plan_sql("SELECT 1")
    with pytest.raises(HeadraceError, match="not a compiled plan"):
        t_env.load_plan(PlanReference.from_json_string("{}"))
    with pytest.raises(HeadraceError, match="not a compiled plan"):
        t_env.load_plan(PlanReference.from_smile_bytes(b""))


def test_legacy_keys_are_todays_options() -> None:
    given = {
        "connector.type": "kafka",
        "connector.version": "universal",
        "connector.topic": "t",
        "connector.startup-mode": "earliest-offset",
        "connector.properties.bootstrap.servers": "localhost:1",
        "connector.properties.0.key": "group.id",
        "connector.properties.0.value": "g",
        "format.type": "json",
        "format.fail-on-missing-field": "true",
        "update-mode": "append",
    }
    assert modern_options(given, "t") == {
        "connector": "kafka",
        "topic": "t",
        "scan.startup.mode": "earliest-offset",
        "properties.bootstrap.servers": "localhost:1",
        "properties.group.id": "g",
        "format": "json",
        "json.fail-on-missing-field": "true",
    }
    with pytest.raises(SqlError, match=r"legacy option 'connector\.nope'"):
        modern_options({"connector.type": "kafka", "connector.nope": "1"}, "t")


def test_legacy_descriptors_are_properties() -> None:
    rowtime = Rowtime().timestamps_from_field("x").watermarks_periodic_bounded(1000)
    schema = Schema().field("a", DataTypes.INT()).proctime().field("b", "BIGINT").rowtime(rowtime)
    assert schema.to_properties() == {
        "schema.0.name": "a",
        "schema.0.data-type": "INT",
        "schema.0.proctime": "true",
        "schema.1.name": "b",
        "schema.1.data-type": "BIGINT",
        "schema.1.rowtime.timestamps.type": "from-field",
        "schema.1.rowtime.timestamps.from": "x",
        "schema.1.rowtime.watermarks.type": "periodic-bounded",
        "schema.1.rowtime.watermarks.delay": "1000",
    }
    with pytest.raises(HeadraceError, match="No field previously defined"):
        Schema().proctime()
