"""Where every connector of headrace is run through `headrace.testing.connectors`.

A new connector has to be named here: with the test that checks it, or with a reason why none does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from headrace.datastream.connectors.base import Sink, Source
from headrace.sql.catalog.registry import CATALOG_TYPES
from headrace.sql.connectors.base import TableSource
from tests.connector_classes import connector_classes

TESTS = Path(__file__).parents[2]
HERE = "unit/testing/test_connectors.py"
FILES = "unit/testing/test_file_connectors.py"

SPARK = "Spark alone feeds it: tests/jobs/test_spark_{} has failures, restarts and rescaling"
OF_THE_USER = "it does what a function of the user does"
ONE_RUN = "for what one job has at its end, in one commit: tests/{}"
BASE = "what is made of it is checked"

SOURCES = {
    "ChangeSource": BASE,
    "CollectionSource": HERE,
    "ColumnsSource": "columns of a program, one split that is read from its position: tests/sql",
    "DataGenSource": "rows at random: tests/sql has a generator whose values go on after a restore",
    "DataGeneratorSource": HERE,
    "DynamicKafkaSource": "kafka/test_dynamic.py",
    "FileSource": FILES,
    "FlinkKafkaConsumer": "a KafkaSource with other names: tests/kafka/test_legacy.py",
    "FlinkKafkaConsumerBase": BASE,
    "FlinkKinesisConsumer": "connectors/test_kinesis.py",
    "FunctionSource": OF_THE_USER,
    "HybridSource": FILES,
    "JdbcSource": "jdbc/test_tables.py",
    "KafkaSource": "kafka/test_source.py",
    "LakehouseSource": HERE,
    "MongoSource": "connectors/test_mongodb.py",
    "MySqlSource": "cdc/test_mysql.py",
    "NumberSequenceSource": HERE,
    "PostgresSource": "cdc/test_postgres.py",
    "PulsarSource": "connectors/test_pulsar.py",
    "RMQSource": "connectors/test_rabbitmq.py",
    "RecordFileSource": "results that were cached: tests/jobs/test_cache.py",
    "SocketTextSource": "what was sent over a connection cannot be read again, as its docs say",
    "SparkQuerySource": SPARK.format("segments.py"),
    "SparkSource": SPARK.format("source.py"),
}

SINKS = {
    "ChangeSink": "rows of one batch job by key, at least once: tests/jdbc/test_sql.py",
    "CollectSink": "it writes to the program",
    "DiscardingSink": "it writes nowhere",
    "ElasticsearchSink": "connectors/test_elasticsearch.py",
    "FileSink": FILES,
    "FlinkKafkaProducer": "a KafkaSink with other names: tests/kafka/test_legacy.py",
    "FlinkKafkaProducerBase": BASE,
    "FunctionSink": OF_THE_USER,
    "GenericWriteAheadSink": BASE,
    "JdbcSink": "jdbc/test_exactly_once.py",
    "KafkaSink": "kafka/test_sink.py",
    "KinesisFirehoseSink": "connectors/test_kinesis.py",
    "KinesisStreamsSink": "connectors/test_kinesis.py",
    "LakehouseSink": HERE,
    "MongoSink": "connectors/test_mongodb.py",
    "OverwritingSink": ONE_RUN.format("sql/test_file_tables.py"),
    "PartitionedFileSink": "a FileSink that also says when a partition is complete",
    "PrintSink": "it writes to the output",
    "PulsarSink": "connectors/test_pulsar.py",
    "RMQSink": "connectors/test_rabbitmq.py",
    "RecordFileSink": "results that are cached: tests/jobs/test_cache.py",
    "RedisSink": "connectors/test_redis.py",
    "RowPrintSink": "it writes to the output",
    "SparkSink": SPARK.format("sink.py"),
    "StreamingFileSink": "a FileSink with another name",
    "TwoPhaseCommitSink": OF_THE_USER,
    "_CommittedRecords": "the checks themselves are made of it",
    "_Logged": "connectors/test_cassandra.py",
    "_Plain": "connectors/test_cassandra.py",
}

LOOKUPS = {
    "MemoryTable": "rows of the program, kept in each slot: tests/sql/test_lookup_joins.py",
    "_JdbcTable": "jdbc/test_lookups.py",
    "_FileTable": FILES,
    "_LakehouseTable": FILES,
    "_PythonTable": HERE,
}

CATALOGS = {
    "file": "sql/test_file_catalog.py",
    "generic_in_memory": HERE,
    "hive": "jobs/test_hive_catalog.py",
    "jdbc": "jdbc/test_catalog.py",
    "spark": "jobs/test_spark_catalog.py",
}


def checks_of(known: Mapping[str, str], names: Collection[str], check: str) -> None:
    assert sorted(known) == sorted(names)
    for name, where in known.items():
        if not where.endswith(".py") or " " in where:
            continue
        text = (TESTS / where).read_text()
        assert re.search(rf"\b{check}\(", text), f"{where} does not check {name}"


@pytest.mark.parametrize(
    ("base", "known", "check"),
    [(Source, SOURCES, "check_source"), (Sink, SINKS, "check_sink")],
)
def test_every_source_and_sink_is_checked(base: type, known: dict[str, str], check: str) -> None:
    checks_of(known, [kind.__name__ for kind in connector_classes(base)], check)


def test_every_lookup_is_checked() -> None:
    kinds = [k for k in connector_classes(TableSource) if "looks_up" in vars(k)]
    looking = [k.__name__ for k in kinds if k.looks_up]  # type: ignore[attr-defined]
    checks_of(LOOKUPS, looking, "check_lookup")


def test_every_catalog_is_checked() -> None:
    checks_of(CATALOGS, list(CATALOG_TYPES), "check_catalog")
