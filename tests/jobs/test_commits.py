"""Sinks that commit, in jobs with and without checkpoints, that end, fail and are stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headrace.common.commit_marker import read_commit_marker, read_together
from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.jobs.progress import wait_until_read

RECORDS, PER_SECOND = 4_000, 2_000


class Log(Sink):
    """A file in a directory for each commit; the first commit fails if `fail_once` is missing."""

    def __init__(self, path: Path, fail_once: Path | None = None) -> None:
        self.path = str(path)
        self.fail_once = str(fail_once) if fail_once else None

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return LogWriter(context.subtask)

    def create_committer(self, context: WriterContext) -> Committer:
        return LogCommitter(self.path, self.fail_once)


class LogWriter(SinkWriter):
    def __init__(self, subtask: int) -> None:
        self.subtask = subtask
        self.values: list[Any] = []

    def write(self, values: list[Any], timestamps: Any) -> None:
        self.values += values

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        taken, self.values = self.values, []
        return [(checkpoint, self.subtask, taken)]


class LogCommitter(Committer):
    def __init__(self, path: str, fail_once: str | None) -> None:
        self.path = path
        self.fail_once = fail_once

    def commit(self, committables: list[Any]) -> None:
        if self.fail_once is not None and not os.path.exists(self.fail_once):
            Path(self.fail_once).touch()
            raise ValueError("the commit failed")
        os.makedirs(self.path, exist_ok=True)
        for checkpoint, subtask, values in committables:
            Path(self.path, f"{checkpoint}-{subtask}").write_text(json.dumps(values))


def committed(path: Path) -> dict[int, list[int]]:
    """What was committed with each checkpoint."""
    found: dict[int, list[int]] = {}
    for file in path.iterdir() if path.exists() else ():
        found.setdefault(int(file.name.split("-")[0]), []).extend(json.loads(file.read_text()))
    return found


def values_of(path: Path) -> list[int]:
    return sorted(v for values in committed(path).values() for v in values)


def numbers(
    checkpoints: str | None = "300 ms",
    records: int = RECORDS,
    per_second: int = PER_SECOND,
    **more: str,
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "50 ms",
        **more,
    }
    if checkpoints is not None:
        settings["execution.checkpointing.interval"] = checkpoints
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, records, RateLimiterStrategy.per_second(per_second))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    return env, stream


def test_a_bounded_job_commits_all_before_it_is_finished(tmp_path: Path) -> None:
    env, stream = numbers(checkpoints="1 ms", **{"execution.epoch.max-records": "500"})
    stream.sink_to(Log(tmp_path / "log")).uid("log")
    env.execute("bounded")
    assert values_of(tmp_path / "log") == list(range(RECORDS))
    assert len(committed(tmp_path / "log")) > 1


def test_a_job_shorter_than_the_interval_has_a_final_checkpoint(tmp_path: Path) -> None:
    env, stream = numbers(checkpoints="1 h", records=100)
    stream.sink_to(Log(tmp_path / "log"))
    env.execute("short")
    assert values_of(tmp_path / "log") == list(range(100))
    assert set(committed(tmp_path / "log")) == {1}


def test_without_checkpoints_each_epoch_is_committed(tmp_path: Path) -> None:
    # However slow the machine is, the records do not fit into fewer than three epochs.
    env, stream = numbers(checkpoints=None, records=2_000, **{"execution.epoch.max-records": "400"})
    stream.sink_to(Log(tmp_path / "log"))
    env.execute("epochs")
    assert values_of(tmp_path / "log") == list(range(2_000))
    assert len(committed(tmp_path / "log")) > 2


@pytest.mark.parametrize("checkpoints", ["300 ms", "1 h"])
def test_a_commit_that_fails_is_repeated_after_the_recovery(
    tmp_path: Path, checkpoints: str
) -> None:
    """With an interval of an hour it is the final checkpoint whose commit fails."""
    env, stream = numbers(checkpoints=checkpoints, records=2_000)
    stream.sink_to(Log(tmp_path / "log", fail_once=tmp_path / "failed"))
    env.execute("failing commit")
    assert (tmp_path / "failed").exists()
    assert values_of(tmp_path / "log") == list(range(2_000))


def test_readers_see_what_all_sinks_have_committed(tmp_path: Path) -> None:
    """Two sinks of which one fails in its first commit: read together they show the same."""
    one, two, marker = tmp_path / "one", tmp_path / "two", tmp_path / "marker"
    several = {"execution.commit-marker": str(marker), "execution.epoch.max-records": "300"}
    env, stream = numbers(checkpoints="1 ms", **several)
    stream.sink_to(Log(one)).uid("one")
    stream.sink_to(Log(two, fail_once=tmp_path / "failed")).uid("two")
    client = env.execute_async("together")
    seen = []
    while not client.get_job_status().result().is_terminal_state():
        seen.append(read_together(marker, lambda: (values_of(one), values_of(two))))
    client.get_job_execution_result().result()
    assert (tmp_path / "failed").exists()
    assert all(first == second for first, second in seen)
    assert values_of(one) == values_of(two) == list(range(RECORDS))
    at_end = read_commit_marker(marker)
    assert at_end is not None
    assert at_end.consistent


def fail_once(path: Path, at: int) -> Any:
    def check(value: int) -> int:
        if value == at and not path.exists():
            path.touch()
            raise ValueError("a bad moment")
        return value

    return check


@pytest.mark.parametrize("rolling", ["checkpoint", "size"])
def test_files_have_every_record_once_after_a_failure(tmp_path: Path, rolling: str) -> None:
    policy = (
        RollingPolicy.on_checkpoint_rolling_policy()
        if rolling == "checkpoint"
        else RollingPolicy.default_rolling_policy(part_size=4_000)
    )
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(policy)
        .build()
    )
    env, stream = numbers()
    stream.map(fail_once(tmp_path / "failed", 2_500)).sink_to(sink)
    env.execute("files")
    assert (tmp_path / "failed").exists()
    files = list((tmp_path / "out").iterdir())
    assert [f for f in files if f.name.startswith(".")] == []
    lines = sorted(int(line) for f in files for line in f.read_text().splitlines())
    assert lines == list(range(RECORDS))


def test_a_stop_with_a_savepoint_commits_and_the_next_job_goes_on(tmp_path: Path) -> None:
    env, stream = numbers(checkpoints="1 h", per_second=200)
    stream.sink_to(Log(tmp_path / "log")).uid("log")
    client = env.execute_async("stopped")
    wait_until_read(client, 100)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = values_of(tmp_path / "log")
    assert 0 < len(before) < RECORDS
    env, stream = numbers(per_second=100_000, **{"execution.state-recovery.path": savepoint})
    stream.sink_to(Log(tmp_path / "log")).uid("log")
    env.execute("going on")
    assert values_of(tmp_path / "log") == list(range(RECORDS))


def test_a_cancelled_job_leaves_nothing_that_was_not_committed(tmp_path: Path) -> None:
    env, stream = numbers(checkpoints="1 h", per_second=200)
    stream.sink_to(Log(tmp_path / "log"))
    client = env.execute_async("cancelled")
    wait_until_read(client, 100)
    client.cancel().result()
    assert committed(tmp_path / "log") == {}
