"""A job in which nothing happens runs no epochs, whatever is due regularly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.coordination.job.options import EpochSummary
from headrace.coordination.job.restart_policy import FixedDelay
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.graph.job_graph import JobGraph
from tests.unit.coordination.job.jobs import Job, Sum, every

DUE_MS = (0, 100_000, 200_000)
LOOK_MS = 10_000


@dataclass(frozen=True)
class Part:
    """A split with one number for each time, and the position in it."""

    split_id: str
    due_ms: tuple[int, ...]
    read: int = 0


@dataclass(frozen=True)
class Seldom(Source):
    """Numbers from 1 on, each at its time, from splits that are found when the first is due."""

    parts: tuple[Part, ...]

    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return Looking(self.parts)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return SeldomReader(context)


class Looking(SplitEnumerator):
    """Looks for splits every ten seconds."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)
        self._next_ms = 0

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if now_ms < self._next_ms:
            return {}
        self._next_ms = now_ms + LOOK_MS
        found = [p for p in self._parts if p.due_ms[0] <= now_ms]
        self._parts = self._parts[len(found) :]
        return {0: found}

    @property
    def finished(self) -> bool:
        return not self._parts

    def next_discovery(self, now_ms: int) -> int | None:
        return self._next_ms

    def snapshot(self) -> Any:
        return list(self._parts)

    def restore(self, snapshot: Any) -> None:
        self._parts = snapshot


class SeldomReader(SourceReader):
    def __init__(self, context: ReaderContext) -> None:
        self._now = context.now_ms
        self._part = Part("none", ())

    def add_splits(self, splits: Sequence[Part]) -> None:
        for part in splits:
            self._part = part

    def poll(self, max_records: int) -> ReadBatch | None:
        part = self._part
        if self.exhausted or self._now() < part.due_ms[part.read]:
            return None
        self._part = replace(part, read=part.read + 1)
        return ReadBatch(part.split_id, [int(part.split_id) + part.read])

    def available_at(self, now_ms: int) -> int | None:
        return None if self.exhausted else self._part.due_ms[self._part.read]

    def snapshot(self) -> list[Part]:
        return [] if self.exhausted else [self._part]

    @property
    def exhausted(self) -> bool:
        return self._part.read == len(self._part.due_ms)


ONE_SPLIT = (Part("1", DUE_MS),)
THREE_SPLITS = tuple(Part(str(n), (ms,)) for n, ms in enumerate(DUE_MS, 1))


def seldom(parts: tuple[Part, ...], function: Sum) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(1)
    numbers = env.from_source(Seldom(parts), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda x: 0).process(function).print()
    return env.get_job_graph("seldom")


@pytest.mark.parametrize("parts", [ONE_SPLIT, THREE_SPLITS], ids=["one split", "three splits"])
def test_checkpoints_and_looks_for_splits_go_on_without_epochs(
    parts: tuple[Part, ...], tmp_path: Path
) -> None:
    epochs: list[EpochSummary] = []
    checkpoints = every(5_000, tmp_path.name)
    graph = seldom(parts, Sum(fail_at=3))
    job = Job(graph, epochs.append, restarts=FixedDelay(1, 0.0), checkpoints=checkpoints)
    job.finish()
    assert job.printed == [1, 3, 6]
    # It went back to the last one: the second number was not read again.
    assert job.master.restarts == 1
    assert job.master.checkpoints.totals["COMPLETED"] >= 2 * 100_000 // 5_000
    assert len(epochs) < 15


def test_an_order_is_carried_out_at_once(tmp_path: Path) -> None:
    job = Job(seldom(ONE_SPLIT, Sum()), checkpoints=every(5_000, tmp_path.name))
    job.run_epochs(2)
    taken = job.master.trigger_savepoint("in-process://savepoints")
    before = job.clock()
    job.run_epochs(1)
    assert taken.done()
    assert job.clock() - before <= 5_000
