"""Finds the partitions that a source reads, at the start and from time to time afterwards.

Brokers are asked on a thread of its own, so that a broker that is away holds up nobody: the
partitions come when it answers.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.datastream.connectors.base import SplitEnumerator
from headrace.datastream.connectors.kafka.client import Outage, confluent, is_outage
from headrace.datastream.connectors.kafka.offsets import KafkaOffsetsInitializer
from headrace.datastream.connectors.kafka.splits import KafkaSplit
from headrace.datastream.connectors.kafka.topics import KafkaTopicPartition, Selection

__all__ = ["Discovery", "KafkaEnumerator"]

_log = logging.getLogger(__name__)

_METADATA_TIMEOUT_S = 5.0
_FIRST_WAIT_S = 10.0
_LATER_WAIT_S = 0.5
_LOOK_AGAIN_MS = 1_000
_RETRY_S = 0.5


@dataclass(frozen=True)
class Discovery:
    """What an enumerator needs to know of its source.

    Attributes:
        settings: Of the client.
        selection: Which partitions.
        start: Where to start in those that are there at first; later ones start at their beginning.
        stop: Where to stop, or None.
        interval_ms: How often to look for new ones, or None for once.
    """

    settings: Mapping[str, Any]
    selection: Selection
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    interval_ms: int | None


class KafkaEnumerator(SplitEnumerator):
    """Deals out partitions: those of one topic go to neighbouring subtasks."""

    def __init__(self, discovery: Discovery, parallelism: int) -> None:
        self._discovery = discovery
        self._parallelism = parallelism
        self._search: _Search | None = None
        self._next_ms: int | None = None
        self._told_none = False
        # In the checkpoint.
        self._known: set[KafkaTopicPartition] = set()
        self._looked = False

    def discover(self, now_ms: int) -> dict[int, list[KafkaSplit]]:
        if self._search is None:
            due = not self._looked or (self._next_ms is not None and now_ms >= self._next_ms)
            if self._next_ms is None and self._looked and self._repeats:
                due = True
            if not due:
                return {}
            self._search = _Search(self._discovery, frozenset(self._known), not self._looked)
        found = self._search.result(_LATER_WAIT_S if self._looked else _FIRST_WAIT_S)
        if found is None:
            self._next_ms = now_ms + _LOOK_AGAIN_MS
            return {}
        self._search = None
        self._looked = True
        self._next_ms = now_ms + (self._discovery.interval_ms or 0)
        return self._dealt(found)

    def _dealt(self, found: list[KafkaSplit]) -> dict[int, list[KafkaSplit]]:
        dealt: dict[int, list[KafkaSplit]] = {}
        for split in found:
            self._known.add(KafkaTopicPartition(split.topic, split.partition))
            first = zlib.crc32(split.topic.encode())
            dealt.setdefault((first + split.partition) % self._parallelism, []).append(split)
        if not self._known and not self._told_none:
            self._told_none = True
            _log.warning("no topic of Kafka matches %s yet", self._discovery.selection)
        return dealt

    @property
    def _repeats(self) -> bool:
        return self._discovery.interval_ms is not None

    @property
    def finished(self) -> bool:
        return self._looked and not self._repeats

    def next_discovery(self, now_ms: int) -> int | None:
        return None if self.finished else self._next_ms

    def snapshot(self) -> Any:
        return {
            "looked": self._looked,
            "known": sorted((p.topic, p.partition) for p in self._known),
        }

    def restore(self, snapshot: Any) -> None:
        self._looked = snapshot["looked"]
        self._known = {KafkaTopicPartition(*p) for p in snapshot["known"]}

    def close(self) -> None:
        if self._search is not None:
            self._search.stop()


class _Search:
    """One search for partitions, on a thread; repeated until a broker answers."""

    def __init__(
        self, discovery: Discovery, known: frozenset[KafkaTopicPartition], first: bool
    ) -> None:
        self._discovery = discovery
        self._known = known
        self._start = discovery.start if first else KafkaOffsetsInitializer.earliest()
        self._found: list[KafkaSplit] | None = None
        self._error: BaseException | None = None
        self._stopped = threading.Event()
        self._outage = Outage(discovery.settings["bootstrap.servers"], "looking for partitions")
        self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-kafka-search")
        self._thread.start()

    def result(self, wait_s: float) -> list[KafkaSplit] | None:
        """The partitions found, or None if the search goes on."""
        self._thread.join(wait_s)
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        return self._found or []

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        library = confluent()
        try:
            settings = {**self._discovery.settings, **self._outage.settings}
            consumer = library.Consumer(settings)
            try:
                while not self._stopped.is_set():
                    try:
                        self._found = self._look(consumer)
                        self._outage.over()
                        return
                    except library.KafkaException as error:
                        if not is_outage(error.args[0]):
                            raise
                        self._outage.away(error.args[0])
                    consumer.poll(_RETRY_S)  # gives the client's errors to the outage
                    self._outage.check()
            finally:
                consumer.close()
        except BaseException as error:  # noqa: BLE001 - a thread's top: raised when asked
            self._error = error

    def _look(self, consumer: Any) -> list[KafkaSplit]:
        topics = consumer.list_topics(timeout=_METADATA_TIMEOUT_S).topics
        there = {name: len(t.partitions) for name, t in topics.items() if t.error is None}
        new = sorted(self._discovery.selection.of(there) - self._known)
        if not new:
            return []
        starts = self._start.resolve(consumer, new)
        stop = self._discovery.stop
        stops = stop.resolve(consumer, new) if stop is not None else {}
        reset = self._start.reset.text
        return [KafkaSplit(p.topic, p.partition, starts[p], stops.get(p), reset) for p in new]
