"""Data streams as a source: exactly once, by sequence numbers that are part of checkpoints."""

from __future__ import annotations

import contextlib
import datetime
import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.java.time_patterns import parsed_with_offset
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.kinesis.client import (
    aws_client,
    aws_errors,
    checked_properties,
    what_aws_says,
    whole,
)
from headrace.datastream.connectors.kinesis.shards import (
    KinesisShardAssigner,
    ShardEnumerator,
    ShardSplit,
    checked_assigner,
    shards_of,
    stream_named,
)

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "ManyMessagesSchema",
    "WatermarkTracker",
    "seconds_of",
]

_POSITION = "flink.stream.initpos"
_TIMESTAMP = "flink.stream.initpos.timestamp"
_TIMESTAMP_FORMAT = "flink.stream.initpos.timestamp.format"
_DISCOVERY_MS = "flink.shard.discovery.intervalmillis"
_RECORDS = "flink.shard.getrecords.maxrecordcount"
_INTERVAL_MS = "flink.shard.getrecords.intervalmillis"
_ANSWERS_AHEAD = 4
_STOP_WAIT_S = 2.0


class KinesisDeserializationSchema:
    """Makes a record of a message and what Kinesis knows of it. Subclasses are picklable."""

    def open(self) -> None:
        """Called once in the process of the source, before the first message."""

    def deserialize(
        self,
        record_value: bytes,
        partition_key: str,
        seq_num: str,
        approx_arrival_timestamp: int,
        stream: str,
        shard_id: str,
    ) -> Any:
        """The record; None if the message is to be skipped."""
        raise NotImplementedError(f"{type(self).__name__} does not implement deserialize()")

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return PickledBytesTypeInfo()


class ManyMessagesSchema(KinesisDeserializationSchema):
    """Records of many messages of a shard at once, without timestamps."""

    def of_messages(self, messages: Sequence[Mapping[str, Any]], shard_id: str) -> Sequence[Any]:
        """The records of some messages, which are as `get_records` of boto3 gives them."""
        raise NotImplementedError(f"{type(self).__name__} does not implement of_messages()")


class _ValueOnly(KinesisDeserializationSchema):
    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema

    def open(self) -> None:
        self._schema.open()

    def deserialize(self, record_value: bytes, *args: Any) -> Any:
        return self._schema.deserialize(record_value)

    def get_produced_type(self) -> TypeInformation:
        return self._schema.get_produced_type()


@dataclass(frozen=True)
class WatermarkTracker:
    """Accepted as in Flink: `WatermarkStrategy.with_watermark_alignment` does what it did."""

    aggregate_name: str
    log_accumulator_interval_millis: int = -1

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """A tracker in the job master."""
        return WatermarkTracker(aggregate_name, log_accumulator_interval_millis)


class FlinkKinesisConsumer(Source):
    """Reads data streams of Kinesis, exactly once; give it to `env.add_source`.

    Shards that come by resharding are found while the job runs.

    Args:
        streams: Names of streams, or their ARNs.
        deserializer: Makes a record of a message.
        config_props: Properties of Flink: `aws.region`, `aws.endpoint`,
            `aws.credentials.provider.basic.accesskeyid` and `...secretkey`, and
            `flink.stream.initpos`, which is `LATEST`, `TRIM_HORIZON` or `AT_TIMESTAMP`.
    """

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: dict[str, str],
    ) -> None:
        self.streams = (streams,) if isinstance(streams, str) else tuple(streams)
        if not self.streams or not all(isinstance(s, str) and s for s in self.streams):
            raise FunctionTypeError(f"FlinkKinesisConsumer takes names of streams, not {streams!r}")
        if isinstance(deserializer, DeserializationSchema):
            deserializer = _ValueOnly(deserializer)
        if not isinstance(deserializer, KinesisDeserializationSchema):
            raise FunctionTypeError(
                f"FlinkKinesisConsumer takes a DeserializationSchema, not {deserializer!r}"
            )
        self.schema = deserializer
        self.properties = checked_properties(config_props, "FlinkKinesisConsumer")
        self._start = _start_of(self.properties)
        self.discovery_ms = whole(self.properties, _DISCOVERY_MS, 10_000, 1, 2**31)
        self.records = whole(self.properties, _RECORDS, 10_000, 1, 10_000)
        # An iterator is good for five minutes.
        self.interval_ms = whole(self.properties, _INTERVAL_MS, 200, 0, 299_999)
        self._assigner = KinesisShardAssigner.default_shard_assigner()

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Set what says which subtask reads a shard."""
        self._assigner = checked_assigner(shard_assigner)
        return self

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: Any
    ) -> FlinkKinesisConsumer:
        """Refused: in Flink it takes an object of Java.

        Call `assign_timestamps_and_watermarks` of the stream. Without it records have the time at
        which Kinesis got them.
        """
        raise FunctionTypeError(
            "set_periodic_watermark_assigner takes an object of Java, and headrace has none; call "
            "assign_timestamps_and_watermarks(WatermarkStrategy...) on the stream of the source"
        )

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Accepted as in Flink, see `WatermarkTracker`."""
        if not isinstance(watermark_tracker, WatermarkTracker):
            raise FunctionTypeError(
                f"set_watermark_tracker takes a WatermarkTracker, not {watermark_tracker!r}"
            )
        return self

    @property
    def bounded(self) -> bool:
        return False

    @property
    def produced_type(self) -> TypeInformation:
        return self.schema.get_produced_type()

    @property
    def reads_splits_together(self) -> bool:
        return True

    def probe(self) -> str:
        """The shards of the streams can be listed."""
        client = aws_client("kinesis", self.properties, patient=False)
        count = sum(len(shards_of(client, stream)) for stream in self.streams)
        return f"{count} shards of the Kinesis streams {', '.join(self.streams)}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return ShardEnumerator(
            self.streams,
            self.properties,
            self._start,
            self._assigner,
            self.discovery_ms,
            parallelism,
        )

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _ShardReader(self, context)


def _start_of(properties: dict[str, str]) -> tuple[str, Any]:
    position = properties.get(_POSITION, "LATEST").upper()
    if position not in ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP"):
        raise GraphError(f"{_POSITION!r} is LATEST, TRIM_HORIZON or AT_TIMESTAMP, not {position!r}")
    if position != "AT_TIMESTAMP":
        return position, None
    text = properties.get(_TIMESTAMP)
    if text is None:
        raise GraphError(f"AT_TIMESTAMP needs {_TIMESTAMP!r}: a time, or seconds since 1970")
    return position, seconds_of(_TIMESTAMP, text, properties.get(_TIMESTAMP_FORMAT))


def seconds_of(name: str, text: str, pattern: str | None = None) -> float:
    """The time of a property in seconds since 1970.

    Args:
        name: The property.
        text: A time by the pattern or in ISO 8601, or seconds.
        pattern: One of Java's `SimpleDateFormat`.
    """
    found = None if pattern is None else parsed_with_offset(pattern, text)
    if found is not None:
        return found.timestamp()
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds) and pattern is None:
        with contextlib.suppress(ValueError):
            seconds = datetime.datetime.fromisoformat(text).timestamp()
    if not math.isfinite(seconds) or seconds < 0:
        form = "in ISO 8601" if pattern is None else f"as {pattern}"
        raise GraphError(f"{name!r} is not a time {form}, nor seconds since 1970: {text!r}")
    return seconds


def _with_time(split: ShardSplit) -> ShardSplit:
    """A position for checkpoints: what is the latest changes while a job is down."""
    if split.position != "LATEST":
        return split
    return replace(split, position="AT_TIMESTAMP", value=time.time())


def _behind(split: ShardSplit, records: list[dict[str, Any]]) -> ShardSplit:
    last = records[-1]["SequenceNumber"]
    return replace(split, position="AFTER_SEQUENCE_NUMBER", value=last)


@dataclass(frozen=True)
class _Answer:
    """What one request gave of a shard; `ended` after its last record."""

    split_id: str
    records: list[dict[str, Any]]
    ended: bool = False


class _ShardReader(SourceReader):
    """A thread asks for the records of one shard after the other; `poll` takes what it got."""

    def __init__(self, source: FlinkKinesisConsumer, context: ReaderContext) -> None:
        self._source = source
        self._context = context
        self._splits: dict[str, ShardSplit] = {}
        self._ahead: dict[str, ShardSplit] = {}
        self._iterators: dict[str, str | None] = {}
        self._answers: deque[_Answer] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._error: Exception | None = None
        self._finished: list[str] = []
        self._thread: threading.Thread | None = None
        self._interval_s = source.interval_ms / 1_000

    def open(self) -> None:
        self._source.schema.open()

    def add_splits(self, splits: Sequence[ShardSplit]) -> None:
        with self._changed:
            for split in splits:
                self._splits[split.split_id] = _with_time(split)
                self._ahead[split.split_id] = split
                self._iterators[split.split_id] = None
        if self._thread is None and splits:
            self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-kinesis")
            self._thread.start()

    # In the thread.

    def _run(self) -> None:
        try:
            client = aws_client("kinesis", self._source.properties)
            while not self._stopping:
                began = time.monotonic()
                got = [self._ask(client, name) for name in list(self._iterators)]
                with self._changed:
                    rest_s = 0 if any(got) else began + self._interval_s - time.monotonic()
                    self._changed.wait_for(
                        lambda: self._stopping, max(rest_s, self._interval_s / 10)
                    )
        except Exception as error:  # noqa: BLE001 - a thread's top: reading raises it
            self._error = error
            self._context.data_available()

    def _ask(self, client: Any, name: str) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._answers) < _ANSWERS_AHEAD * len(self._iterators) or self._stopping
            )
        if self._stopping:
            return False
        answer = self._records(client, name)
        if answer is None:
            return False
        self._iterators[name] = answer.get("NextShardIterator")
        ended = self._iterators[name] is None
        if ended:
            del self._iterators[name]
        if answer["Records"]:
            self._ahead[name] = _behind(self._ahead[name], answer["Records"])
        if not answer["Records"] and not ended:
            return False
        with self._changed:
            self._answers.append(_Answer(name, answer["Records"], ended))
        self._context.data_available()
        return True

    def _records(self, client: Any, name: str) -> Any:
        """What Kinesis answers; None if it has to be asked again."""
        split = self._ahead[name]
        try:
            if self._iterators[name] is None:
                self._iterators[name] = self._iterator(client, split)
                if split.position == "LATEST":
                    self._ahead[name] = self._splits[name]
            question = {"ShardIterator": self._iterators[name], "Limit": self._source.records}
            if split.stream.startswith("arn:"):
                question["StreamARN"] = split.stream
            return client.get_records(**question)
        except client.exceptions.ProvisionedThroughputExceededException:
            time.sleep(self._interval_s)
            return None
        except client.exceptions.ExpiredIteratorException:
            # It is good for five minutes, and the job may be slower than that.
            self._iterators[name] = None
            return None
        except aws_errors() as error:
            raise what_aws_says(
                error, f"shard {split.shard} of the Kinesis stream {split.stream!r} cannot be read"
            ) from error

    def _iterator(self, client: Any, split: ShardSplit) -> str:
        more: dict[str, Any] = {}
        if split.position == "AFTER_SEQUENCE_NUMBER":
            more["StartingSequenceNumber"] = split.value
        elif split.position == "AT_TIMESTAMP":
            more["Timestamp"] = split.value
        answer = client.get_shard_iterator(
            **stream_named(split.stream),
            ShardId=split.shard,
            ShardIteratorType=split.position,
            **more,
        )
        iterator: str = answer["ShardIterator"]
        return iterator

    # In the subtask.

    def poll(self, max_records: int) -> ReadBatch | None:
        with self._changed:
            if not self._answers:
                if self._error is not None:
                    raise self._error
                return None
            answer = self._answers.popleft()
            if len(answer.records) > max_records:
                rest = replace(answer, records=answer.records[max_records:])
                self._answers.appendleft(rest)
                answer = replace(answer, records=answer.records[:max_records], ended=False)
            self._changed.notify_all()
        return self._batch(answer)

    def _batch(self, answer: _Answer) -> ReadBatch:
        split = self._splits[answer.split_id]
        values, times = self._records_of(answer.records, split)
        if answer.ended:
            del self._splits[answer.split_id]
            self._finished.append(answer.split_id)
        elif answer.records:
            self._splits[answer.split_id] = _behind(split, answer.records)
        return ReadBatch(answer.split_id, values, times)

    def _records_of(
        self, messages: list[dict[str, Any]], split: ShardSplit
    ) -> tuple[Any, list[int] | None]:
        schema = self._source.schema
        if isinstance(schema, ManyMessagesSchema) and messages:
            try:
                return schema.of_messages(messages, split.shard), None
            except Exception:  # noqa: BLE001 - one by one it is known which message
                pass
        values: list[Any] = []
        times: list[int] = []
        for message in messages:
            arrived = int(message["ApproximateArrivalTimestamp"].timestamp() * 1_000)
            found = self._deserialized(message, arrived, split)
            values += found
            times += [arrived] * len(found)
        return values, times

    def _deserialized(
        self, message: dict[str, Any], arrived: int, split: ShardSplit
    ) -> Sequence[Any]:
        """The records of one message."""
        schema = self._source.schema
        try:
            if isinstance(schema, ManyMessagesSchema):
                return schema.of_messages([message], split.shard)
            record = schema.deserialize(
                message["Data"],
                message["PartitionKey"],
                message["SequenceNumber"],
                arrived,
                split.stream,
                split.shard,
            )
        except Exception as error:
            if not self._context.set_aside(message["Data"], error, arrived):
                raise
            return ()
        return () if record is None else (record,)

    def snapshot(self) -> list[ShardSplit]:
        return list(self._splits.values())

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    @property
    def exhausted(self) -> bool:
        return not self._splits

    def close(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_STOP_WAIT_S)
