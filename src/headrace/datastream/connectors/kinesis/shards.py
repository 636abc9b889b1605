"""Shards of data streams: which there are, and which subtask reads them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.datastream.connectors.base import SplitEnumerator
from headrace.datastream.connectors.kinesis.client import aws_client, aws_errors, what_aws_says

__all__ = ["KinesisShardAssigner", "ShardEnumerator", "ShardSplit", "shards_of", "stream_named"]

_HASH_KEYS = 2**128


@dataclass(frozen=True)
class ShardSplit:
    """A shard, and where to go on in it.

    Attributes:
        stream: Name of the stream, or its ARN.
        shard: Id of the shard.
        position: `LATEST`, `TRIM_HORIZON`, `AT_TIMESTAMP` or `AFTER_SEQUENCE_NUMBER`.
        value: The time in seconds, or the sequence number, that the position needs.
    """

    stream: str
    shard: str
    position: str
    value: Any = None

    @property
    def split_id(self) -> str:
        """Stream and shard."""
        return f"{self.stream}/{self.shard}"


@dataclass(frozen=True)
class KinesisShardAssigner:
    """Says which subtask reads a shard.

    Args:
        assign: Gives a number for a shard, as `list_shards` of boto3 describes it, and the
            parallelism; the subtask is this number modulo the parallelism.
    """

    assign: Callable[[dict[str, Any], int], int]

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """By a hash of the shard's id."""
        return KinesisShardAssigner(_by_id)

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """By the shard's range of hash keys, so that shards of one size are spread evenly."""
        return KinesisShardAssigner(_by_hash_keys)


def _by_id(shard: dict[str, Any], parallelism: int) -> int:
    return zlib.crc32(shard["ShardId"].encode())


def _by_hash_keys(shard: dict[str, Any], parallelism: int) -> int:
    keys = shard["HashKeyRange"]
    middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2
    return middle * parallelism // _HASH_KEYS


def checked_assigner(assigner: Any) -> KinesisShardAssigner:
    """An assigner, or a function that is one."""
    if isinstance(assigner, KinesisShardAssigner):
        return assigner
    if callable(assigner):
        return KinesisShardAssigner(assigner)
    raise FunctionTypeError(f"set_shard_assigner takes a KinesisShardAssigner, not {assigner!r}")


def stream_named(stream: str) -> dict[str, str]:
    """How a request says which stream it is about: by a name, or by an ARN."""
    return {"StreamARN" if stream.startswith("arn:") else "StreamName": stream}


def shards_of(client: Any, stream: str) -> list[dict[str, Any]]:
    """What Kinesis says of the shards of a stream."""
    shards: list[dict[str, Any]] = []
    question: dict[str, Any] = stream_named(stream)
    while True:
        try:
            answer = client.list_shards(**question)
        except aws_errors() as error:
            raise what_aws_says(
                error,
                f"the shards of the Kinesis stream {stream!r} cannot be listed; correct its name, "
                "aws.region and the credentials, or create it: `aws kinesis create-stream "
                f"--stream-name {stream.rpartition('/')[2]} --shard-count 1`",
            ) from error
        shards += answer["Shards"]
        if not answer.get("NextToken"):
            return shards
        question = {"NextToken": answer["NextToken"]}


class ShardEnumerator(SplitEnumerator):
    """Looks for shards again and again: those that come by resharding are read from their start."""

    def __init__(
        self,
        streams: tuple[str, ...],
        properties: dict[str, str],
        start: tuple[str, Any],
        assigner: KinesisShardAssigner,
        interval_ms: int,
        parallelism: int,
    ) -> None:
        self._streams = streams
        self._properties = properties
        self._start = start
        self._assigner = assigner
        self._interval_ms = interval_ms
        self._parallelism = parallelism
        self._known: set[str] = set()
        self._first = True
        self._next_ms = 0
        self._client: Any = None

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if now_ms < self._next_ms:
            return {}
        self._next_ms = now_ms + self._interval_ms
        position, value = self._start if self._first else ("TRIM_HORIZON", None)
        found: dict[int, list[Any]] = {}
        for stream in self._streams:
            for shard in self._shards(stream):
                split = ShardSplit(stream, shard["ShardId"], position, value)
                if split.split_id not in self._known:
                    self._known.add(split.split_id)
                    subtask = self._assigner.assign(shard, self._parallelism) % self._parallelism
                    found.setdefault(subtask, []).append(split)
        self._first = False
        return found

    def _shards(self, stream: str) -> list[dict[str, Any]]:
        if self._client is None:
            self._client = aws_client("kinesis", self._properties)
        return shards_of(self._client, stream)

    @property
    def finished(self) -> bool:
        return False

    def next_discovery(self, now_ms: int) -> int | None:
        return self._next_ms

    def snapshot(self) -> Any:
        return (sorted(self._known), self._first)

    def restore(self, snapshot: Any) -> None:
        known, self._first = snapshot
        self._known = set(known)
