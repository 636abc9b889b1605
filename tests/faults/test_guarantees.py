"""The guarantee table: what arrives how often when a slot is killed, for each cell."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import SinkFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.faults.killed_slots import LIMIT_S, killing, running
from tests.faults.live_process_carrier import EITHER_CARRIER
from tests.faults.process_carrier import ProcessCarrier
from tests.faults.test_commit_steps import Files, Killer, Sending

pytestmark = EITHER_CARRIER

RECORDS, AT_ONCE, FATAL = 800, 40, 500


@dataclass(frozen=True)
class Position:
    split_id: str
    next: int


@dataclass(frozen=True)
class Numbers(Source):
    """Numbers that are handed out once, unless the source can replay: `taken` is how far it is."""

    taken: str
    replayable: bool

    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([Position("numbers", 0)], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return NumbersReader(Path(self.taken), self.replayable)


class NumbersReader(SourceReader):
    def __init__(self, taken: Path, replayable: bool) -> None:
        self.taken = taken
        self.replayable = replayable
        self.position: Position | None = None

    def add_splits(self, splits: Sequence[Any]) -> None:
        (self.position,) = splits

    def poll(self, max_records: int) -> ReadBatch | None:
        if self.position is None:
            return None
        if not self.replayable and self.taken.exists():
            self.position = replace(self.position, next=int(self.taken.read_text()))
        start = self.position.next
        if start + AT_ONCE > FATAL and not arrived(self.taken.parent):
            # However slow the machine is, something is committed before the kill.
            return None
        end = min(start + min(max_records, AT_ONCE), RECORDS)
        self.taken.write_text(str(end))
        self.position = replace(self.position, next=end) if end < RECORDS else None
        time.sleep(0.02)
        return ReadBatch("numbers", list(range(start, end)))

    def snapshot(self) -> list[Any]:
        return [] if self.position is None else [self.position]

    @property
    def exhausted(self) -> bool:
        return self.position is None


class Appending(SinkFunction[int]):
    """Any sink: what is written is there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.killer = Killer(directory, "invoke")

    def invoke(self, value: int, context: SinkFunction.Context) -> None:
        self.write(value)
        if value == FATAL:
            self.killer.at("invoke")

    def write(self, value: int) -> None:
        with open(self.directory / "out" / "all", "a") as file:
            file.write(f"{value}\n")


class Overwriting(Appending):
    """An idempotent sink: a record has its place."""

    def write(self, value: int) -> None:
        (self.directory / "out" / str(value)).write_text(f"{value}\n")


def any_sink(stream: DataStream[int], directory: Path) -> None:
    stream.add_sink(Appending(directory))


def idempotent(stream: DataStream[int], directory: Path) -> None:
    stream.add_sink(Overwriting(directory))


def two_phase(stream: DataStream[int], directory: Path) -> None:
    stream.map(killing(directory, FATAL)).add_sink(Files(directory, "never", 1))


def write_ahead(stream: DataStream[int], directory: Path) -> None:
    stream.map(killing(directory, FATAL)).sink_to(Sending(directory, "never"))


def run(
    directory: Path,
    replayable: bool,
    sink: Callable[..., None],
    carrier: Callable[[], ProcessCarrier],
) -> Counter[int]:
    """How often each number arrived."""
    (directory / "out").mkdir()

    def build(env: StreamExecutionEnvironment) -> None:
        source = Numbers(str(directory / "taken"), replayable)
        sink(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"), directory)

    with running(build, directory, carrier(), parallelism=1) as master:
        master.result_future().result(LIMIT_S)
    return arrived(directory)


def arrived(directory: Path) -> Counter[int]:
    """How often each number can be seen."""
    visible = [f for f in (directory / "out").iterdir() if not f.name.startswith(".")]
    return Counter(int(line) for file in visible for line in file.read_text().splitlines())


EVERYTHING = Counter(range(RECORDS))


def test_any_sink_on_a_replayable_source_at_least_once(tmp_path: Path, carrier: Any) -> None:
    found = run(tmp_path, True, any_sink, carrier)
    assert set(found) == set(EVERYTHING)
    assert found[FATAL] == 2


@pytest.mark.parametrize("sink", [idempotent, two_phase, write_ahead])
def test_better_sinks_on_a_replayable_source_exactly_once(
    tmp_path: Path, sink: Callable[..., None], carrier: Any
) -> None:
    assert run(tmp_path, True, sink, carrier) == EVERYTHING


@pytest.mark.parametrize("sink", [any_sink, idempotent, two_phase, write_ahead])
def test_no_sink_on_a_source_that_cannot_replay_is_better_than_at_most_once(
    tmp_path: Path, sink: Callable[..., None], carrier: Any
) -> None:
    found = run(tmp_path, False, sink, carrier)
    assert set(found.values()) == {1}
    lost = set(EVERYTHING) - set(found)
    # What came together with the record that was fatal, and nothing that was committed before.
    assert set(range(FATAL + 1, FATAL + 10)) <= lost
    assert 0 < len(found) < RECORDS
