"""A slot is killed between the steps of a commit: what was committed is whole, and there once."""

from __future__ import annotations

import os
import signal
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.common.commit_marker import read_commit_marker
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.write_ahead import CheckpointCommitter, GenericWriteAheadSink
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import SinkFunction, TwoPhaseCommitSinkFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("room_for_live_jobs")]

RECORDS, PER_SECOND = 1_500, 1_500


class Killer:
    """Kills its own process the first time that a step is reached for the `nth` time in it."""

    def __init__(self, directory: Path, step: str, nth: int = 1) -> None:
        self.directory = directory
        self.step = step
        self.nth = nth
        self.passed = 0

    def at(self, step: str) -> None:
        killed = self.directory / "killed"
        if step != self.step or killed.exists():
            return
        self.passed += 1
        if self.passed == self.nth:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Files(TwoPhaseCommitSinkFunction[int, str, None]):
    """A file for each transaction, hidden until it is committed."""

    def __init__(self, directory: Path, step: str, nth: int) -> None:
        self.out = directory / "out"
        self.killer = Killer(directory, step, nth)
        self.at = self.killer.at

    def begin_transaction(self) -> str:
        self.out.mkdir(exist_ok=True)
        name = str(self.out / f".{uuid.uuid4()}")
        Path(name).touch()
        self.at("after begin_transaction")
        return name

    def invoke(self, transaction: str, value: int, context: SinkFunction.Context) -> None:
        with open(transaction, "a") as file:
            file.write(f"{value}\n")
        self.at("invoke")

    def pre_commit(self, transaction: str) -> None:
        self.at("before pre_commit")
        with open(transaction, "rb") as file:
            os.fsync(file.fileno())
        self.at("after pre_commit")

    def commit(self, transaction: str) -> None:
        self.at("before commit")
        if os.path.exists(transaction):
            os.rename(transaction, transaction.replace("/.", "/"))
        self.at("after commit")

    def recover_and_commit(self, transaction: str) -> None:
        assert os.path.exists(transaction) or os.path.exists(transaction.replace("/.", "/"))
        self.commit(transaction)

    def abort(self, transaction: str) -> None:
        Path(transaction).unlink(missing_ok=True)


def numbers(**more: str) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "150 ms",
        "execution.checkpointing.interval": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10 ms",
        **more,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(PER_SECOND))
    return env, env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def lines(directory: Path) -> Counter[int]:
    files = [f for f in directory.iterdir() if not f.name.startswith(".")]
    return Counter(int(line) for f in files for line in f.read_text().splitlines())


@pytest.mark.parametrize(
    ("step", "nth", "carrier"),
    [
        # Live ones first: their Spark does for the others, too.
        ("invoke", 300, "live"),
        ("after pre_commit", 1, "live"),
        ("before commit", 1, "live"),
        ("after commit", 1, "live"),
        ("after begin_transaction", 1, "epochs"),
        ("before pre_commit", 1, "epochs"),
        ("after pre_commit", 1, "epochs"),
        ("before commit", 1, "epochs"),
    ],
)
def test_two_phase_commit(tmp_path: Path, step: str, nth: int, carrier: str) -> None:
    marker = tmp_path / "marker"
    given = {"execution.commit-marker": str(marker), "execution.carrier": carrier}
    env, stream = numbers(**given)
    stream.add_sink(Files(tmp_path, step, nth))
    env.execute(f"killed {step}")
    assert (tmp_path / "killed").exists()
    assert lines(tmp_path / "out") == Counter(range(RECORDS))
    at_end = read_commit_marker(marker)
    assert at_end is not None
    assert at_end.consistent
    assert at_end.committed is not None


class Ledger(CheckpointCommitter):
    """Which checkpoints were sent, as files."""

    def __init__(self, directory: Path, killer: Killer) -> None:
        super().__init__()
        self.ledger = directory / "ledger"
        self.at = killer.at

    def create_resource(self) -> None:
        self.ledger.mkdir(exist_ok=True)

    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        (self.ledger / f"{subtask_idx}-{checkpoint_id}").touch()
        self.at("after commit_checkpoint")

    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        return (self.ledger / f"{subtask_idx}-{checkpoint_id}").exists()


class Sending(GenericWriteAheadSink[int]):
    """Appends to a file: sent twice is seen twice."""

    def __init__(self, directory: Path, step: str) -> None:
        self.killer = Killer(directory, step)
        super().__init__(Ledger(directory, self.killer), "sending")
        self.out = directory / "out"

    def send_values(self, values: Sequence[int], checkpoint_id: int, timestamp: int) -> bool:
        self.killer.at("before send_values")
        self.out.mkdir(exist_ok=True)
        with open(self.out / str(os.getpid()), "a") as file:
            file.write("".join(f"{v}\n" for v in values))
        self.killer.at("after send_values")
        return True


@pytest.mark.parametrize(
    ("step", "most"),
    [("before send_values", 1), ("after send_values", 2), ("after commit_checkpoint", 1)],
)
def test_write_ahead(tmp_path: Path, step: str, most: int) -> None:
    """Only between sending and remembering it records can be sent twice."""
    env, stream = numbers()
    stream.sink_to(Sending(tmp_path, step))
    env.execute(f"killed {step}")
    assert (tmp_path / "killed").exists()
    sent = lines(tmp_path / "out")
    assert set(sent) == set(range(RECORDS))
    assert max(sent.values()) == most
