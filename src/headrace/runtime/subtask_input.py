"""What comes into a subtask: what it has carried over, and then what an epoch brings."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator

from headrace.runtime.batch import Batch, Element
from headrace.runtime.exchange.carry_over import Cutoff
from headrace.runtime.exchange.channel_use import ChannelUse
from headrace.runtime.exchange.frame_queue import FrameMemory, FrameQueue
from headrace.runtime.exchange.input_gate import ChannelKey, InputGate, in_channel_order
from headrace.runtime.exchange.wire import (
    EMPTY_SIZE,
    FrameHeader,
    decode_payload,
    encode_frame,
    read_header,
)
from headrace.runtime.operators.poll_size import PollSize

_FIRST_PIECE = 64
_PIECE_S = 0.05
"""A cutoff is looked at after each piece of a batch."""


class SubtaskInput:
    """Gives a subtask the elements of its channels, each of them in order.

    Args:
        gate: The channels.
        interruptible: Numbers of the exchanges whose frames can be carried over.
        first_input: The input whose frames of an epoch come before all others, if one does.
        memory: Limits what is kept in memory.
        take: Processes an element.
        tick: Lets processing time pass.
    """

    def __init__(
        self,
        gate: InputGate,
        interruptible: Collection[int],
        first_input: int | None,
        memory: FrameMemory,
        take: Callable[[ChannelKey, Element], None],
        tick: Callable[[], None],
    ) -> None:
        self._gate = gate
        self._interruptible = interruptible
        self._first_input = first_input
        self._memory = memory
        self._take = take
        self._tick = tick
        self._piece_size = PollSize(_FIRST_PIECE, _PIECE_S)
        self.carried = FrameQueue(memory)
        """What was not processed in the epochs before."""

    def consume(
        self,
        frames: Iterable[bytes],
        cutoff: Cutoff | None = None,
        use: ChannelUse | None = None,
    ) -> int:
        """Process what is there; how many bytes the epoch brought.

        Args:
            frames: What the epoch brings.
            cutoff: When to carry over the rest. Unless that is at once something is processed
                before, so that a job gets on however often its epochs are cut.
            use: Is told of it.
        """
        size = 0
        held = cutoff is not None and cutoff.at_once
        while self.carried and not held:
            frame = self.carried.popleft()
            self._process(_channel_of(frame), frame, cutoff)
            held = cutoff is not None and cutoff.reached()
        for channel, frame in self._ordered(frames):
            size += len(frame)
            if channel[0] not in self._interruptible:
                self._process(channel, frame, None)
            elif held:
                if len(frame) > EMPTY_SIZE:
                    self.carried.append(frame)
                    if use is not None:
                        use.carries(frame)
            else:
                self._process(channel, frame, cutoff)
                held = cutoff is not None and cutoff.reached()
        if use is not None:
            use.carried_frames, use.carried_bytes = len(self.carried), self.carried.size
        return size

    def _ordered(self, frames: Iterable[bytes]) -> Iterable[tuple[ChannelKey, bytes]]:
        ordered = in_channel_order(frames)
        return ordered if self._first_input is None else self._first(self._first_input, ordered)

    def _first(
        self, input_index: int, frames: Iterable[tuple[ChannelKey, bytes]]
    ) -> Iterator[tuple[ChannelKey, bytes]]:
        """Frames of one input as they come, then those of the others."""
        later = FrameQueue(self._memory)
        for channel, frame in frames:
            if self._gate.input_of(channel) == input_index:
                yield channel, frame
            else:
                later.append(frame)
        while later:
            frame = later.popleft()
            yield _channel_of(frame), frame

    def _process(self, channel: ChannelKey, frame: bytes, cutoff: Cutoff | None) -> None:
        elements = decode_payload(frame)
        if cutoff is None:
            for element in elements:
                self._take(channel, element)
        else:
            rest = self._process_until(channel, elements, cutoff)
            if rest:
                # It is the first again: nothing was carried over in this epoch before.
                self.carried.appendleft(encode_frame(FrameHeader(0, 0, *channel, 0), rest))
        self._tick()

    def _process_until(
        self, channel: ChannelKey, elements: list[Element], cutoff: Cutoff
    ) -> list[Element]:
        """Process elements, batches in pieces; what is left when time is over."""
        for number, element in enumerate(elements):
            if type(element) is not Batch:
                self._take(channel, element)
                continue
            done = self._take_pieces(channel, element, cutoff)
            if done < len(element):
                return [_piece(element, done, None), *elements[number + 1 :]]
        return []

    def _take_pieces(self, channel: ChannelKey, batch: Batch, cutoff: Cutoff) -> int:
        """Process as much of a batch as there is time for; how many records that were."""
        done, size = 0, self._piece_size
        while done < len(batch) and not (done and cutoff.reached()):
            end = done + size.records
            piece = batch if not done and end >= len(batch) else _piece(batch, done, end)
            began = time.monotonic()
            self._take(channel, piece)
            took_s = time.monotonic() - began
            # A few records that were quick say nothing about many.
            if len(piece) >= size.records or took_s > _PIECE_S:
                size.observe(len(piece), took_s)
            done += len(piece)
        return done


def _channel_of(frame: bytes) -> ChannelKey:
    header = read_header(frame)
    return header.edge, header.sender


def _piece(batch: Batch, begin: int, end: int | None) -> Batch:
    columns = (batch.values, batch.timestamps, batch.keys)
    return Batch(*(None if c is None else list(c[begin:end]) for c in columns))  # type: ignore[arg-type]
