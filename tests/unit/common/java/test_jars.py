"""Jars of Flink programs."""

from __future__ import annotations

import logging

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


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


def test_other_jars_are_refused_by_name() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(ConfigurationError, match=r"file:///opt/our-functions\.jar"):
        env.add_jars("file:///opt/our-functions.jar")
    with pytest.raises(ConfigurationError, match="has nothing in its place"):
        env.add_classpaths("file:///opt/flink-connector-hbase.jar")


def test_jars_of_the_configuration_are_looked_at_when_a_job_starts() -> None:
    config = Configuration()
    config.set_string("pipeline.jars", "file:///opt/our-functions.jar")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="our-functions"):
        env.execute()
