"""A producer that waits for brokers, keeps the order of messages, and reports what was refused."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice, repeat
from typing import Any

from headrace.common.errors import shorten_repr
from headrace.datastream.connectors.kafka.client import KafkaError, Outage, confluent, is_outage
from headrace.datastream.connectors.kafka.serialization import Messages

__all__ = ["KafkaClientProducer"]

_AT_ONCE = 10_000
_MOST_QUEUED = 200_000
_MOST_QUEUED_BYTES = 256 << 20
_SLICE_S = 1.0
_TOPIC_WAIT_S = 5.0
_ANY_PARTITION = -1
_NOW = 0

_DEFAULTS: dict[str, Any] = {
    "enable.idempotence": "true",
    # As the Java client spreads keys, so that both find a key in the same partition.
    "partitioner": "murmur2_random",
    "delivery.report.only.error": True,
    # What is queued is bounded here, where one can wait; the client would refuse messages.
    "queue.buffering.max.messages": 10_000_000,
    "queue.buffering.max.kbytes": 2_097_151,
}


class KafkaClientProducer:
    """One producer of the client library.

    Args:
        settings: Of the client.
        what: Who writes, for messages.
        say: Tells whoever reads the log of the job.
    """

    def __init__(self, settings: Mapping[str, Any], what: str, say: Callable[[str], None]) -> None:
        self._what = what
        self._servers = settings["bootstrap.servers"]
        self.outage = Outage(self._servers, what, say)
        self._refused: Any = None
        self._queued_bytes = 0
        self._partitions: dict[str, list[int]] = {}
        self.client = confluent().Producer(
            {
                **_DEFAULTS,
                **settings,
                **self.outage.settings,
                "on_delivery": self._delivered,
            }
        )

    # Topics.

    def require_topic(self, topic: str) -> None:
        """Check that a topic is there, or comes into being by being asked for."""
        deadline = time.monotonic() + _TOPIC_WAIT_S
        codes = confluent().KafkaError
        while True:
            found = self.waiting(lambda: self.client.list_topics(topic, timeout=_SLICE_S))
            error = found.topics[topic].error
            if error is None:
                self._partitions[topic] = sorted(found.topics[topic].partitions)
                return
            if error.code() not in (codes.UNKNOWN_TOPIC_OR_PART, codes.LEADER_NOT_AVAILABLE):
                raise KafkaError(f"{self._what}: topic {topic!r}: {error.str()}")
            if time.monotonic() > deadline:
                raise KafkaError(
                    f"{self._what}: topic {topic!r} does not exist at {self._servers}; create it, "
                    "or correct the name"
                )
            time.sleep(0.2)

    def partitions_of(self, topic: str) -> list[int]:
        """The partitions of a topic."""
        if topic not in self._partitions:
            self.require_topic(topic)
        return self._partitions[topic]

    # Writing.

    def produce(self, messages: Messages) -> None:
        """Queue messages; waits while too much is queued."""
        columns = (
            repeat(messages.topic),
            messages.values,
            repeat(None) if messages.keys is None else messages.keys,
            repeat(_ANY_PARTITION) if messages.partitions is None else messages.partitions,
            repeat(None),
            repeat(None),
            repeat(_NOW) if messages.timestamps is None else messages.timestamps,
            repeat(None) if messages.headers is None else messages.headers,
        )
        # A loop of its own would cost a quarter more: this is where a sink spends its time.
        calls = map(self.client.produce, *columns)
        try:
            for start in range(0, len(messages.values), _AT_ONCE):
                self._make_room()
                part = messages.values[start : start + _AT_ONCE]
                self._queued_bytes += sum(map(len, filter(None, part)))
                deque(islice(calls, len(part)), maxlen=0)
        except confluent().KafkaException as error:
            raise self._refusal(messages.topic, None, error.args[0]) from error

    def _make_room(self) -> None:
        if self._queued_bytes > _MOST_QUEUED_BYTES:
            self.flush()
        self.client.poll(0)
        while len(self.client) > _MOST_QUEUED:
            self.client.poll(0.05)
            self.check()
        self.check()

    def flush(self) -> None:
        """Wait until all messages have arrived; says so when brokers are away."""
        while self.client.flush(_SLICE_S) > 0:
            self.check()
        self._queued_bytes = 0
        self.check()
        self.outage.over()

    def check(self) -> None:
        """Raise what a broker has refused."""
        if self._refused is not None:
            raise self._refused
        self.outage.check()

    def waiting(self, request: Callable[[], Any]) -> Any:
        """Make a request, again and again while brokers are away."""
        library = confluent()
        while True:
            try:
                answer = request()
                self.outage.over()
                return answer
            except library.KafkaException as error:
                problem = error.args[0]
                if problem.fatal() or not (problem.retriable() or is_outage(problem)):
                    raise
                self.outage.away(problem)
                self.client.poll(0.2)
                self.outage.check()

    def close(self, timeout_s: float) -> None:
        """Let go of the client, after what is queued was sent or the time is over."""
        # A producer that was fenced off has nothing to say any more.
        with contextlib.suppress(confluent().KafkaException):
            self.client.flush(timeout_s)

    def _delivered(self, error: Any, message: Any) -> None:
        """Called by the client for messages that were refused."""
        if error is not None and self._refused is None:
            self._refused = self._refusal(message.topic(), message.value(), error)

    def _refusal(self, topic: str, value: bytes | None, error: Any) -> KafkaError:
        codes = confluent().KafkaError
        advice = {
            codes.MSG_SIZE_TOO_LARGE: "raise the property max.request.size here and "
            "max.message.bytes of the topic, or write smaller records",
            codes.UNKNOWN_TOPIC_OR_PART: "create the topic, or correct its name",
            codes._UNKNOWN_TOPIC: "create the topic, or correct its name",
            codes._UNKNOWN_PARTITION: "correct the partitioner, or add partitions to the topic",
            codes.TOPIC_AUTHORIZATION_FAILED: "give the principal the right to write to the topic",
            codes._MSG_TIMED_OUT: "the brokers were unavailable for longer than "
            "delivery.timeout.ms",
        }.get(error.code())
        which = "a message" if value is None else shorten_repr(value, 80)
        return KafkaError(
            f"{self._what}: Kafka refused {which} for topic {topic!r}: {error.str()}"
            + (f"; {advice}" if advice else "")
        )
