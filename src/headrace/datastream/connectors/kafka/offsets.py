"""Where reading starts and where it stops: PyFlink's `KafkaOffsetsInitializer`."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.kafka.client import KafkaError, confluent
from headrace.datastream.connectors.kafka.topics import KafkaTopicPartition

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer"]

_EARLIEST, _LATEST = -2, -1
_TIMEOUT_S = 10.0


class KafkaOffsetResetStrategy(enum.Enum):
    """Where to start in a partition whose starting offset is not known, or no longer there."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2

    @property
    def text(self) -> str:
        """As the setting `auto.offset.reset` has it."""
        return self.name.lower()


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """An offset for every partition; made by the static methods.

    Example:
        >>> KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
        >>> KafkaOffsetsInitializer.timestamp(1_700_000_000_000)
    """

    kind: str
    reset: KafkaOffsetResetStrategy
    timestamp_ms: int = 0
    given: Mapping[KafkaTopicPartition, int] = field(default_factory=dict, hash=False)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets that the consumer group has committed.

        Args:
            offset_reset_strategy: For partitions without one; NONE makes the job fail there.
        """
        return KafkaOffsetsInitializer("committed", _checked_reset(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first records at or after a time in milliseconds; the end if there are none."""
        if type(timestamp) is not int:
            raise FunctionTypeError(
                f"the timestamp must be an int of milliseconds, not {timestamp!r}"
            )
        if timestamp < 0:
            raise GraphError(f"the timestamp cannot be negative: {timestamp}")
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The oldest records that are there."""
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of every partition, as it is when it is found."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These offsets.

        Args:
            offsets: The offset for each partition.
            offset_reset_strategy: For partitions that are not in the dict, and offsets that are
                not there.
        """
        if not isinstance(offsets, Mapping):
            raise FunctionTypeError(f"offsets must be a dict by partition, not {offsets!r}")
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition):
                raise FunctionTypeError(
                    f"a key of offsets is {partition!r}, not a KafkaTopicPartition"
                )
            if type(offset) is not int or offset < 0:
                raise FunctionTypeError(
                    f"the offset of {partition} is {offset!r}; it must be an int >= 0"
                )
        return KafkaOffsetsInitializer(
            "given", _checked_reset(offset_reset_strategy), given=dict(offsets)
        )

    def resolve(
        self, consumer: Any, partitions: Iterable[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        """Ask the brokers; blocks for at most some seconds.

        Raises:
            KafkaError: A partition has no offset, and the strategy is NONE.
            confluent_kafka.KafkaException: The brokers do not answer.
        """
        wanted = list(partitions)
        if self.kind == "earliest":
            return _listed(consumer, wanted, _EARLIEST)
        if self.kind == "latest":
            return _listed(consumer, wanted, _LATEST)
        if self.kind == "timestamp":
            found = _listed(consumer, wanted, self.timestamp_ms)
        elif self.kind == "committed":
            found = _committed(consumer, wanted)
        else:
            found = {p: o for p, o in self.given.items() if p in set(wanted)}
        missing = [p for p in wanted if found.get(p, -1) < 0]
        if missing:
            found.update(self._reset(consumer, missing))
        return found

    def _reset(
        self, consumer: Any, missing: list[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        if self.reset is KafkaOffsetResetStrategy.NONE:
            raise KafkaError(
                f"partition {missing[0]} has no {self.kind} offset to start from; give an offset "
                "reset strategy, such as committed_offsets(KafkaOffsetResetStrategy.EARLIEST)"
            )
        earliest = self.reset is KafkaOffsetResetStrategy.EARLIEST
        return _listed(consumer, missing, _EARLIEST if earliest else _LATEST)


def _listed(
    consumer: Any, partitions: list[KafkaTopicPartition], at: int
) -> dict[KafkaTopicPartition, int]:
    """Offsets by time; two times have a meaning of their own: the beginning and the end."""
    asked = [confluent().TopicPartition(p.topic, p.partition, at) for p in partitions]
    return _by_partition(consumer.offsets_for_times(asked, timeout=_TIMEOUT_S))


def _committed(
    consumer: Any, partitions: list[KafkaTopicPartition]
) -> dict[KafkaTopicPartition, int]:
    asked = [confluent().TopicPartition(p.topic, p.partition) for p in partitions]
    return _by_partition(consumer.committed(asked, timeout=_TIMEOUT_S))


def _by_partition(answers: Iterable[Any]) -> dict[KafkaTopicPartition, int]:
    found = {}
    for answer in answers:
        if answer.error is not None:
            raise confluent().KafkaException(answer.error)
        found[KafkaTopicPartition(answer.topic, answer.partition)] = answer.offset
    return found


def _checked_reset(strategy: Any) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise FunctionTypeError(
            f"the offset reset strategy must be a KafkaOffsetResetStrategy, not {strategy!r}"
        )
    return strategy
