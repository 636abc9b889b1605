"""Where an operator's records go: to chained operators, to exchanges, by side-output tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from headrace.runtime.batch import (
    Batch,
    Element,
    EndMark,
    LatencyMark,
    LazyBatch,
    Receiver,
    StatusMark,
    WatermarkMark,
)
from headrace.runtime.exchange.routing import Router
from headrace.runtime.exchange.wire import FrameHeader, encode_frame

Converter = Callable[[list[Any]], list[Any]]

_FLUSH_RECORDS = 4096
_FIRST_RECORDS = 64
_MOST_RECORDS = 16_384
"""A frame has at most so many records, the first one and later ones; small ones may join."""
_FRAME_BYTES = 1 << 20
"""And so many bytes, as far as it can be foreseen from the frame before."""


class OperatorOutput:
    """The output of one operator. Marks go to everybody, records to the main or a side output.

    Attributes:
        records_out: Records that the operator emitted.
        records_sent: Those of them that left the subtask. One that goes to several vertices, or to
            all subtasks of one, counts once, as in Flink.
    """

    def __init__(
        self,
        main: Sequence[Receiver],
        side: dict[str, Sequence[Receiver]],
        convert: Converter | None = None,
        side_converters: dict[str, Converter] | None = None,
    ) -> None:
        self._main = tuple(main)
        self._side = side
        self._everybody = (*self._main, *(r for rs in side.values() for r in rs))
        self._convert = convert
        self._side_converters = side_converters or {}
        self._sends = _has_exchange(self._main)
        self._sending_sides = frozenset(t for t, rs in side.items() if _has_exchange(rs))
        self.records_out = 0
        self.records_sent = 0

    def emit(self, batch: Batch) -> None:
        """Records of the main output."""
        if not batch:
            return
        if self._convert is not None:
            batch = self._converted(batch, self._convert)
            if not batch:
                return
        self.records_out += len(batch)
        if self._sends:
            self.records_sent += len(batch)
        for receiver in self._main:
            receiver.process_batch(batch)

    def emit_side(self, tag_id: str, batch: Batch) -> None:
        """Records of a side output; without a consumer they end here, as in Flink."""
        if not batch.values:
            return
        convert = self._side_converters.get(tag_id)
        if convert is not None:
            batch = self._converted(batch, convert)
            if not batch.values:
                return
        self.records_out += len(batch)
        if tag_id in self._sending_sides:
            self.records_sent += len(batch)
        for receiver in self._side.get(tag_id, ()):
            receiver.process_batch(batch)

    def _converted(self, batch: Batch, convert: Converter) -> Batch:
        """The records as their declared type has them; one that does not fit is an exception."""
        return Batch(convert(batch.values), batch.timestamps)  # type: ignore[arg-type]

    def watermark(self, timestamp: int) -> None:
        for receiver in self._everybody:
            receiver.process_watermark(timestamp)

    def status(self, idle: bool) -> None:
        for receiver in self._everybody:
            receiver.process_status(idle)

    def latency(self, mark: LatencyMark) -> None:
        for receiver in self._everybody:
            receiver.process_latency(mark)

    def end(self) -> None:
        for receiver in self._everybody:
            receiver.end_input()

    @property
    def has_receivers(self) -> bool:
        """Whether records of the main output go anywhere."""
        return bool(self._main)

    def tap(self, receiver: Receiver) -> None:
        """Show what the main output emits to one more receiver, until it is untapped."""
        self._main = (receiver, *self._main)

    def untap(self, receiver: Receiver) -> None:
        """Undo `tap`."""
        self._main = tuple(r for r in self._main if r is not receiver)


class ChannelBuffer:
    """What waits for one receiver, until there is enough of it for a frame."""

    __slots__ = ("_elements", "_header", "_joined", "_most", "_records", "_send", "_sequence")

    def __init__(self, header: FrameHeader, send: Callable[[bytes], None]) -> None:
        self._header = header
        self._send = send
        self._elements: list[Element] = []
        self._joined: _JoinedBatch | None = None
        self._records = 0
        self._most = _FIRST_RECORDS
        self._sequence = 0

    def add_batch(self, batch: Batch) -> None:
        """Records, in as many frames as it takes."""
        if len(batch) <= self._most or type(batch) is not Batch:
            self._add(batch)
            return
        start = 0
        while start < len(batch):
            end = start + self._most
            self._add(_part(batch, start, end))
            start = end

    def _add(self, batch: Batch) -> None:
        elements = self._elements
        last = elements[-1] if elements else None
        if self._joined is not None:
            self._joined.extend(batch)
        elif type(last) is Batch:
            # A batch from outside is shared: only the copy that is made here may grow.
            self._joined = _JoinedBatch(last)
            self._joined.extend(batch)
            elements[-1] = self._joined.batch
        else:
            elements.append(batch)
        self._records += len(batch)
        if self._records >= self._most or self._records >= _FLUSH_RECORDS:
            self.flush()

    def add_mark(self, mark: Element) -> None:
        self._elements.append(mark)
        self._joined = None

    def flush(self, last: bool = False) -> None:
        """Send what waits; as the last frame of the epoch also if that is nothing."""
        if not self._elements and not last:
            return
        h = self._header
        header = FrameHeader(h.level, h.partition, h.edge, h.sender, self._sequence, last)
        frame = encode_frame(header, self._elements)
        self._send(frame)
        self._sequence += 1
        self._learn(len(frame))
        self._elements = []
        self._joined = None
        self._records = 0

    def _learn(self, size: int) -> None:
        """How many records the next frame may have, after one of so many bytes."""
        if size > _FRAME_BYTES:
            self._most = max(self._records * _FRAME_BYTES // size, 1)
        elif self._records >= self._most and self._most < _MOST_RECORDS:
            self._most = min(4 * self._most, self._records * _FRAME_BYTES // size, _MOST_RECORDS)

    def start_epoch(self) -> None:
        self._sequence = 0


def _part(batch: Batch, start: int, end: int) -> Batch:
    stamps, keys = batch.timestamps, batch.keys
    return Batch(
        batch.values[start:end],
        None if stamps is None else list(stamps[start:end]),
        None if keys is None else keys[start:end],
    )


class _JoinedBatch:
    """A batch that grows: a copy of the first one, to which others are appended in place."""

    __slots__ = ("_stamps", "batch")

    def __init__(self, first: Batch) -> None:
        stamps, keys = first.timestamps, first.keys
        self._stamps: list[int | None] | None = None if stamps is None else list(stamps)
        self.batch = Batch(list(first.values), self._stamps, None if keys is None else list(keys))

    def extend(self, other: Batch) -> None:
        own = self.batch
        if other.timestamps is not None:
            if self._stamps is None:
                own.timestamps = self._stamps = [None] * len(own)
            self._stamps.extend(other.timestamps)
        elif self._stamps is not None:
            self._stamps.extend(repeat(None, len(other)))
        if own.keys is not None:
            if other.keys is None:
                own.keys = None
            else:
                own.keys.extend(other.keys)
        own.values.extend(other.values)


class ExchangeWriter:
    """The sending end of an edge: routes batches to channels, marks to all of them."""

    def __init__(self, router: Router, channels: dict[int, ChannelBuffer]) -> None:
        self._route = router
        self._channels = channels
        self._latency_marks = 0

    @property
    def channel_count(self) -> int:
        """To how many subtasks it leads."""
        return len(self._channels)

    def process_batch(self, batch: Batch) -> None:
        channels = self._channels
        if isinstance(batch, LazyBatch):
            batch = Batch(batch.values)
        for target, part in self._route(batch):
            channels[target].add_batch(part)

    def process_watermark(self, timestamp: int) -> None:
        self._mark(WatermarkMark(timestamp))

    def process_status(self, idle: bool) -> None:
        self._mark(StatusMark(idle))

    def process_latency(self, mark: LatencyMark) -> None:
        """Take the way of one record, another one each time."""
        channels = tuple(self._channels.values())
        if channels:
            self._latency_marks += 1
            channels[self._latency_marks % len(channels)].add_mark(mark)

    def end_input(self) -> None:
        self._mark(EndMark())

    def _mark(self, mark: Element) -> None:
        for channel in self._channels.values():
            channel.add_mark(mark)

    def start_epoch(self) -> None:
        for channel in self._channels.values():
            channel.start_epoch()

    def flush(self, last: bool = False) -> None:
        """Send what waits: at the end of the epoch nothing stays behind.

        Args:
            last: Whether receivers are told that this was all of the epoch.
        """
        for channel in self._channels.values():
            channel.flush(last)


def _has_exchange(receivers: Sequence[Receiver]) -> bool:
    return any(isinstance(receiver, ExchangeWriter) for receiver in receivers)
