"""A cached stream is computed once, and read by the jobs that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.errors import GraphError, JobExecutionError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource


def environment(mode: RuntimeExecutionMode = RuntimeExecutionMode.BATCH) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"spark.master": "local[2]"})
    )
    env.set_runtime_mode(mode)
    env.set_parallelism(2)
    return env


class Computing:
    """Squares, and leaves a mark for each time that it computes one."""

    def __init__(self, marks: Path) -> None:
        self._marks = str(marks)

    def __call__(self, value: int) -> int:
        with open(self._marks, "a") as marks:
            marks.write(".")
        if value < 0:
            raise ValueError("negative")
        return value * value

    def count(self) -> int:
        marks = Path(self._marks)
        return len(marks.read_text()) if marks.exists() else 0


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING])
def test_later_jobs_read_what_the_first_one_computed(
    tmp_path: Path, mode: RuntimeExecutionMode
) -> None:
    computing = Computing(tmp_path / "marks")
    env = environment(mode)
    squares = env.from_collection(range(100)).map(computing).cache()
    assert sorted(squares.execute_and_collect()) == [n * n for n in range(100)]
    doubled = squares.map(lambda square: square * 2)
    assert sorted(doubled.execute_and_collect()) == [2 * n * n for n in range(100)]
    assert computing.count() == 100
    squares.invalidate()
    assert sorted(squares.execute_and_collect()) == [n * n for n in range(100)]
    assert computing.count() == 200


def test_a_job_that_fails_leaves_no_cache(tmp_path: Path) -> None:
    computing = Computing(tmp_path / "marks")
    env = environment()
    squares = env.from_collection([1, 2]).map(computing).cache()
    with pytest.raises(JobExecutionError):
        list(squares.map(lambda square: 1 // (square - 1)).execute_and_collect())
    computed = computing.count()
    assert sorted(squares.execute_and_collect()) == [1, 4]
    assert computing.count() > computed


def test_what_cannot_be_cached() -> None:
    env = environment(RuntimeExecutionMode.STREAMING)
    with pytest.raises(GraphError, match="right after the operation"):
        env.from_collection([1]).key_by(lambda value: value).cache()
    endless = DataGeneratorSource(lambda index: index, 2**62)
    assert env.from_source(endless, WatermarkStrategy.no_watermarks(), "numbers").cache()
    with pytest.raises(GraphError, match="never ends"):
        env.socket_text_stream("127.0.0.1", 1).cache()
