"""The watermark of several channels, idle ones, ended ones, and the order of frames."""

from __future__ import annotations

import pytest

from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, WatermarkMark
from headrace.runtime.exchange.input_gate import InputGate, in_channel_order
from headrace.runtime.exchange.wire import FrameHeader, decode_payload, encode_frame

A, B, C = (0, 0), (0, 1), (1, 0)


@pytest.fixture
def gate() -> InputGate:
    gate = InputGate()
    gate.add_channel(A, 0)
    gate.add_channel(B, 0)
    gate.add_channel(C, 1)
    return gate


def test_the_watermark_is_the_minimum_over_all_channels(gate: InputGate) -> None:
    assert gate.on_watermark(A, 10) is None
    assert gate.on_watermark(B, 20) is None
    assert gate.on_watermark(C, 15) == 10
    assert gate.on_watermark(A, 12) == 12
    assert gate.on_watermark(A, 30) == 15


def test_a_channel_that_goes_back_is_ignored(gate: InputGate) -> None:
    for channel in (A, B, C):
        gate.on_watermark(channel, 10)
    assert gate.on_watermark(A, 5) is None
    assert gate.on_watermark(A, 10) is None
    assert gate.watermark == 10


def test_an_idle_channel_holds_nothing_back(gate: InputGate) -> None:
    gate.on_watermark(A, 10)
    gate.on_watermark(B, 20)
    assert gate.on_status(C, True) == (10, None)
    assert gate.on_watermark(A, 15) == 15


def test_when_all_are_idle_the_furthest_watermark_counts(gate: InputGate) -> None:
    gate.on_watermark(A, 10)
    gate.on_watermark(B, 20)
    gate.on_status(A, True)
    assert gate.on_status(C, True) == (20, None)
    assert gate.on_status(B, True) == (None, True)
    assert gate.on_status(A, False) == (None, False)


def test_when_all_are_idle_without_watermarks_nothing_moves(gate: InputGate) -> None:
    for channel in (A, B):
        assert gate.on_status(channel, True) == (None, None)
    assert gate.on_status(C, True) == (None, True)
    assert gate.watermark == MIN_TIMESTAMP


def test_a_channel_that_is_back_waits_until_it_has_caught_up(gate: InputGate) -> None:
    for channel in (A, B):
        gate.on_watermark(channel, 10)
    gate.on_status(C, True)
    assert gate.watermark == 10
    gate.on_status(C, False)
    gate.on_watermark(C, 3)
    # C is behind what was said already: it does not stop the others, as in Flink.
    gate.on_watermark(A, 20)
    assert gate.on_watermark(B, 20) == 20
    gate.on_watermark(C, 25)
    gate.on_watermark(A, 40)
    assert gate.on_watermark(B, 40) == 25


def test_inputs_end_one_by_one(gate: InputGate) -> None:
    assert gate.on_end(A) == (0, False, False)
    assert gate.on_end(C) == (1, True, False)
    assert gate.on_end(B) == (0, True, True)


def test_an_ended_channel_does_not_hold_the_others_back(gate: InputGate) -> None:
    gate.on_watermark(B, 5)
    gate.on_watermark(C, 7)
    gate.on_watermark(A, MAX_TIMESTAMP)
    gate.on_end(A)
    assert gate.watermark == 5
    assert gate.on_watermark(B, 9) == 7


def test_idle_and_ended_channels_together_are_idle(gate: InputGate) -> None:
    gate.on_end(A)
    gate.on_end(C)
    assert gate.on_status(B, True)[1] is True


def frame(sender: int, sequence: int, edge: int = 0) -> bytes:
    return encode_frame(FrameHeader(1, 0, edge, sender, sequence), [WatermarkMark(sequence)])


def test_frames_of_a_channel_come_in_the_order_in_which_they_were_sent() -> None:
    frames = [frame(0, 2), frame(1, 0), frame(0, 0), frame(1, 1), frame(0, 1), frame(0, 0, edge=5)]
    ordered = [(c, decode_payload(f)[0].timestamp) for c, f in in_channel_order(frames)]
    assert ordered == [
        ((0, 1), 0),
        ((0, 0), 0),
        ((0, 1), 1),
        ((0, 0), 1),
        ((0, 0), 2),
        ((5, 0), 0),
    ]


def test_a_missing_frame_is_noticed() -> None:
    with pytest.raises(EOFError, match="1 frames arrived without their predecessors"):
        list(in_channel_order([frame(0, 0), frame(0, 2)]))


def test_no_frames_are_no_elements() -> None:
    assert list(in_channel_order([])) == []
    assert len(Batch([])) == 0
