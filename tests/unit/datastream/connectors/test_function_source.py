from __future__ import annotations

import threading
import traceback
from typing import Any

import pytest

from headrace.common.errors import TypeMismatchError
from headrace.common.watermark_strategy import Watermark
from headrace.datastream.connectors.function_source import FunctionSource
from headrace.datastream.connectors.threaded_reader import RecordBuffer, StoppedReading
from headrace.datastream.functions import (
    ListCheckpointed,
    ParallelSourceFunction,
    RichSourceFunction,
    SourceFunction,
)
from tests.unit.datastream.connectors.reading import (
    FakeReaderContext,
    batches,
    drain,
    opened,
    resumed,
    wait_until,
)


class FromBody(SourceFunction):
    def __init__(self, body: Any) -> None:
        self.body = body
        self.cancelled = threading.Event()
        self.closed = False

    def run(self, ctx: Any) -> None:
        self.body(ctx)

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.closed = True


class Counter(SourceFunction, ListCheckpointed):
    def __init__(self, end: int) -> None:
        self.next, self.end, self.running = 0, end, True

    def run(self, ctx: Any) -> None:
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
        return [self.next]

    def restore_state(self, state: list[int]) -> None:
        (self.next,) = state


def test_the_source_ends_when_run_returns() -> None:
    function = FromBody(lambda ctx: [ctx.collect(i) for i in range(5)])
    reader = opened(FunctionSource(function))
    assert drain(reader) == [0, 1, 2, 3, 4]
    assert list(reader.finished_splits()) == ["function-0"]
    assert list(reader.finished_splits()) == []
    reader.close()
    assert function.closed
    assert not function.cancelled.is_set()


def test_a_source_that_emits_nothing_ends() -> None:
    reader = opened(FunctionSource(FromBody(lambda ctx: None)))
    assert drain(reader) == []


def test_only_a_parallel_function_runs_in_parallel() -> None:
    class Parallel(ParallelSourceFunction):
        def run(self, ctx: Any) -> None: ...
        def cancel(self) -> None: ...

    assert FunctionSource(FromBody(None)).max_parallel_readers == 1
    assert FunctionSource(Parallel()).max_parallel_readers is None
    splits = FunctionSource(Parallel()).create_enumerator(3).discover(0)
    assert {s: len(v) for s, v in splits.items()} == {0: 1, 1: 1, 2: 1}


def test_a_rich_function_gets_its_context_before_run() -> None:
    class Rich(RichSourceFunction):
        def open(self, runtime_context: Any) -> None:
            self.opened_with = runtime_context

        def run(self, ctx: Any) -> None:
            ctx.collect((self.opened_with, self.get_runtime_context()))

        def cancel(self) -> None: ...

    name = "runtime context of 0"
    assert drain(opened(FunctionSource(Rich()))) == [(name, name)]


def test_timestamps_watermarks_and_idleness_keep_their_order() -> None:
    def body(ctx: Any) -> None:
        ctx.collect_with_timestamp("a", 10)
        ctx.collect_with_timestamp("b", 20)
        ctx.emit_watermark(Watermark(15))
        ctx.emit_watermark(12)
        ctx.collect("c")
        ctx.mark_as_temporarily_idle()
        ctx.emit_watermark(30)

    read = batches(opened(FunctionSource(FromBody(body))))
    assert [(b.values, b.timestamps, b.watermark, b.idle) for b in read] == [
        (["a", "b"], [10, 20], 15, False),
        (["c"], None, None, True),
        ([], None, 30, False),
    ]


def test_marks_stay_behind_the_records_when_a_batch_is_cut() -> None:
    def body(ctx: Any) -> None:
        for i in range(5):
            ctx.collect_with_timestamp(i, i)
        ctx.emit_watermark(4)

    read = batches(opened(FunctionSource(FromBody(body))), max_records=2)
    assert [(b.values, b.watermark) for b in read] == [([0, 1], None), ([2, 3], None), ([4], 4)]


def test_a_timestamp_must_be_a_number() -> None:
    reader = opened(FunctionSource(FromBody(lambda ctx: ctx.collect_with_timestamp(1, "now"))))
    with pytest.raises(TypeMismatchError, match="'now'"):
        drain(reader)


def test_an_error_of_run_comes_after_the_records_before_it_and_shows_the_users_line() -> None:
    def body(ctx: Any) -> None:
        ctx.collect(1)
        raise ValueError("boom")

    reader = opened(FunctionSource(FromBody(body)))
    wait_until(lambda: not reader.running)
    batch = reader.poll(10)
    assert batch is not None
    assert batch.values == [1]
    assert not reader.exhausted
    with pytest.raises(ValueError, match="boom") as caught:
        reader.poll(10)
    assert 'raise ValueError("boom")' in "".join(traceback.format_tb(caught.tb))


def test_the_coordinator_is_woken_once_until_the_buffer_was_found_empty() -> None:
    filled, go = threading.Event(), threading.Event()

    def body(ctx: Any) -> None:
        for i in range(100):
            ctx.collect(i)
        filled.set()
        go.wait()
        ctx.collect("late")

    context = FakeReaderContext()
    reader = opened(FunctionSource(FromBody(body)), context)
    filled.wait()
    assert context.wake_ups == 1
    reader.poll(1000)
    assert context.wake_ups == 1
    assert reader.poll(1000) is None
    go.set()
    assert drain(reader) == ["late"]
    wait_until(lambda: context.wake_ups >= 2)


def test_the_end_wakes_the_coordinator_too() -> None:
    go = threading.Event()
    context = FakeReaderContext()
    reader = opened(FunctionSource(FromBody(lambda ctx: go.wait())), context)
    assert reader.poll(1) is None
    assert context.wake_ups == 0
    go.set()
    drain(reader)
    wait_until(lambda: context.wake_ups == 1)


def test_close_cancels_a_function_that_waits() -> None:
    function = FromBody(lambda ctx: None)
    function.body = lambda ctx: function.cancelled.wait()
    reader = opened(FunctionSource(function))
    reader.close()
    assert function.cancelled.is_set()
    assert function.closed
    assert not reader.running


def test_close_ends_a_function_that_collects_forever_and_ignores_cancel() -> None:
    def body(ctx: Any) -> None:
        while True:
            try:
                ctx.collect(1)
            except Exception:
                continue

    reader = opened(FunctionSource(FromBody(body)))
    reader.poll(10)
    reader.close()
    assert not reader.running


def test_a_full_buffer_makes_the_thread_wait() -> None:
    buffer = RecordBuffer("s", lambda: None, capacity=10)
    thread = threading.Thread(target=lambda: [buffer.put(i) for i in range(25)], daemon=True)
    thread.start()
    wait_until(lambda: [len(b.values) for b in buffer.contents()] == [10])
    read: list[int] = []
    while len(read) < 25:
        batch = buffer.take(7)
        read += batch.values if batch else []
    assert read == list(range(25))
    buffer.stop()
    for put in (buffer.put, buffer.put_watermark):
        with pytest.raises(StoppedReading):
            put(1)


@pytest.mark.parametrize("size", [500, 300_000])
def test_a_checkpoint_has_the_state_and_what_was_not_read_yet(size: int) -> None:
    """With the larger size the thread stands at a full buffer, in the lock, when it is taken."""
    source = FunctionSource(Counter(size))
    reader = opened(source)
    read: list[int] = []
    while len(read) < 200:
        batch = reader.poll(70)
        read += batch.values if batch else []
    other = FunctionSource(Counter(size))
    resumed_reader = resumed(other, reader)
    reader.close()
    read += drain(resumed_reader)
    assert read == list(range(size))
