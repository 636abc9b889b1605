"""Sources one after the other, also when the job fails in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.functions import ProcessFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process

COUNT = 90


def generated(word: str, count: int = COUNT) -> Source:
    return DataGeneratorSource(lambda i: f"{word} {i:03d}", count, type_info=Types.STRING())


def stored(path: Path) -> Source:
    path.mkdir()
    for number in range(3):
        lines = (f"file {i:03d}" for i in range(number, COUNT, 3))
        (path / str(number)).write_text("\n".join(lines))
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()


def run(source: Source, **how: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "hybrid")
    return run_in_process(env, {"rows": stream}, epoch_records=17, **how)["rows"]


@pytest.mark.parametrize("restore_after", [(), range(1, 40)])
def test_a_source_begins_when_all_have_read_the_one_before(
    tmp_path: Path, restore_after: Any
) -> None:
    files = stored(tmp_path / "in")
    builder = (
        HybridSource.builder(files).add_source(generated("middle")).add_source(generated("last"))
    )
    rows = run(builder.build(), restore_after=restore_after)
    words = [row.split()[0] for row in rows]
    assert words == ["file"] * COUNT + ["middle"] * COUNT + ["last"] * COUNT
    assert sorted(rows) == sorted(f"{w} {i:03d}" for w in set(words) for i in range(COUNT))


def test_a_source_looks_for_its_splits_when_it_begins(tmp_path: Path) -> None:
    """A file that is written while the first source is read belongs to the second one."""
    directory = tmp_path / "in"
    directory.mkdir()
    (directory / "early").write_text("early\n")

    def write(number: int) -> str:
        (directory / "late").write_text("late\n")
        return f"generated {number}"

    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory))
    first = DataGeneratorSource(write, 5, type_info=Types.STRING())
    rows = run(HybridSource.builder(first).add_source(files.build()).build())
    assert sorted(rows[5:]) == ["early", "late"]


class Marks(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_event_time_goes_on_from_one_source_to_the_next() -> None:
    """The end of a source that is not the last is not the end of time."""
    source = HybridSource.builder(generated("a", 30)).add_source(generated("b", 30)).build()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda text, _: (text[0] == "b") * 1_000 + int(text.split()[1])
    )
    stream = env.from_source(source, strategy, "hybrid").process(Marks())
    rows = run_in_process(env, {"rows": stream}, epoch_records=5)["rows"]
    watermarks = [mark for _, mark in rows]
    assert watermarks == sorted(watermarks)
    assert max(mark for value, mark in rows if value[0] == "a") < 30
    assert max(watermarks) < 1_030


def test_type_and_bounds_are_those_of_its_sources(tmp_path: Path) -> None:
    endless = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    endless = endless.monitor_continuously(100)
    both = HybridSource.builder(generated("a")).add_source(generated("b")).build()
    assert both.bounded
    assert both.produced_type == Types.STRING()
    assert not HybridSource.builder(generated("a")).add_source(endless.build()).build().bounded
    with pytest.raises(GraphError, match="source 1 of a hybrid source never ends"):
        HybridSource.builder(endless.build()).add_source(generated("b"))
    with pytest.raises(FunctionTypeError, match="takes sources"):
        HybridSource.builder([1, 2])  # type: ignore[arg-type]
