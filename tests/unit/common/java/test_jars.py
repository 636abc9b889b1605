"""Jars of Flink programs."""

from __future__ import annotations

import logging

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.pyflink.in_process import jobs_in_process


def test_jars_of_connectors_that_are_there_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    jars = [
        "file:///opt/flink-sql-connector-kafka-4.0.1-2.0.jar",
        "file:///opt/lib/flink-connector-jdbc-core-4.0.0-2.0.jar",
        "file:///opt/postgresql-42.7.jar",
        "file:///opt/flink-connector-pulsar.jar",
    ]
    with caplog.at_level(logging.INFO, "headrace.common.java.jars"):
        env.add_jars(*jars)
    assert [r.getMessage().split(" is not loaded")[0] for r in caplog.records] == [
        "flink-sql-connector-kafka-4.0.1-2.0.jar",
        "flink-connector-jdbc-core-4.0.0-2.0.jar",
        "postgresql-42.7.jar",
        "flink-connector-pulsar.jar",
    ]
    assert env.get_configuration().get_string("pipeline.jars", "").count(".jar") == 4


def test_other_jars_are_passed_over_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_jars("file:///opt/our-functions.jar", "file:///opt/flink-connector-base-2.0.jar")
    env.add_classpaths("file:///opt/pyflink-dependencies.jar")
    assert [r.getMessage().split(" is not loaded")[0] for r in caplog.records] == [
        "our-functions.jar",
        "pyflink-dependencies.jar",
    ]


def test_what_a_program_takes_from_such_a_jar_is_refused_where_it_names_it() -> None:
    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table_env.get_config().set("pipeline.jars", "file:///opt/our-functions.jar")
    with pytest.raises(SqlError, match="a function in JAVA, which is not supported"):
        table_env.execute_sql("CREATE FUNCTION score AS 'com.example.Score'")
    table_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'ours')")
    with pytest.raises(SqlError, match="factory for identifier 'ours'"):
        table_env.execute_sql("SELECT * FROM t")


def test_jars_of_the_configuration_are_looked_at_when_a_job_starts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = Configuration()
    config.set_string("pipeline.jars", "file:///opt/of-the-job.jar")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.from_collection([1]).print()
    with jobs_in_process():
        env.execute()
        env.from_collection([1]).print()
        env.execute()
    assert caplog.text.count("of-the-job.jar is not loaded") == 1
