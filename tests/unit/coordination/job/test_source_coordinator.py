"""Splits of all sources of a job."""

from __future__ import annotations

from typing import Any

from headrace.common import WatermarkStrategy
from headrace.coordination.job.source_coordinator import SourceCoordinator
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import Source, SplitEnumerator


class Enumerator(SplitEnumerator):
    def __init__(self) -> None:
        self.rounds = 0
        self.closed = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        self.rounds += 1
        return {0: [f"split-{self.rounds}"], 1: []} if self.rounds < 3 else {}

    @property
    def finished(self) -> bool:
        return self.rounds >= 2

    def next_discovery(self, now_ms: int) -> int | None:
        return now_ms + 100

    def snapshot(self) -> Any:
        return self.rounds

    def restore(self, snapshot: Any) -> None:
        self.rounds = snapshot

    def close(self) -> None:
        self.closed = True


class Rounds(Source):
    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return Enumerator()

    def create_reader(self, context: Any) -> Any:
        raise NotImplementedError


def coordinator() -> SourceCoordinator:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 10)
    rounds = env.from_source(Rounds(), WatermarkStrategy.no_watermarks(), "rounds")
    numbers.map(str).union(rounds.map(str)).print()
    return SourceCoordinator(env.get_job_graph())


def test_splits_are_given_out_once() -> None:
    sources = coordinator()
    first = sources.discover(0)
    assert sorted(len(s) for s in first.values()) == [1, 1, 1]
    assert [s for (_, i), s in sources.discover(0).items() if i == 0] == [["split-2"]]
    assert sources.discover(0) == {}


def test_sources_finish_one_by_one() -> None:
    sources = coordinator()
    assert len(sources.finished_vertices) == 0
    sources.discover(0)
    assert len(sources.finished_vertices) == 1
    assert sources.next_discovery(1_000) == 1_100
    sources.discover(0)
    assert len(sources.finished_vertices) == 2
    assert sources.next_discovery(1_000) is None


def test_what_was_given_out_is_not_given_out_again_after_a_recovery() -> None:
    sources = coordinator()
    sources.discover(0)
    snapshot = sources.snapshot()
    fresh = coordinator()
    fresh.restore(snapshot)
    assert list(fresh.discover(0).values()) == [["split-2"]]
    fresh.close()
