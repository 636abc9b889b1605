"""The commit protocol as one sink operator sees it: prepare, snapshot, commit, restore."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import (
    Committer,
    RetriableCommitError,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.graph.specs import SinkSpec
from headrace.metrics import MetricGroup
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.operator import OperatorContext, TaskInfo
from headrace.runtime.operators.sink import SinkOperator
from headrace.runtime.state.operator_state import OperatorStateSnapshot
from headrace.testing.recording import RecordingServices


class Target:
    """What the world sees, and how often it fails."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.failures: list[Exception] = []
        self.contexts: list[WriterContext] = []


class Writing(SinkWriter):
    def __init__(self, target: Target, context: WriterContext) -> None:
        self.target = target
        self.buffer: list[Any] = []
        self.total = sum(context.restored_state)

    def write(self, values: list[Any], timestamps: Any) -> None:
        self.buffer += values
        self.total += len(values)

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        taken, self.buffer = self.buffer, []
        return [(checkpoint, taken, end_of_input)] if taken else []

    def snapshot(self) -> list[Any]:
        return [self.total]


class Committing(Committer):
    def __init__(self, target: Target) -> None:
        self.target = target

    def commit(self, committables: list[Any]) -> None:
        if self.target.failures:
            raise self.target.failures.pop(0)
        self.target.calls += committables

    def close(self) -> None:
        self.target.calls.append("closed")


class Recorded(Sink):
    def __init__(self, target: Target, commits: bool = True) -> None:
        self.target = target
        self.commits = commits

    def create_writer(self, context: WriterContext) -> SinkWriter:
        self.target.contexts.append(context)
        return Writing(self.target, context)

    def create_committer(self, context: WriterContext) -> Committer | None:
        return Committing(self.target) if self.commits else None


def operator(target: Target, subtask: int = 0, parallelism: int = 1, **how: Any) -> SinkOperator:
    made = SinkOperator(SinkSpec(Recorded(target, **how)), sleep=target.calls.append)
    task = TaskInfo("job", "a job", "vertex", subtask, parallelism, 128)
    context = OperatorContext(
        task, "op", "Sink: it", None, False, lambda: 0, None, {}, MetricGroup(), RecordingServices()
    )
    made.setup(context, OperatorOutput((), {}, None))
    return made


def write(made: SinkOperator, *values: Any) -> None:
    made.process_batch(Batch(list(values), None, None))
    made.end_epoch()


def checkpoint(made: SinkOperator, number: int) -> OperatorStateSnapshot:
    made.before_snapshot(number, 0)
    saved: OperatorStateSnapshot = pickle.loads(
        pickle.dumps(made.operator_state.snapshot().serialized())
    )
    return saved


def restored(
    target: Target, saved: list[OperatorStateSnapshot], subtask: int = 0, parallelism: int = 1
) -> SinkOperator:
    made = operator(target, subtask, parallelism)
    made.restored, made.restored_checkpoint = True, 1  # type: ignore[assignment]
    made.operator_state.restore(dict(enumerate(saved)), len(saved), subtask, parallelism)
    made.open()
    return made


def test_nothing_is_committed_before_the_checkpoint_is_complete() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a", "b")
    checkpoint(made, 1)
    write(made, "c")
    assert (target.calls, made.committables) == ([], 1)
    made.notify_checkpoint(1, completed=True)
    assert target.calls == [(1, ["a", "b"], False)]
    assert made.committables == 0
    made.notify_checkpoint(1, completed=True)
    assert len(target.calls) == 1


def test_what_an_aborted_checkpoint_had_is_committed_with_the_next() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 1)
    made.notify_checkpoint(1, completed=False)
    write(made, "b")
    checkpoint(made, 2)
    made.notify_checkpoint(2, completed=True)
    assert target.calls == [(1, ["a"], False), (2, ["b"], False)]


def test_a_checkpoint_commits_nothing_that_came_after_it() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 1)
    write(made, "b")
    checkpoint(made, 2)
    made.notify_checkpoint(1, completed=True)
    assert target.calls == [(1, ["a"], False)]


def test_a_restore_commits_again_and_gives_the_writer_its_state() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a", "b")
    saved = checkpoint(made, 1)
    again = restored(target, [saved])
    assert target.calls == [(1, ["a", "b"], False)]
    write(again, "c")
    checkpoint(again, 2)
    again.notify_checkpoint(2, completed=True)
    assert target.calls[1:] == [(2, ["c"], False)]
    context = target.contexts[-1]
    assert (context.restored_state, context.restored_checkpoint) == ([2], 1)
    assert again._writer.total == 3  # type: ignore[attr-defined]


def test_the_next_checkpoint_has_only_what_is_not_committed() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 1)
    made.notify_checkpoint(1, completed=True)
    write(made, "b")
    saved = checkpoint(made, 2)
    restored(target, [saved])
    assert target.calls == [(1, ["a"], False), (2, ["b"], False)]


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_each_committable_is_committed_by_one_subtask(parallelism: int) -> None:
    target = Target()
    saved = []
    for subtask, value in enumerate("abcd"):
        made = operator(target, subtask, 4)
        made.open()
        write(made, value)
        saved.append(checkpoint(made, 1))
    for subtask in range(parallelism):
        restored(target, saved, subtask, parallelism)
        # Who cleans up must know what others are still to commit.
        known = target.contexts[-1].restored_committables
        assert sorted(values for _, values, _ in known) == [["a"], ["b"], ["c"], ["d"]]
    assert sorted(values for _, values, _ in target.calls) == [["a"], ["b"], ["c"], ["d"]]


def test_all_checkpoints_of_a_restore_are_committed_whoever_wrote_last() -> None:
    target = Target()
    saved = []
    for subtask, values in enumerate(("ab", "c")):
        made = operator(target, subtask, 2)
        made.open()
        for number, value in enumerate(values, 1):
            # The first one is given up, or a savepoint: the second has it, too.
            write(made, value)
            checkpoint(made, number)
        saved.append(checkpoint(made, 2))
    restored(target, saved)
    assert sorted(values for _, values, _ in target.calls) == [["a"], ["b"], ["c"]]


def test_an_epoch_without_checkpoints_is_committed_by_its_number() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    made.prepare_commit(7)
    made.commit(7)
    assert target.calls == [(7, ["a"], False)]


def test_the_writer_knows_that_nothing_follows() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    made.finish()
    checkpoint(made, 1)
    made.notify_checkpoint(1, completed=True)
    made.close()
    assert target.calls == [(1, ["a"], True), "closed"]


def test_a_commit_is_tried_again_after_growing_pauses() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 1)
    target.failures = [RetriableCommitError("server away"), RetriableCommitError("still")]
    made.notify_checkpoint(1, completed=True)
    assert target.calls == [0.5, 1.0, (1, ["a"], False)]
    services: Any = made.context.services
    assert services.printed_to_stderr == [
        "Sink: it: commit of checkpoint 1 will be tried again in 0.5 s: server away",
        "Sink: it: commit of checkpoint 1 will be tried again in 1 s: still",
    ]


def test_a_commit_that_never_succeeds_fails_the_job() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 1)
    target.failures = [RetriableCommitError("away")] * 10
    with pytest.raises(UserCodeFailure) as caught:
        made.notify_checkpoint(1, completed=True)
    assert str(caught.value.cause) == "away"
    assert made.committables == 1


def test_another_error_fails_the_job_at_once() -> None:
    target = Target()
    made = operator(target)
    made.open()
    write(made, "a")
    checkpoint(made, 3)
    target.failures = [ValueError("refused")]
    with pytest.raises(UserCodeFailure) as caught:
        made.notify_checkpoint(3, completed=True)
    assert caught.value.where == "commit of checkpoint 3"
    assert target.calls == []


def test_committables_without_a_committer_are_an_error() -> None:
    made = operator(Target(), commits=False)
    made.open()
    write(made, "a")
    with pytest.raises(UserCodeFailure) as caught:
        checkpoint(made, 1)
    assert isinstance(caught.value.cause, HeadraceError)
    assert "create_committer" in str(caught.value.cause)
