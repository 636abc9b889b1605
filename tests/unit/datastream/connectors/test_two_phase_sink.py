"""The steps of a two-phase commit and of a write-ahead sink, in the order they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, JobExecutionError
from headrace.datastream.connectors.write_ahead import CheckpointCommitter, GenericWriteAheadSink
from headrace.datastream.functions import SinkFunction, TwoPhaseCommitSinkFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing.runner import MiniRunner

SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


class Steps(TwoPhaseCommitSinkFunction[int, str, dict[str, int]]):
    """Says which steps are called; transactions are t1, t2, ... over all objects."""

    begun = 0

    def begin_transaction(self) -> str:
        type(self).begun += 1
        return self.say("begin", f"t{type(self).begun}")

    def say(self, step: str, transaction: str) -> str:
        SEEN.append(f"{step} {transaction}")
        return transaction

    def invoke(self, transaction: str, value: int, context: SinkFunction.Context) -> None:
        if value == 13:
            raise ValueError("unlucky")
        SEEN.append((transaction, value, context.timestamp()))

    def pre_commit(self, transaction: str) -> None:
        self.say("pre_commit", transaction)

    def commit(self, transaction: str) -> None:
        self.say("commit", transaction)

    def abort(self, transaction: str) -> None:
        self.say("abort", transaction)

    def recover_and_commit(self, transaction: str) -> None:
        self.say("recover_and_commit", transaction)

    def recover_and_abort(self, transaction: str) -> None:
        self.say("recover_and_abort", transaction)

    def initialize_user_context(self) -> dict[str, int]:
        return {"starts": 1}

    def finish_recovering_context(self, handled_transactions: list[str]) -> None:
        context = self.get_user_context()
        assert context is not None
        context["starts"] += 1
        SEEN.append(("handled", handled_transactions, context["starts"]))

    def open(self, runtime_context: Any) -> None:
        assert self.get_runtime_context() is runtime_context
        SEEN.append("open")

    def finish(self) -> None:
        SEEN.append("finish")

    def close(self) -> None:
        SEEN.append("close")


@pytest.fixture(autouse=True)
def _from_the_first_transaction() -> None:
    Steps.begun = 0


def runner_of(*values: int, sink: Any = None) -> MiniRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(list(values))
    if sink is None:
        stream.add_sink(Steps())
    else:
        stream.sink_to(sink)
    return MiniRunner(env.get_job_graph(), epoch_records=1)


def test_each_epoch_has_its_transaction() -> None:
    runner_of(1, 2).run()
    assert SEEN == [
        "open",
        "begin t1",
        ("t1", 1, None),
        "pre_commit t1",
        "begin t2",
        "commit t1",
        ("t2", 2, None),
        "finish",
        "pre_commit t2",
        "commit t2",
        "close",
    ]


def test_a_restore_commits_what_was_prepared_and_aborts_what_was_open() -> None:
    runner = runner_of(1, 2, 3)
    runner.open()
    runner.run_epoch()
    del SEEN[:]
    snapshot = runner.snapshot()
    assert SEEN == ["pre_commit t2", "begin t3"]
    runner.run_epoch()
    del SEEN[:]
    runner.restore(snapshot)
    # The old process aborts what it has open when it can; the new one relies on nothing.
    assert SEEN == [
        "abort t4",
        "close",
        "recover_and_commit t2",
        "recover_and_abort t3",
        ("handled", ["t2", "t3"], 2),
        "open",
        "begin t5",
    ]
    runner.close()


def test_a_failure_in_invoke_aborts_and_names_the_record() -> None:
    with pytest.raises(JobExecutionError, match="unlucky") as caught:
        runner_of(1, 13).run()
    assert caught.value.record == "13"
    assert SEEN[-2:] == ["abort t2", "close"]
    assert "pre_commit t2" not in SEEN


def test_it_is_no_sink_function() -> None:
    with pytest.raises(FunctionTypeError, match="leave SinkFunction out"):

        class Both(TwoPhaseCommitSinkFunction, SinkFunction):  # type: ignore[misc,type-arg]
            pass


class Sent(CheckpointCommitter):
    done: set[tuple[str, int, int]] = set()  # noqa: RUF012

    def create_resource(self) -> None:
        SEEN.append(f"create for {self.job_id}")

    def open(self) -> None:
        SEEN.append("open committer")

    def close(self) -> None:
        SEEN.append("close committer")

    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        self.done.add((self.job_id, subtask_idx, checkpoint_id))

    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        return (self.job_id, subtask_idx, checkpoint_id) in self.done


class Sending(GenericWriteAheadSink[int]):
    refuse = 0

    def send_values(self, values: Sequence[int], checkpoint_id: int, timestamp: int) -> bool:
        if type(self).refuse:
            type(self).refuse -= 1
            SEEN.append("refused")
            return False
        SEEN.append((checkpoint_id, list(values)))
        return True


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    Sent.done = set()


def test_a_write_ahead_sink_sends_what_is_committed() -> None:
    runner = runner_of(1, 2, sink=Sending(Sent(), "orders"))
    runner.run()
    assert SEEN == ["create for orders", "open committer", (1, [1]), (2, [2]), "close committer"]


def test_a_write_ahead_sink_sends_no_checkpoint_twice() -> None:
    runner = runner_of(1, 2, 3, sink=Sending(Sent(), "orders"))
    runner.open()
    runner.run_epoch()
    snapshot = runner.snapshot()
    runner.restore(snapshot)
    runner.restore(snapshot)
    runner.run_epoch()
    runner.close()
    # The snapshot, number 2, is an empty checkpoint; what came before was sent with number 1.
    assert [s for s in SEEN if isinstance(s, tuple)] == [(1, [1]), (3, [2])]


def test_records_in_the_checkpoint_are_sent_after_a_restore() -> None:
    runner = runner_of(1, 2, sink=Sending(Sent(), "orders"))
    runner.open()
    subtask = runner.subtask("Sink: Writer")
    (operator,) = [o for o in subtask.operators.values() if "Sink" in o.context.name]
    from headrace.runtime.batch import Batch

    operator.process_batch(Batch([7, 8], None, None))
    snapshot = runner.snapshot()
    runner.restore(snapshot)
    assert SEEN[-1] == (1, [7, 8])
    runner.restore(snapshot)
    assert SEEN.count((1, [7, 8])) == 1
    runner.close()


def test_a_write_ahead_sink_needs_its_names() -> None:
    with pytest.raises(FunctionTypeError, match="CheckpointCommitter"):
        Sending(None, "orders")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="job_id"):
        Sending(Sent(), "")
