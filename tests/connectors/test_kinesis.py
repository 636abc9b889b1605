"""Data streams and Firehose, against a server that speaks AWS's protocol."""

from __future__ import annotations

import io
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import GraphError, HeadraceError, JobExecutionError
from headrace.common.serialization import SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisFirehoseSink,
    KinesisShardAssigner,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from headrace.datastream.connectors.kinesis.client import aws_client
from headrace.datastream.connectors.kinesis.source import seconds_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink, check_source
from tests.connectors.reading import Reading
from tests.faults import killed_slots
from tests.faults.killed_slots import END, RECORDS, texts
from tests.s3_server import BUCKET, S3Server, running_s3_server

boto3 = pytest.importorskip("boto3", reason="pip install 'headrace[kinesis]'")
AWSResponse = pytest.importorskip("botocore.awsrequest").AWSResponse
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)


class Strict(SimpleStringSchema):
    """Text that refuses what is none."""

    def deserialize(self, message: bytes) -> str:
        return message.decode()


@pytest.fixture(scope="module")
def aws() -> Iterator[S3Server]:
    with running_s3_server() as server:
        yield server


def properties(aws: S3Server, **more: str) -> dict[str, str]:
    basic = "aws.credentials.provider.basic"
    known = {
        "aws.region": "eu-west-1",
        "aws.endpoint": aws.endpoint,
        f"{basic}.accesskeyid": "test",
        f"{basic}.secretkey": "test",
        "flink.stream.initpos": "TRIM_HORIZON",
        "flink.shard.getrecords.intervalmillis": "20",
    }
    return {**known, **{key.replace("_", "."): value for key, value in more.items()}}


def client(aws: S3Server, service: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, region_name="eu-west-1", endpoint_url=aws.endpoint, **keys)


def new_stream(aws: S3Server, shards: int = 1) -> str:
    name = f"stream-{next(_numbers)}"
    client(aws, "kinesis").create_stream(StreamName=name, ShardCount=shards)
    return name


def put(aws: S3Server, stream: str, *texts: str) -> None:
    records = [{"Data": text.encode(), "PartitionKey": text} for text in texts]
    client(aws, "kinesis").put_records(StreamName=stream, Records=records)


def consumer(aws: S3Server, stream: str, **more: str) -> FlinkKinesisConsumer:
    return FlinkKinesisConsumer(stream, SimpleStringSchema(), properties(aws, **more))


def streams_sink(aws: S3Server, stream: str) -> KinesisStreamsSink:
    builder = KinesisStreamsSink.builder().set_stream_name(stream).set_max_batch_size(300)
    builder.set_kinesis_client_properties(properties(aws))
    builder.set_serialization_schema(SimpleStringSchema())
    return builder.set_partition_key_generator(PartitionKeyGenerator.random()).build()


def test_a_job_writes_a_stream_and_a_reader_reads_it(aws: S3Server) -> None:
    stream = new_stream(aws, shards=3)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([str(i) for i in range(1_000)]).sink_to(streams_sink(aws, stream))
    run_in_process(env)
    reading = Reading(consumer(aws, stream))
    assert streams_sink(aws, stream).probe() == f"3 shards of the Kinesis stream {stream}"
    assert consumer(aws, stream).probe() == f"3 shards of the Kinesis streams {stream}"
    assert sorted(map(int, reading.read(1_000))) == list(range(1_000))
    reading.close()


def test_a_reader_goes_on_behind_its_checkpoint(aws: S3Server) -> None:
    stream = new_stream(aws)
    put(aws, stream, "a", "b", "c")
    first = Reading(consumer(aws, stream))
    assert first.read(2) == ["a", "b"]
    splits = first.checkpoint(1)
    assert first.read(1) == ["c"]
    first.close()
    second = Reading(consumer(aws, stream), splits)
    assert second.read(1) == ["c"]
    second.close()


def test_the_latest_is_what_it_was_when_the_job_began(aws: S3Server) -> None:
    stream = new_stream(aws)
    first = Reading(consumer(aws, stream, flink_stream_initpos="LATEST"))
    splits = first.checkpoint(1)
    first.close()
    put(aws, stream, "while the job was down")
    second = Reading(consumer(aws, stream), splits)
    assert second.read(1) == ["while the job was down"]
    second.close()


class _Refusing:
    """Answers some requests with an error, in the place of the server."""

    def __init__(self, code: str) -> None:
        self.left = 0
        self._body = json.dumps({"__type": code}).encode()

    def __call__(self, request: Any, **more: Any) -> Any:
        if not self.left:
            return None
        self.left -= 1
        raw = io.BytesIO(self._body)
        raw.stream = lambda **_: iter([self._body])  # type: ignore[attr-defined]
        return AWSResponse(request.url, 400, {}, raw)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("GetShardIterator", "ProvisionedThroughputExceededException"),
        ("GetRecords", "ProvisionedThroughputExceededException"),
        ("GetRecords", "ExpiredIteratorException"),
    ],
)
def test_a_refused_request_is_made_again(
    aws: S3Server, monkeypatch: pytest.MonkeyPatch, operation: str, code: str
) -> None:
    refusing = _Refusing(code)
    refusing.left = 1 if operation == "GetShardIterator" else 0

    def client_of(service: str, given: Any) -> Any:
        made = aws_client(service, given)
        made.meta.events.register(f"before-send.kinesis.{operation}", refusing)
        return made

    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("headrace.datastream.connectors.kinesis.source.aws_client", client_of)
    stream = new_stream(aws)
    put(aws, stream, "a")
    reading = Reading(consumer(aws, stream))
    assert reading.read(1) == ["a"]
    refusing.left += operation == "GetRecords"
    deadline = time.monotonic() + 60
    while refusing.left and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not refusing.left
    put(aws, stream, "b")
    assert reading.read(1) == ["b"]
    reading.close()


def test_a_schema_that_knows_what_kinesis_knows(aws: S3Server) -> None:
    class Told(KinesisDeserializationSchema):
        def deserialize(self, record_value: bytes, partition_key: str, *more: Any) -> Any:
            return partition_key, record_value, *more[2:]

    stream = new_stream(aws)
    put(aws, stream, "a")
    reading = Reading(FlinkKinesisConsumer(stream, Told(), properties(aws)))
    assert reading.read(1) == [("a", b"a", stream, "shardId-000000000000")]
    reading.close()


def test_shards_are_given_out_evenly_and_new_ones_are_found(aws: S3Server) -> None:
    stream = new_stream(aws, shards=4)
    source = consumer(aws, stream).set_shard_assigner(KinesisShardAssigner.uniform_shard_assigner())
    enumerator = source.create_enumerator(2)
    assert {k: len(v) for k, v in enumerator.discover(0).items()} == {0: 2, 1: 2}
    kept = enumerator.snapshot()
    half = {"ShardToSplit": "shardId-000000000000", "NewStartingHashKey": str(2**124)}
    client(aws, "kinesis").split_shard(StreamName=stream, **half)
    later = source.create_enumerator(2)
    later.restore(kept)
    new = [split for splits in later.discover(20_000).values() for split in splits]
    assert len(new) == 2
    assert {split.position for split in new} == {"TRIM_HORIZON"}


def new_delivery(aws: S3Server) -> str:
    name = f"delivery-{next(_numbers)}"
    client(aws, "firehose").create_delivery_stream(
        DeliveryStreamName=name,
        S3DestinationConfiguration={
            "RoleARN": "arn:aws:iam::123456789012:role/any",
            "BucketARN": f"arn:aws:s3:::{BUCKET}",
            "Prefix": f"{name}/",
        },
    )
    return name


def firehose_sink(aws: S3Server, name: str) -> KinesisFirehoseSink:
    builder = KinesisFirehoseSink.builder().set_delivery_stream_name(name)
    builder.set_firehose_client_properties(properties(aws)).set_max_batch_size(2)
    return builder.set_serialization_schema(SimpleStringSchema()).build()


def delivered(aws: S3Server, name: str) -> list[str]:
    files = aws.files()
    files.invalidate_cache()
    text = "".join(files.cat(path).decode() for path in files.find(f"{BUCKET}/{name}/"))
    return text.splitlines(keepends=True)


def test_firehose_delivers(aws: S3Server) -> None:
    name = new_delivery(aws)
    assert firehose_sink(aws, name).probe() == f"the delivery stream {name} of Firehose"
    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_collection([json.dumps({"n": i}) + "\n" for i in range(5)])
    lines.sink_to(firehose_sink(aws, name))
    run_in_process(env)
    assert sorted(json.loads(line)["n"] for line in delivered(aws, name)) == list(range(5))


def test_a_stream_that_is_not_there(aws: S3Server) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["x"]).sink_to(streams_sink(aws, "nowhere"))
    with pytest.raises(JobExecutionError, match="there is no stream 'nowhere'"):
        run_in_process(env)
    with pytest.raises(HeadraceError, match="'nowhere' cannot be listed"):
        Reading(consumer(aws, "nowhere"))


def test_what_is_missing_is_said_where_it_is_written() -> None:
    with pytest.raises(GraphError, match=r"aws\.region"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), {})
    wrong = {"aws.region": "eu-west-1", "flink.stream.initpos": "FIRST"}
    with pytest.raises(GraphError, match="TRIM_HORIZON"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), wrong)
    with pytest.raises(GraphError, match="set_stream_name"):
        KinesisStreamsSink.builder().build()
    role = {"aws.region": "eu-west-1", "aws.credentials.provider": "ASSUME_ROLE"}
    with pytest.raises(GraphError, match=r"aws\.credentials\.provider.*ASSUME_ROLE"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), role)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("1459799926.480", None, 1459799926.48),
        ("2016-04-04T19:58:46.480-00:00", None, 1459799926.48),
        ("04.04.2016 21:58:46 +0200", "dd.MM.yyyy HH:mm:ss Z", 1459799926.0),
        ("2016-04-04T19:58:46.480Z", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", 1459799926.48),
        ("1459799926.480", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", 1459799926.48),
        ("-1", None, None),
        ("nan", None, None),
        ("2016-04-04T19:58:46Z", "yyyy/MM/dd", None),
    ],
)
def test_the_time_at_which_reading_begins(
    text: str, pattern: str | None, expected: float | None
) -> None:
    if expected is not None:
        assert seconds_of("begin", text, pattern) == expected
    else:
        with pytest.raises(GraphError, match=f"'begin' is not a time .*'{text}'"):
            seconds_of("begin", text, pattern)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flink.shard.getrecords.maxrecordcount", "10001"),
        ("flink.shard.getrecords.intervalmillis", "-1"),
        ("flink.shard.discovery.intervalmillis", "ten"),
    ],
)
def test_numbers_are_checked_where_they_are_written(name: str, value: str) -> None:
    with pytest.raises(GraphError, match=rf"'{name}' is a whole number from .*, not '{value}'"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), {"aws.region": "eu-west-1", name: value})


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(aws: S3Server, tmp_path: Path) -> None:
    stream = new_stream(aws, shards=2)

    def found() -> list[int]:
        put(aws, stream, str(END))
        reading = Reading(consumer(aws, stream))
        numbers: list[int] = []
        while END not in numbers or len(set(numbers)) <= RECORDS:
            more = reading.read(1)
            if not more:
                break
            numbers += map(int, more)
        reading.close()
        return [number for number in numbers if number != END]

    # With two writers at a time moto loses records, as its code says.
    killed_slots.check_sink(
        lambda s: texts(s).sink_to(streams_sink(aws, stream)).set_parallelism(1),
        found,
        tmp_path,
        once=False,
    )


@pytest.mark.fault
def test_a_slot_is_killed_that_reads(aws: S3Server, tmp_path: Path) -> None:
    stream = new_stream(aws, shards=2)

    def put_in_parts(texts: list[str]) -> None:
        for start in range(0, len(texts), 500):
            put(aws, stream, *texts[start : start + 500])

    killed_slots.check_source(
        lambda env: env.add_source(consumer(aws, stream)), put_in_parts, tmp_path
    )


def test_the_source_keeps_the_contract(aws: S3Server) -> None:
    stream = new_stream(aws, shards=2)
    texts = [f"m{i}" for i in range(24)]
    put(aws, stream, *texts)
    client(aws, "kinesis").put_record(StreamName=stream, Data=b"\xff", PartitionKey="bad")

    def made() -> FlinkKinesisConsumer:
        return FlinkKinesisConsumer(stream, Strict(), properties(aws))

    check_source(made, texts, bad=[b"\xff"], parallelisms=(2,), epoch_records=4)


def test_firehose_keeps_the_contract(aws: S3Server) -> None:
    names: list[str] = []
    check_sink(
        lambda: firehose_sink(aws, names[-1]),
        [f"m{i}\n" for i in range(20)],
        Types.STRING(),
        read=lambda: delivered(aws, names[-1]),
        clear=lambda: names.append(new_delivery(aws)),
        guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
        parallelisms=(1,),
        epoch_records=4,
    )


def test_the_sink_keeps_the_contract(aws: S3Server) -> None:
    streams: list[str] = []

    def read() -> list[str]:
        put(aws, streams[-1], str(END))
        reading = Reading(consumer(aws, streams[-1]))
        found = reading.read(1)
        # It has one shard, so that nothing follows the last record.
        while found[-1] != str(END):
            found += reading.read(1)
        reading.close()
        return found[:-1]

    # With two writers at a time moto loses records, as its code says.
    check_sink(
        lambda: streams_sink(aws, streams[-1]),
        [f"m{i}" for i in range(40)],
        Types.STRING(),
        read=read,
        clear=lambda: streams.append(new_stream(aws)),
        guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
        parallelisms=(1,),
        epoch_records=8,
    )
