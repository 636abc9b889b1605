"""Each step of the exactly-once protocol, with processes that die (or only seem to) in between."""

from __future__ import annotations

import itertools
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors.base import Committer, DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaError,
    KafkaRecordSerializationSchema,
    KafkaSink,
)
from headrace.datastream.connectors.kafka.transactions import TransactionalWriter
from tests.kafka.broker import Kafka

_prefixes = itertools.count(1)


@dataclass
class Context:
    """What a writer may use, as far as this one does."""

    subtask: int = 0
    parallelism: int = 1
    restored_state: Sequence[Any] = ()
    operator_id: str = "0123456789abcdef"
    lines: list[str] = field(default_factory=list)

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        self.lines += lines


class Process:
    """The sink of one subtask in one attempt."""

    def __init__(
        self,
        sink: KafkaSink,
        state: Sequence[Any] = (),
        committables: Sequence[Any] = (),
        subtask: int = 0,
        parallelism: int = 1,
    ) -> None:
        context: Any = Context(subtask, parallelism, pickle.loads(pickle.dumps(state)))
        self.lines: list[str] = context.lines
        sink = pickle.loads(pickle.dumps(sink))
        committer = sink.create_committer(context)
        assert committer is not None
        self.committer: Committer = committer
        if committables:
            self.committer.commit(pickle.loads(pickle.dumps(list(committables))))
        writer = sink.create_writer(context)
        assert isinstance(writer, TransactionalWriter)
        self.writer = writer
        self.writer.open()

    def checkpoint(self, *values: str) -> tuple[list[Any], list[Any]]:
        """Write and take a checkpoint: state and committables."""
        self.writer.write(list(values), None)
        committables = self.writer.prepare_commit(1, False)
        return self.writer.snapshot(), committables


class Sinks:
    """A topic, and processes that write to it."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self.topic = kafka.topic(2)
        schema = KafkaRecordSerializationSchema.builder().set_topic(self.topic)
        self.sink = (
            KafkaSink.builder()
            .set_bootstrap_servers(kafka.servers)
            .set_record_serializer(
                schema.set_value_serialization_schema(SimpleStringSchema()).build()
            )
            .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .set_transactional_id_prefix(f"steps-{next(_prefixes)}")
            .build()
        )
        self._started: list[Process] = []

    def start(self, *arguments: Any, **named: Any) -> Process:
        self._started.append(Process(self.sink, *arguments, **named))
        return self._started[-1]

    def visible(self) -> list[str]:
        """What a reader of committed records sees, up to the first open transaction."""
        return sorted(self._kafka.values(self.topic))

    def assert_visible(self, *values: str) -> None:
        """A commit is answered before all can see it, so it may take a moment."""
        deadline = time.monotonic() + 60
        while self.visible() != list(values) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.visible() == list(values)

    def close(self) -> None:
        for process in self._started:
            process.writer.close()
            process.committer.close()


@pytest.fixture
def sinks(kafka: Kafka) -> Iterator[Sinks]:
    made = Sinks(kafka)
    yield made
    made.close()


def test_nothing_is_visible_before_the_commit(sinks: Sinks) -> None:
    process = sinks.start()
    _, committables = process.checkpoint("a", "b")
    process.writer.write(["of the next checkpoint"], None)
    assert sinks.visible() == []
    process.committer.commit(committables)
    sinks.assert_visible("a", "b")


def test_what_was_prepared_is_written_again_if_the_process_dies_before_the_commit(
    sinks: Sinks,
) -> None:
    state, committables = sinks.start().checkpoint("a", "b")
    sinks.start(state, committables)
    sinks.assert_visible("a", "b")


def test_what_was_committed_is_not_written_again_if_the_process_dies_after_the_commit(
    sinks: Sinks,
) -> None:
    process = sinks.start()
    state, committables = process.checkpoint("a", "b")
    process.committer.commit(committables)
    sinks.start(state, committables)
    sinks.start(state, committables)
    sinks.assert_visible("a", "b")


def test_a_commit_can_be_repeated_in_the_process_that_made_it(sinks: Sinks) -> None:
    process = sinks.start()
    _, first = process.checkpoint("a")
    process.committer.commit(first)
    _, second = process.checkpoint("b")
    process.committer.commit([*first, *second])
    sinks.assert_visible("a", "b")


def test_what_no_checkpoint_has_is_aborted_by_the_next_process(sinks: Sinks) -> None:
    process = sinks.start()
    state, committables = process.checkpoint("a")
    process.committer.commit(committables)
    process.writer.write(["lost"], None)
    process.writer.flush(False)
    after = sinks.start(state, committables)
    # A reader gets past the place where the lost record is: the transaction is not open any more.
    _, more = after.checkpoint("b")
    after.committer.commit(more)
    sinks.assert_visible("a", "b")


def test_checkpoints_that_were_given_up_are_committed_with_the_next_one(sinks: Sinks) -> None:
    process = sinks.start()
    prepared = [c for i in range(4) for c in process.checkpoint(str(i))[1]]
    assert len({c.transactional_id for c in prepared}) == 4
    process.committer.commit(prepared)
    sinks.assert_visible("0", "1", "2", "3")


def test_a_zombie_cannot_commit_after_another_process_took_over(sinks: Sinks) -> None:
    zombie = sinks.start()
    state, committables = zombie.checkpoint("a")
    sinks.start(state, committables)
    with pytest.raises(KafkaError, match=r"is lost.*transactional id prefix"):
        zombie.committer.commit(committables)
    sinks.assert_visible("a")


def test_two_jobs_from_one_savepoint_write_each_their_own_records(sinks: Sinks) -> None:
    """Both count their transactions from the same number on, under the same ids."""
    first = sinks.start()
    state, committables = first.checkpoint("a")
    first.committer.commit(committables)

    one = sinks.start(state, committables)
    for value in ("one 1", "one 2", "one 3"):
        one.committer.commit(one.checkpoint(value)[1])

    two = sinks.start(state, committables)
    again, more = two.checkpoint("two 1")
    sinks.start(again, more)
    sinks.assert_visible("a", "one 1", "one 2", "one 3", "two 1")


def test_a_job_with_fewer_writers_commits_and_aborts_for_those_that_are_gone(sinks: Sinks) -> None:
    before = [sinks.start(subtask=i, parallelism=3) for i in range(3)]
    taken = [process.checkpoint(str(i)) for i, process in enumerate(before)]
    for process in before:
        process.writer.write(["lost"], None)
        process.writer.flush(False)
    state = [piece for pieces, _ in taken for piece in pieces]
    committables = [c for _, prepared in taken for c in prepared]
    after = sinks.start(state, committables)
    after.committer.commit(after.checkpoint("after")[1])
    sinks.assert_visible("0", "1", "2", "after")


def test_no_transaction_where_nothing_was_written(sinks: Sinks) -> None:
    process = sinks.start()
    assert process.writer.prepare_commit(1, False) == []
    assert len(process.writer.snapshot()) == 1
