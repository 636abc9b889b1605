"""The output of an operator: branches, side outputs, and frames that are cut for each receiver."""

from __future__ import annotations

from typing import Any, cast

import pytest

from headrace.graph import partitioning as p
from headrace.runtime.batch import Batch, Element, EndMark, LatencyMark, StatusMark, WatermarkMark
from headrace.runtime.exchange.output import ChannelBuffer, ExchangeWriter, OperatorOutput
from headrace.runtime.exchange.routing import make_router
from headrace.runtime.exchange.wire import FrameHeader, decode_payload, read_header


class Receiver:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process_batch(self, batch: Batch) -> None:
        self.seen.append(batch.values)

    def process_watermark(self, timestamp: int) -> None:
        self.seen.append(timestamp)

    def process_status(self, idle: bool) -> None:
        self.seen.append(idle)

    def process_latency(self, mark: LatencyMark) -> None:
        self.seen.append(mark)

    def end_input(self) -> None:
        self.seen.append("end")


def test_records_go_to_their_output_and_marks_to_all() -> None:
    one, other, side = Receiver(), Receiver(), Receiver()
    output = OperatorOutput([one, other], {"side": [side]})
    output.emit(Batch([1, 2]))
    output.emit_side("side", Batch([3]))
    output.emit_side("nobody", Batch([4]))
    output.emit(Batch([]))
    output.watermark(10)
    output.status(True)
    output.end()
    assert one.seen == other.seen == [[1, 2], 10, True, "end"]
    assert side.seen == [[3], 10, True, "end"]
    assert output.records_out == 4


def test_types_are_converted_for_each_output() -> None:
    main, side = Receiver(), Receiver()
    output = OperatorOutput(
        [main],
        {"side": [side]},
        lambda values: [v * 10 for v in values],
        {"side": lambda values: [-v for v in values]},
    )
    output.emit(Batch([1]))
    output.emit_side("side", Batch([2]))
    assert (main.seen, side.seen) == ([[10]], [[-2]])


class Exchange:
    """A writer whose frames are kept."""

    def __init__(self, partitioning: p.Partitioning, receivers: int) -> None:
        self.frames: list[bytes] = []
        channels = {
            target: ChannelBuffer(FrameHeader(1, target, 0, 0, 0), self.frames.append)
            for target in range(receivers)
        }
        self.writer = ExchangeWriter(make_router(partitioning, 0, 1, receivers, 128), channels)

    def received(self, target: int) -> list[Element]:
        frames = [f for f in self.frames if read_header(f).partition == target]
        assert [read_header(f).sequence for f in frames] == list(range(len(frames)))
        return [e for f in frames for e in decode_payload(f)]


def batches_of(elements: list[Element]) -> list[Batch]:
    assert all(isinstance(e, Batch) for e in elements)
    return cast("list[Batch]", elements)


def test_a_record_that_leaves_counts_once_wherever_it_goes() -> None:
    chained, here, there = Receiver(), Exchange(p.Broadcast(), 2), Exchange(p.Rebalance(), 2)
    output = OperatorOutput([chained, here.writer, there.writer], {"side": [here.writer]})
    output.emit(Batch([1, 2, 3]))
    output.emit_side("side", Batch([4]))
    output.emit_side("nobody", Batch([5]))
    assert (output.records_out, output.records_sent) == (5, 4)

    sides = OperatorOutput([chained], {"kept": [chained], "sent": [there.writer]})
    sides.emit(Batch([1]))
    sides.emit_side("kept", Batch([2]))
    sides.emit_side("sent", Batch([3, 4]))
    assert (sides.records_out, sides.records_sent) == (4, 2)


def test_nothing_is_sent_before_the_epoch_ends_but_full_frames() -> None:
    exchange = Exchange(p.Rebalance(), 2)
    exchange.writer.process_batch(Batch([1, 2, 3]))
    assert exchange.frames == []
    exchange.writer.process_batch(Batch(list(range(10_000))))
    full = len(exchange.frames)
    assert full >= 2
    exchange.writer.process_batch(Batch([4]))
    exchange.writer.flush()
    all_of_it = len(exchange.frames)
    assert full < all_of_it <= full + 2
    exchange.writer.flush()
    assert len(exchange.frames) == all_of_it


@pytest.mark.parametrize(("size", "most"), [(10, 100), (1_000, 700), (100_000, 600)])
def test_many_large_records_take_many_frames(size: int, most: int) -> None:
    """Only the first one may be longer than frames should be."""
    exchange = Exchange(p.Keyed(lambda v: v[0]), 2)
    values = [(n % 7, f"{n:{size}}") for n in range(60_000_000 // size // 50)]
    exchange.writer.process_batch(Batch(values, list(range(len(values)))))
    exchange.writer.flush(last=True)
    assert 2 <= len(exchange.frames) <= most
    for target in 0, 1:
        frames = [f for f in exchange.frames if read_header(f).partition == target]
        assert all(len(f) <= 2 * 1024 * 1024 for f in frames[1:])
    received = [e for t in (0, 1) for e in exchange.received(t) if isinstance(e, Batch)]
    assert sorted(r for e in received for r in zip(e.values, e.timestamps or (), strict=True)) == (
        sorted(zip(values, range(len(values)), strict=True))
    )
    assert all(e.keys == [v[0] for v in e.values] for e in received)


def test_marks_keep_their_place_between_records() -> None:
    exchange = Exchange(p.Rebalance(), 2)
    exchange.writer.process_batch(Batch([1, 2], [10, 20]))
    exchange.writer.process_watermark(15)
    exchange.writer.process_batch(Batch([3]))
    exchange.writer.process_batch(Batch([4, 5], [40, None]))
    exchange.writer.process_status(True)
    exchange.writer.end_input()
    exchange.writer.flush()
    first = exchange.received(0)
    assert [type(e) for e in first] == [Batch, WatermarkMark, Batch, StatusMark, EndMark]
    assert isinstance(first[2], Batch)
    assert (first[2].values, first[2].timestamps) == ([3, 5], [None, None])
    second = exchange.received(1)
    assert isinstance(second[2], Batch)
    assert (second[2].values, second[2].timestamps) == ([4], [40])


def test_small_batches_are_joined_with_their_keys() -> None:
    exchange = Exchange(p.Keyed(lambda v: v % 3), 1)
    for value in range(5):
        exchange.writer.process_batch(Batch([value], [value * 10]))
    exchange.writer.flush()
    (batch,) = exchange.received(0)
    assert isinstance(batch, Batch)
    assert batch.values == [0, 1, 2, 3, 4]
    assert batch.timestamps == [0, 10, 20, 30, 40]
    assert batch.keys == [0, 1, 2, 0, 1]


def test_joining_leaves_shared_batches_alone() -> None:
    exchange = Exchange(p.Broadcast(), 2)
    batch = Batch([1])
    exchange.writer.process_batch(batch)
    exchange.writer.process_batch(Batch([2]))
    exchange.writer.flush()
    assert batch.values == [1]


def test_many_small_batches_become_one_that_only_the_buffer_changes() -> None:
    exchange = Exchange(p.Global(), 1)
    batches = [Batch([n], [n * 10]) for n in range(4_000)]
    for batch in batches:
        exchange.writer.process_batch(batch)
    exchange.writer.flush()
    first, *_, joined = batches_of(exchange.received(0))
    assert 1 < len(first) < len(joined)
    received = batches_of(exchange.received(0))
    assert [v for b in received for v in b.values] == list(range(4_000))
    assert [t for b in received for t in b.timestamps or ()] == list(range(0, 40_000, 10))
    assert [b.values for b in batches] == [[n] for n in range(4_000)]
    assert [b.timestamps for b in batches] == [[n * 10] for n in range(4_000)]


def test_joined_columns_are_extended_and_not_copied_again() -> None:
    buffer = ChannelBuffer(FrameHeader(1, 0, 0, 0, 0), lambda frame: None)
    buffer.add_batch(Batch([0], [0], [0]))
    buffer.add_batch(Batch([1], [1], [1]))
    (joined,) = buffer._elements
    assert isinstance(joined, Batch)
    columns = joined.values, joined.timestamps, joined.keys
    buffer.add_batch(Batch([2], [2], [2]))
    assert buffer._elements == [joined]
    assert columns == ([0, 1, 2], [0, 1, 2], [0, 1, 2])


def test_joining_after_a_mark_or_a_flush_starts_with_a_batch_of_its_own() -> None:
    exchange = Exchange(p.Global(), 1)
    batches = [Batch([n]) for n in range(6)]
    for batch in batches[:2]:
        exchange.writer.process_batch(batch)
    exchange.writer.process_watermark(5)
    for batch in batches[2:4]:
        exchange.writer.process_batch(batch)
    exchange.writer.flush()
    for batch in batches[4:]:
        exchange.writer.process_batch(batch)
    exchange.writer.flush()
    seen = [e.values if isinstance(e, Batch) else e for e in exchange.received(0)]
    assert seen == [[0, 1], WatermarkMark(5), [2, 3], [4, 5]]
    assert [b.values for b in batches] == [[n] for n in range(6)]


@pytest.mark.parametrize(
    ("batches", "timestamps", "keys"),
    [
        ([Batch([1]), Batch([2], [20]), Batch([3])], [None, 20, None], None),
        ([Batch([1], [10]), Batch([2]), Batch([3], [30])], [10, None, 30], None),
        ([Batch([1]), Batch([2]), Batch([3])], None, None),
        ([Batch([1], None, ["a"]), Batch([2], None, ["b"]), Batch([3], None, ["c"])], None, "abc"),
        ([Batch([1], None, ["a"]), Batch([2]), Batch([3], None, ["c"])], None, None),
        ([Batch([1]), Batch([2], None, ["b"]), Batch([3], None, ["c"])], None, None),
    ],
)
def test_columns_that_only_some_batches_have(
    batches: list[Batch], timestamps: list[int | None] | None, keys: str | None
) -> None:
    frames: list[bytes] = []
    buffer = ChannelBuffer(FrameHeader(1, 0, 0, 0, 0), frames.append)
    for batch in batches:
        buffer.add_batch(batch)
    buffer.flush()
    (joined,) = decode_payload(frames[0])
    assert isinstance(joined, Batch)
    assert joined.values == [1, 2, 3]
    assert joined.timestamps == timestamps
    assert joined.keys == (None if keys is None else list(keys))


def test_sequences_start_anew_with_each_epoch() -> None:
    exchange = Exchange(p.Global(), 1)
    for _ in range(2):
        exchange.writer.start_epoch()
        exchange.writer.process_batch(Batch([1]))
        exchange.writer.flush()
    assert [read_header(f).sequence for f in exchange.frames] == [0, 0]
