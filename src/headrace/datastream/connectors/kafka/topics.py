"""Which partitions a source reads: those of named topics, of topics by a pattern, or given ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.kafka.client import KafkaError, checked_text

__all__ = ["GivenPartitions", "KafkaTopicPartition", "MatchingTopics", "NamedTopics", "Selection"]


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """One partition of a topic.

    Args:
        topic: Name of the topic.
        partition: Number of the partition, from 0.
    """

    topic: str
    partition: int

    def __post_init__(self) -> None:
        """Check the arguments where the user wrote them."""
        checked_text(self.topic, "the topic of a partition")
        if type(self.partition) is not int:
            raise FunctionTypeError(f"the partition must be an int, not {self.partition!r}")
        if self.partition < 0:
            raise GraphError(f"partition {self.partition} of {self.topic!r}: numbers start at 0")

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Selection(Protocol):
    """Chooses partitions among those that there are."""

    def of(self, there: Mapping[str, int]) -> set[KafkaTopicPartition]:
        """The chosen ones.

        Args:
            there: Number of partitions of every topic.

        Raises:
            KafkaError: Something that was named is not there.
        """


@dataclass(frozen=True)
class NamedTopics:
    """All partitions of the topics."""

    names: tuple[str, ...]

    def of(self, there: Mapping[str, int]) -> set[KafkaTopicPartition]:
        for name in self.names:
            _require(name, there)
        return _all_of(self.names, there)


@dataclass(frozen=True)
class MatchingTopics:
    """All partitions of topics whose whole name matches; there may be none yet."""

    pattern: str

    def of(self, there: Mapping[str, int]) -> set[KafkaTopicPartition]:
        matches = re.compile(self.pattern).fullmatch
        return _all_of(tuple(filter(matches, there)), there)


@dataclass(frozen=True)
class GivenPartitions:
    """These partitions."""

    partitions: frozenset[KafkaTopicPartition]

    def of(self, there: Mapping[str, int]) -> set[KafkaTopicPartition]:
        for wanted in sorted(self.partitions):
            _require(wanted.topic, there)
            if wanted.partition >= there[wanted.topic]:
                raise KafkaError(
                    f"topic {wanted.topic!r} has no partition {wanted.partition}: it has "
                    f"{there[wanted.topic]}, numbered from 0; correct set_partitions()"
                )
        return set(self.partitions)


def _require(name: str, there: Mapping[str, int]) -> None:
    if name not in there:
        known = sorted(topic for topic in there if not topic.startswith("__"))
        listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        raise KafkaError(
            f"there is no topic {name!r}; there are: {listed or 'none'}. Create it, or correct the "
            "name (the principal also needs the right to describe it)"
        )


def _all_of(names: tuple[str, ...], there: Mapping[str, int]) -> set[KafkaTopicPartition]:
    return {KafkaTopicPartition(name, p) for name in names for p in range(there[name])}
