"""Records of a bounded input, held until all are there."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import HeadraceError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.datastream.time_domain import TimeDomain
from headrace.runtime.batch import Batch
from headrace.runtime.operators import sorted_input
from headrace.runtime.operators.sorted_input import SortedInput
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.testing import run_in_process

GROUPS = 128


def opened(backend: HashMapStateBackend, most: int = 1000) -> SortedInput:
    held = SortedInput(backend, most)
    held.open()
    return held


def add(held: SortedInput, *records: tuple[str, Any]) -> None:
    held.add(0, Batch([value for _, value in records], None, [key for key, _ in records]))
    held.store()


def test_records_stay_in_order_though_other_keys_have_left() -> None:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    add(opened(backend), ("x", 1), ("x", 2), ("a", 1), ("a", 2))
    # The job goes on at another parallelism: the records of x are in another subtask now.
    held = opened(backend)
    held._cell.key = "x"
    held._state.clear()
    add(opened(backend), ("a", 3))
    (batch,) = (given[1] for given in opened(backend).drain() if given)
    assert batch.values == [1, 2, 3]


batches = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=9))


@given(batches, st.integers(1, 20), st.lists(st.sampled_from(["go on", "store", "restore"])))
def test_records_come_sorted_though_they_waited_in_files(
    given_batches: list[list[tuple[str, int]]], most: int, steps: list[str]
) -> None:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    held = opened(backend, most)
    everything: list[tuple[int, int, str]] = []
    for number, records in enumerate(given_batches):
        first = len(everything)
        everything += [(t, first + i, key) for i, (key, t) in enumerate(records)]
        values = list(range(first, len(everything)))
        held.add(0, Batch(values, [t for _, t in records], [key for key, _ in records]))
        step = steps[number] if number < len(steps) else "go on"
        if step != "go on":
            held.store()
        if step == "restore":
            held = opened(backend, most)
    found = [given[1] for given in held.drain() if given]
    columns = [(b.timestamps or (), b.values, b.keys or ()) for b in found]
    drained = [record for column in columns for record in zip(*column, strict=True)]
    assert drained == sorted(everything)
    assert not list(backend.keys("records of a bounded input"))


def test_no_room_for_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **settings: full)
        held = opened(HashMapStateBackend(GROUPS, lambda: 0), 2)
        with pytest.raises(HeadraceError, match="No space left on device; make room there"):
            held.add(0, Batch([1, 2, 3], None, ["a", "b", "c"]))


def test_no_place_for_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/does/not/exist")
    held = opened(HashMapStateBackend(GROUPS, lambda: 0), 2)
    with pytest.raises(HeadraceError, match=r"cannot be written to /does/not/exist: .* set TMPDIR"):
        held.add(0, Batch([1, 2, 3], None, ["a", "b", "c"]))


@given(batches, batches, st.integers(1, 20))
def test_all_records_of_a_key_come_together(
    left: list[list[tuple[str, int]]], right: list[list[tuple[str, int]]], most: int
) -> None:
    held = SortedInput(HashMapStateBackend(GROUPS, lambda: 0), most, by_key=True)
    held.open()
    everything: dict[str, list[tuple[int, int, int]]] = {}
    for input_index, given_batches in enumerate((left, right)):
        number = 0
        for records in given_batches:
            for key, t in records:
                everything.setdefault(key, []).append((t, input_index, number))
                number += 1
            values = range(number - len(records), number)
            keys, times = [key for key, _ in records], [t for _, t in records]
            held.add(input_index, Batch(list(values), times, keys))
    found: dict[str, list[tuple[int, int, int]]] = {}
    for given_batch in held.drain():
        if given_batch is not None:
            input_index, batch = given_batch
            columns = zip(batch.keys or (), batch.timestamps or (), batch.values, strict=True)
            for key, stamp, value in columns:
                assert key not in found or next(reversed(found)) == key
                found.setdefault(key, []).append((stamp, input_index, value))
    assert found == {key: sorted(records) for key, records in everything.items()}


class Totals(KeyedProcessFunction):
    """Emits the sum of a key when a timer at its first record's time fires."""

    most = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        self.backend = runtime_context._context.backend  # type: ignore[attr-defined]

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        if self.total.value() is None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp())
            ctx.timer_service().register_processing_time_timer(1 << 50)
        self.total.update((self.total.value() or 0) + value[1])
        Totals.most = max(Totals.most, self.backend.number_of_entries("total"))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        if ctx.time_domain() is TimeDomain.EVENT_TIME:
            yield ctx.get_current_key(), self.total.value()
        else:
            yield ctx.get_current_key(), "over"


def test_state_of_keys_that_are_over_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_input, "_TOGETHER", 10)
    monkeypatch.setattr(Totals, "most", 0)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    pairs = [(i % 100, i) for i in range(500)]
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    keyed = env.from_collection(pairs).assign_timestamps_and_watermarks(stamped)
    totals = keyed.key_by(lambda pair: pair[0]).process(Totals())
    found = run_in_process(env, {"totals": totals})["totals"]
    expected = [(k, sum(i for i in range(500) if i % 100 == k)) for k in range(100)]
    assert sorted(x for x in found if x[1] != "over") == expected
    assert sorted(x for x in found if x[1] == "over") == [(k, "over") for k in range(100)]
    assert 1 < Totals.most <= 4


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Keep(KeyedProcessFunction):
    """Keeps eight kilobytes for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY())
        self.kept = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if self.kept.value() is not None:
            yield value
        self.kept.update(bytes(8_000) + str(value).encode())


def _in_little_memory(mode: RuntimeExecutionMode) -> None:
    """A job with ten times the memory of its process in state; ends with 2 if that is too much."""

    def run(keys: int) -> list[Any]:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(mode)
        env.set_parallelism(1)
        stream = env.from_collection(range(2 * keys)).key_by(lambda x: x % keys).process(Keep())
        return run_in_process(env, {"kept": stream})["kept"]

    run(10)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + (120 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        found = run(150_000)
    except (JobExecutionError, MemoryError) as error:
        # It shows in the function, or in what calls it.
        os._exit(2 if "MemoryError" in repr(error) else 1)
    os._exit(0 if sorted(found) == list(range(150_000, 300_000)) else 1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks up its memory in /proc")
def test_keys_that_do_not_fit_into_memory_together_are_no_problem() -> None:
    ends = {}
    for mode in (RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING):
        process = multiprocessing.get_context("spawn").Process(
            target=_in_little_memory, args=(mode,)
        )
        process.start()
        process.join()
        ends[mode.name] = process.exitcode
    # A stream, which has to keep all of them, shows that there really is no room.
    assert ends == {"BATCH": 0, "STREAMING": 2}
