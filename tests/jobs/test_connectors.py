"""Connectors in jobs on Spark: functions, sockets, generated records, text files."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)
from headrace.datastream.functions import (
    KeyedProcessFunction,
    ParallelSourceFunction,
    ProcessFunction,
    SourceFunction,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


class Numbers(ParallelSourceFunction):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def run(self, ctx: Any) -> None:
        for i in range(1000):
            ctx.collect(i * 2 + self.subtask)

    def cancel(self) -> None: ...


def test_a_parallel_function_runs_in_every_subtask_and_ends(env: Any) -> None:
    with env.add_source(Numbers(), "numbers").map(lambda x: x + 1).execute_and_collect() as rows:
        assert sorted(rows) == list(range(1, 2001))


class OwnEventTime(SourceFunction):
    """Its timers can fire before the end only if its own watermarks count."""

    def run(self, ctx: Any) -> None:
        ctx.collect_with_timestamp("a", 10)
        ctx.collect_with_timestamp("a", 20)
        ctx.emit_watermark(15)
        ctx.collect_with_timestamp("a", 30)

    def cancel(self) -> None: ...


class TimerAtOnce(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1)
        yield f"{value} {ctx.timestamp()}"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"timer {timestamp}"


def test_timestamps_and_watermarks_of_a_function(env: Any) -> None:
    stream = env.add_source(OwnEventTime()).key_by(lambda x: x).process(TimerAtOnce())
    assert list(stream.execute_and_collect()) == [
        *("a 10", "a 20", "timer 11", "a 30", "timer 21", "timer 31")
    ]


class Forever(SourceFunction):
    def __init__(self, path: str) -> None:
        self.path, self.running = path, True

    def run(self, ctx: Any) -> None:
        while self.running:
            ctx.collect(time.time())
            time.sleep(0.01)
        Path(self.path, "run returned").touch()

    def cancel(self) -> None:
        self.running = False

    def close(self) -> None:
        Path(self.path, "closed").touch()


def test_a_function_without_end_is_live_and_can_be_cancelled(env: Any, tmp_path: Path) -> None:
    stream = env.add_source(Forever(str(tmp_path))).map(lambda sent: sent).set_parallelism(1)
    rows = stream.execute_and_collect()
    first = [next(rows) for _ in range(20)]
    assert first == sorted(first)
    rows.close()
    assert {p.name for p in tmp_path.iterdir()} == {"run returned", "closed"}


class Broken(SourceFunction):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        raise ValueError("the sensor is gone")

    def cancel(self) -> None: ...


def test_an_error_of_run_shows_the_users_line(env: Any) -> None:
    env.add_source(Broken(), "sensor").print()
    with pytest.raises(JobExecutionError, match="the sensor is gone") as caught:
        env.execute()
    assert 'raise ValueError("the sensor is gone")' in caught.value.user_traceback
    assert "sensor" in str(caught.value.operator_name)


def test_lines_of_a_socket(env: Any) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for piece in (b"to be\nor n", b"ot\nto"):
                connection.sendall(piece)
                time.sleep(0.3)
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    lines = env.socket_text_stream("127.0.0.1", listener.getsockname()[1])
    assert lines.get_type() == Types.STRING()
    words = lines.flat_map(str.split, Types.STRING())
    assert sorted(words.execute_and_collect()) == ["be", "not", "or", "to", "to"]


def test_nobody_listens_at_the_socket(env: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    env.socket_text_stream("127.0.0.1", port).print()
    with pytest.raises(JobExecutionError, match=f"nc -lk {port}"):
        env.execute()


def test_generated_records_at_a_rate(env: Any) -> None:
    source = DataGeneratorSource(
        lambda i: f"event {i}", 40, RateLimiterStrategy.per_second(40), Types.STRING()
    )
    stream = env.from_source(source, NO_WATERMARKS, "events")
    assert stream.get_type() == Types.STRING()
    epochs: list[Any] = []
    started = time.monotonic()
    stream.print()
    master = env.submit("rate", on_epoch=epochs.append)
    master.result_future().result()
    # One in 50 ms for each of the two subtasks, and the first one at once.
    assert time.monotonic() - started > 0.9
    assert len(epochs) <= 60, "it waits in between"


class Upper(ProcessFunction):
    def process_element(self, value: str, ctx: Any) -> Any:
        yield value.upper()


def test_text_files_there_and_back(env: Any, tmp_path: Path) -> None:
    lines = [f"line {i}" for i in range(5000)]
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("\n".join(lines[:2000]))
    (tmp_path / "in" / "deep" / "b.txt").write_text("\r\n".join(lines[2000:]) + "\r\n")
    (tmp_path / "in" / "_ignored").write_text("no\n")
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in")
    ).build()
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig("words", ".txt"))
        .build()
    )
    stream = env.from_source(source, NO_WATERMARKS, "files")
    stream.process(Upper(), Types.STRING()).sink_to(sink)
    env.execute("files")

    files = sorted((tmp_path / "out").iterdir())
    assert [f.name.startswith("words-") and f.name.endswith("-0.txt") for f in files] == [True] * 2
    written = [line for f in files for line in f.read_text().splitlines()]
    assert sorted(written) == sorted(line.upper() for line in lines)
    assert sorted(env.read_text_file(str(tmp_path / "out")).execute_and_collect()) == sorted(
        written
    )


def test_a_watched_directory(env: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("first\n")
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        .monitor_continuously(100)
        .build()
    )
    with env.from_source(source, NO_WATERMARKS, "watched").execute_and_collect() as rows:
        assert next(rows) == "first"
        (tmp_path / ".b").write_text("second\n")
        (tmp_path / ".b").rename(tmp_path / "b")
        assert next(rows) == "second"
