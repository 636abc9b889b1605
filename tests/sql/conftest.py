"""Table environments and small tables."""

from __future__ import annotations

import datetime

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table.schema import Schema
from headrace.table.table import Table
from headrace.table.table_environment import StreamTableEnvironment
from headrace.table.types import DataTypes


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    made = StreamTableEnvironment.create(env)
    # Jobs run in this process, without Spark.
    made.get_config().set("table.exec.spark-segments", "false")
    return made


@pytest.fixture
def orders(t_env: StreamTableEnvironment) -> Table:
    elements = [("apple", 3, 1.5), ("pear", 2, 2.0), ("apple", 5, 1.0), ("plum", None, 0.5)]
    row = DataTypes.ROW(
        [
            DataTypes.FIELD("item", DataTypes.STRING()),
            DataTypes.FIELD("n", DataTypes.INT()),
            DataTypes.FIELD("price", DataTypes.DOUBLE()),
        ]
    )
    return t_env.from_elements(elements, row)


@pytest.fixture
def events(t_env: StreamTableEnvironment) -> Table:
    at = datetime.datetime
    elements = [
        ("a", 1, at(2020, 1, 1, 0, 0, 1)),
        ("b", 2, at(2020, 1, 1, 0, 0, 3)),
        ("a", 3, at(2020, 1, 1, 0, 0, 11)),
        ("a", 4, at(2020, 1, 1, 0, 0, 14)),
    ]
    stream = t_env._session.env.from_collection(
        [Row(*e) for e in elements],
        Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()]),
    )
    schema = (
        Schema.new_builder()
        .column("k", "STRING")
        .column("v", DataTypes.INT())
        .column("ts", "TIMESTAMP(3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    return t_env.from_data_stream(stream, schema)
