"""Data streams and Firehose as tables of SQL, against a server that speaks AWS's protocol."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.sql.connectors.base import TableContext, find_factory
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types import VarCharType
from tests.kafka.running import Running
from tests.s3_server import BUCKET, S3Server, running_s3_server
from tests.sql.sessions import LocalSession

boto3 = pytest.importorskip("boto3", reason="pip install 'headrace[kinesis]'")
pytestmark = pytest.mark.timeout(600)

ACCOUNT = "123456789012"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def aws() -> Iterator[S3Server]:
    with running_s3_server() as server:
        yield server


def client(aws: S3Server, service: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, region_name="eu-west-1", endpoint_url=aws.endpoint, **keys)


def new_stream(aws: S3Server, shards: int = 1) -> str:
    name = f"table-{next(_numbers)}"
    client(aws, "kinesis").create_stream(StreamName=name, ShardCount=shards)
    return name


def put(aws: S3Server, stream: str, *rows: Any) -> None:
    records = [{"Data": json.dumps(row).encode(), "PartitionKey": "any"} for row in rows]
    client(aws, "kinesis").put_records(StreamName=stream, Records=records)


def messages(aws: S3Server, stream: str) -> list[dict[str, Any]]:
    kinesis = client(aws, "kinesis")
    found: list[dict[str, Any]] = []
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found += kinesis.get_records(ShardIterator=iterator)["Records"]
    return found


def declared(columns: str, name: str = "t", partitioned: str = "", **options: str) -> str:
    """A table; in names of options, `__` stands for a dot and `_` for a hyphen."""
    given = {
        "connector": "kinesis",
        "aws.region": "eu-west-1",
        "format": "json",
        **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    }
    text = ", ".join(f"'{k}' = '{v}'" for k, v in given.items() if v)
    return f"CREATE TABLE {name} ({columns}) {partitioned} WITH ({text})"


def table(aws: S3Server, columns: str, stream: str, partitioned: str = "", **options: str) -> str:
    known = {
        "stream": stream,
        "aws__endpoint": aws.endpoint,
        "aws__credentials__basic__accesskeyid": "test",
        "aws__credentials__basic__secretkey": "test",
        **options,
    }
    return declared(columns, partitioned=partitioned, **known)


FROM_START = {
    "scan__stream__initpos": "TRIM_HORIZON",
    "scan__shard__getrecords__intervalmillis": "20",
}


def read(create: str, count: int, query: str = "SELECT * FROM t", zone: str = "UTC") -> list[Any]:
    session = LocalSession(options={"table.local-time-zone": zone})
    session.execute(create)
    with running(session, query) as job:
        job.run_until(lambda: len(job.rows) >= count)
        return [tuple(row) for row in job.rows]


def running(session: LocalSession, query: str = "SELECT * FROM t") -> Running:
    return Running(session.env, session.session.translator().stream(session.plan(query)))


def insert(create: str, *statements: str, **settings: Any) -> None:
    session = LocalSession()
    session.execute(create)
    session.insert(*statements, **settings)


@pytest.mark.parametrize("shards", [1, 3])
def test_rows_are_written_and_read_back(aws: S3Server, shards: int) -> None:
    create = table(aws, "id BIGINT, name STRING", new_stream(aws, shards), **FROM_START)
    insert(create, "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, CAST(NULL AS STRING))")
    assert sorted(read(create, 3)) == [(1, "a"), (2, "b"), (3, None)]
    assert sorted(name for _, name in read(create, 2, "SELECT * FROM t WHERE id < 3")) == ["a", "b"]


def test_options_of_the_newer_connector(aws: S3Server) -> None:
    stream = new_stream(aws)
    create = table(
        aws,
        "id INT",
        "",
        stream__arn=f"arn:aws:kinesis:eu-west-1:{ACCOUNT}:stream/{stream}",
        source__init__position="TRIM_HORIZON",
        source__shard__discovery__interval="1 s",
        source__shard__get_records__max_record_count="",
        source__reader__type="EFO",
        source__efo__consumer__name="mine",
        source__shard_assigner="uniform",
        aws__credentials__provider="BASIC",
        sink__batch__max_size="2",
        sink__requests__max_inflight="4",
        sink__requests__max_buffered="100",
        sink__flush_buffer__size="1000",
        sink__flush_buffer__timeout="50",
        sink__fail_on_error="true",
        sink__http_client__max_concurrency="10",
    )
    insert(create, "INSERT INTO t VALUES 1, 2, 3, 4, 5")
    assert len(messages(aws, stream)) == 5
    assert sorted(read(create, 5)) == [(i,) for i in range(1, 6)]


def test_metadata(aws: S3Server) -> None:
    stream = new_stream(aws)
    before = int(time.time() * 1_000) * 1_000
    put(aws, stream, {"id": 1}, [{"id": 2}, {"id": 3}])
    columns = (
        "at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, id INT, "
        "`shard-id` VARCHAR(128) NOT NULL METADATA VIRTUAL, "
        "number VARCHAR(128) NOT NULL METADATA FROM 'sequence-number' VIRTUAL, "
        "here TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL"
    )
    rows = read(table(aws, columns, stream, **FROM_START), 3, zone="Asia/Tokyo")
    first, second = [m["SequenceNumber"] for m in messages(aws, stream)]
    shard = "shardId-000000000000"
    assert [row[1:4] for row in rows] == [(1, shard, first), (2, shard, second), (3, shard, second)]
    for at, *_, here in rows:
        assert before - 1_000_000 <= at <= time.time_ns() // 1_000
        assert here - at == 9 * 3_600 * 1_000_000


def test_metadata_is_not_written(aws: S3Server) -> None:
    stream = new_stream(aws)
    create = table(aws, "id INT, s STRING METADATA FROM 'shard-id' VIRTUAL", stream, **FROM_START)
    insert(create, "INSERT INTO t VALUES 1")
    assert [json.loads(m["Data"]) for m in messages(aws, stream)] == [{"id": 1}]
    session = LocalSession()
    session.execute(table(aws, "id INT, s STRING METADATA FROM 'shard-id'", stream))
    with pytest.raises(SqlError, match=r"metadata key 'shard-id'.*VIRTUAL"):
        session.executor.execute("EXPLAIN INSERT INTO t VALUES (1, 'x')")


def test_reading_begins_at_a_time(aws: S3Server) -> None:
    stream = new_stream(aws)
    put(aws, stream, {"id": 1})
    time.sleep(2.1)
    put(aws, stream, {"id": 2})
    arrived = messages(aws, stream)[1]["ApproximateArrivalTimestamp"]
    between = arrived.timestamp() - 1
    iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(between))
    local = time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(between))
    for options in (
        {"initpos_timestamp": str(between)},
        {"initpos_timestamp": f"{iso}.000-00:00"},
        {"initpos_timestamp": f"{iso}Z", "initpos_timestamp_format": "yyyy-MM-dd''T''HH:mm:ssX"},
        {"initpos_timestamp": local, "initpos_timestamp_format": "dd.MM.yyyy HH:mm:ss"},
        {"initpos_timestamp": str(between), "initpos_timestamp_format": "dd.MM.yyyy HH:mm:ss"},
    ):
        given = {f"scan__stream__{key}": value for key, value in options.items()}
        create = table(aws, "id INT", stream, scan__stream__initpos="AT_TIMESTAMP", **given)
        assert read(create, 1) == [(2,)], options
    newer = {"source__init__position": "at_timestamp", "source__init__timestamp": str(between)}
    assert read(table(aws, "id INT", stream, **newer), 1) == [(2,)]


@pytest.mark.parametrize(
    ("partitioned", "options", "expected"),
    [
        ("PARTITIONED BY (name, id, ok, x)", {}, ["null|2|null|1.0E10", "ä|1|true|0.5"]),
        (
            "PARTITIONED BY (name, id)",
            {"sink__partitioner_field_delimiter": ";"},
            ["null;2", "ä;1"],
        ),
        ("", {"sink__partitioner": "fixed"}, ["0", "0"]),
    ],
)
def test_partition_keys(
    aws: S3Server, partitioned: str, options: dict[str, str], expected: list[str]
) -> None:
    stream = new_stream(aws)
    columns = "id BIGINT, name STRING, ok BOOLEAN, x DOUBLE"
    create = table(aws, columns, stream, partitioned, **options)
    insert(
        create,
        "INSERT INTO t VALUES (1, 'ä', TRUE, 0.5), "
        "(2, CAST(NULL AS STRING), CAST(NULL AS BOOLEAN), 1E10)",
    )
    assert sorted(m["PartitionKey"] for m in messages(aws, stream)) == expected


def test_random_partition_keys_and_long_ones(aws: S3Server) -> None:
    stream = new_stream(aws)
    insert(table(aws, "id INT", stream), "INSERT INTO t VALUES 1, 2, 3")
    assert len({m["PartitionKey"] for m in messages(aws, stream)}) == 3
    stream = new_stream(aws)
    create = table(aws, "id INT, name STRING", stream, "PARTITIONED BY (name)")
    insert(create, "INSERT INTO t PARTITION (name = 'x') VALUES 1")
    insert(create, f"INSERT INTO t VALUES (2, '{'y' * 300}')")
    assert [m["PartitionKey"] for m in messages(aws, stream)] == ["x", "y" * 256]


def test_changes_are_written_and_read(aws: S3Server) -> None:
    stream = new_stream(aws)
    create = table(aws, "k STRING, n BIGINT", stream, format="debezium-json", **FROM_START)
    rows = "(VALUES 'a', 'b', 'a') AS v(k)"
    insert(create, f"INSERT INTO t SELECT k, COUNT(*) FROM {rows} GROUP BY k", epoch_records=1)
    assert [json.loads(m["Data"])["op"] for m in messages(aws, stream)] == ["c", "c", "d", "c"]
    session = LocalSession()
    session.execute(create)
    with running(session, "SELECT SUM(n) FROM t") as job:
        job.run_until(lambda: bool(job.rows) and job.rows[-1][0] == 3)


def test_each_shard_has_a_watermark_and_damaged_messages_may_be_skipped(aws: S3Server) -> None:
    stream = new_stream(aws, shards=2)
    columns = "id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    options = {"json__ignore_parse_errors": "true", **FROM_START}
    session = LocalSession()
    session.execute(table(aws, columns, stream, **options))
    kinesis = client(aws, "kinesis")

    def put_into(shard: int, data: str) -> None:
        kinesis.put_record(
            StreamName=stream,
            Data=data.encode(),
            PartitionKey="any",
            ExplicitHashKey=str(shard * 2**127),
        )

    put_into(0, json.dumps({"id": 1, "ts": "1970-01-01 00:01:00"}))
    put_into(0, "{")
    with running(session) as job:
        job.run_until(lambda: len(job.rows) == 1)
        job.run(0.5)
        assert job.watermark < 0
        put_into(1, json.dumps({"id": 2, "ts": "1970-01-01 00:00:31"}))
        job.run_until(lambda: len(job.rows) == 2 and job.watermark == 30_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": ""}, r"stream\.arn"),
        ({"stream__arn": f"arn:aws:kinesis:eu-west-1:{ACCOUNT}:stream/s"}, "not both"),
        ({"stream": "", "stream__arn": "orders"}, "not the ARN of a stream"),
        ({"aws__region": ""}, r"aws\.region"),
        ({"format": ""}, "format"),
        ({"scan__stream__initpos": "FIRST"}, "TRIM_HORIZON.*FIRST"),
        ({"scan__stream__initpos": "AT_TIMESTAMP"}, "needs 'source.init.timestamp'"),
        (
            {
                "scan__stream__initpos": "AT_TIMESTAMP",
                "scan__stream__initpos_timestamp": "noon",
            },
            "'scan.stream.initpos-timestamp' is not a time.*'noon'",
        ),
        (
            {"scan__stream__initpos": "LATEST", "source__init__position": "LATEST"},
            "are one option",
        ),
        ({"scan__stream__initposs": "LATEST"}, "(?s)Unsupported options.*initposs"),
        ({"scan__shard__getrecords__maxrecordcount": "20000"}, "from 1 to 10000"),
        ({"source__reader__type": "PUSH"}, "POLLING"),
        ({"source__shard_assigner": "mine"}, "UNIFORM"),
        ({"aws__credentials__provider": "ASSUME_ROLE"}, "profile"),
        ({"aws__credentials__provider": "BASIC"}, "BASIC credentials"),
    ],
)
def test_a_source_that_is_refused(options: dict[str, str], message: str) -> None:
    session = LocalSession()
    session.execute(declared("id INT", **{"stream": "s", **options}))
    with pytest.raises(SqlError, match=message):
        session.executor.execute("EXPLAIN SELECT * FROM t")


@pytest.mark.parametrize(
    ("partitioned", "options", "message"),
    [
        ("PARTITIONED BY (id)", {"sink__partitioner": "random"}, "PARTITIONED BY clause"),
        ("PARTITIONED BY (day)", {}, "not supported by Kinesis: day"),
        ("", {"sink__partitioner": "org.example.Mine"}, "FIXED, RANDOM"),
        ("", {"sink__batch__max_size": "501"}, "from 1 to 500"),
        ("", {"sink__batch__max_size": "many"}, "is a number"),
        ("", {"sink__requests__max_inflight": "0"}, "max_in_flight_requests"),
        ("", {"sink__fail_on_errors": "true"}, "(?s)Unsupported options.*fail-on-errors"),
        ("", {"aws__region": ""}, r"aws\.region"),
        ("", {"format": "parquet"}, "parquet"),
    ],
)
def test_a_sink_that_is_refused(partitioned: str, options: dict[str, str], message: str) -> None:
    session = LocalSession()
    create = declared("id INT, `day` DATE", partitioned=partitioned, **{"stream": "s", **options})
    session.execute(create)
    with pytest.raises(SqlError, match=message):
        session.executor.execute("EXPLAIN INSERT INTO t VALUES (1, CURRENT_DATE)")


def test_metadata_that_is_refused() -> None:
    session = LocalSession()
    for name, column, message in (
        ("a", "x STRING METADATA FROM 'shardid' VIRTUAL", "'shard-id'"),
        ("b", "x INT METADATA FROM 'timestamp' VIRTUAL", "TIMESTAMP_LTZ.* to type INT"),
    ):
        session.execute(declared(f"id INT, {column}", name, stream="s"))
        with pytest.raises(SqlError, match=message):
            session.executor.execute(f"EXPLAIN SELECT * FROM {name}")


def test_a_sink_takes_no_updates() -> None:
    session = LocalSession()
    session.execute(declared("id INT, n BIGINT", stream="s"))
    with pytest.raises(SqlError, match="update"):
        session.executor.execute(
            "EXPLAIN INSERT INTO t SELECT id, COUNT(*) FROM (VALUES 1) AS v(id) GROUP BY id"
        )


def test_options_of_the_older_producer() -> None:
    session = LocalSession()
    options = {
        "scan__stream__efo__consumername": "mine",
        "scan__stream__describe__maxretries": "3",
        "scan__shard__adaptivereads": "true",
        "scan__shard__idle__interval": "1000",
        "scan__watermark__sync__interval": "1000",
        "sink__producer__collection_max_count": "100",
        "sink__producer__fail_on_error": "true",
        "sink__producer__verify_certificate": "false",
        "sink__producer__kinesis_endpoint": "localhost",
        "sink__producer__kinesis_port": "4567",
    }
    session.execute(declared("id INT", connector="kinesis-legacy", stream="s", **options))
    for statement in ("SELECT * FROM t", "INSERT INTO t VALUES 1"):
        session.executor.execute(f"EXPLAIN {statement}")


@pytest.mark.parametrize(
    ("options", "position"),
    [
        ({}, "source.init"),
        ({"scan.stream.initpos": "TRIM_HORIZON"}, "scan.stream"),
        ({"source.init.position": "AT_TIMESTAMP", "source.init.timestamp": "7"}, "source.init"),
    ],
)
def test_a_table_that_is_read_from_a_moment_on(options: dict[str, str], position: str) -> None:
    given = {"connector": "kinesis", "stream": "s", "aws.region": "x", "format": "raw", **options}
    schema = Schema((Field("line", VarCharType()),))
    factory = find_factory(given, "t")
    for millis, where in ((None, ("LATEST", None)), (1_500, ("AT_TIMESTAMP", 1.5))):
        more = factory.beginning_at(TableContext(("t",), schema, given), millis)
        assert more is not None
        assert all(key.startswith(position) for key in more if "timestamp" not in key)
        source = factory.create_source(TableContext(("t",), schema, {**given, **more}))
        assert source.source().create_enumerator(1)._start == where  # type: ignore[attr-defined]


def new_delivery(aws: S3Server) -> str:
    name = f"table-delivery-{next(_numbers)}"
    client(aws, "firehose").create_delivery_stream(
        DeliveryStreamName=name,
        S3DestinationConfiguration={
            "RoleARN": f"arn:aws:iam::{ACCOUNT}:role/any",
            "BucketARN": f"arn:aws:s3:::{BUCKET}",
            "Prefix": f"{name}/",
        },
    )
    return name


def test_firehose_delivers(aws: S3Server) -> None:
    name = new_delivery(aws)
    options = {"connector": "firehose", "delivery_stream": name, "sink__batch__max_size": "2"}
    insert(table(aws, "id INT", "", **options), "INSERT INTO t VALUES 1, 2, 3")
    files = aws.files()
    texts = [files.cat(path).decode() for path in files.find(f"{BUCKET}/{name}/")]
    assert sorted("".join(texts).replace("}", "}\n").split()) == [
        '{"id":1}',
        '{"id":2}',
        '{"id":3}',
    ]


def test_firehose_is_only_written() -> None:
    session = LocalSession()
    session.execute(declared("id INT", connector="firehose", delivery_stream="d"))
    with pytest.raises(SqlError, match="only be used as a sink"):
        session.executor.execute("EXPLAIN SELECT * FROM t")
    session.execute(declared("id INT", "u", connector="firehose"))
    with pytest.raises(SqlError, match="delivery-stream"):
        session.executor.execute("EXPLAIN INSERT INTO u VALUES 1")
