"""The receiving end: channels, their order, and the watermark: the minimum of active channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headrace.runtime.batch import MIN_TIMESTAMP
from headrace.runtime.exchange.wire import read_header

ChannelKey = tuple[int, int]
"""Index of the edge and number of the sending subtask."""


@dataclass
class _Channel:
    input_index: int
    watermark: int = MIN_TIMESTAMP
    idle: bool = False
    ended: bool = False


@dataclass
class InputGate:
    """All channels into a subtask."""

    channels: dict[ChannelKey, _Channel] = field(default_factory=dict)
    watermark: int = MIN_TIMESTAMP
    idle: bool = False

    def add_channel(self, key: ChannelKey, input_index: int) -> None:
        self.channels[key] = _Channel(input_index)

    def input_of(self, key: ChannelKey) -> int:
        return self.channels[key].input_index

    def watermark_of(self, input_index: int) -> int:
        """The watermark of one input, which the others may hold back."""
        channels = [c for c in self.channels.values() if c.input_index == input_index]
        active = [c.watermark for c in channels if not c.idle]
        return min(active) if active else max(c.watermark for c in channels)

    def on_watermark(self, key: ChannelKey, timestamp: int) -> int | None:
        """Take in a watermark; the new watermark of the subtask if that moved it."""
        channel = self.channels[key]
        if timestamp > channel.watermark:
            channel.watermark = timestamp
        return self._advance()

    def on_status(self, key: ChannelKey, idle: bool) -> tuple[int | None, bool | None]:
        """Take in idleness; the subtask's new watermark and new status, where they changed."""
        self.channels[key].idle = idle
        before = self.idle
        self.idle = all(c.idle or c.ended for c in self.channels.values()) and any(
            c.idle for c in self.channels.values()
        )
        changed = self.idle if self.idle != before else None
        return self._advance(), changed

    def on_end(self, key: ChannelKey) -> tuple[int, bool, bool]:
        """A channel has ended. Returns its input, and whether that input and all inputs have."""
        channel = self.channels[key]
        channel.ended = True
        siblings = [c for c in self.channels.values() if c.input_index == channel.input_index]
        return (
            channel.input_index,
            all(c.ended for c in siblings),
            all(c.ended for c in self.channels.values()),
        )

    def _advance(self) -> int | None:
        active = [c.watermark for c in self.channels.values() if not c.idle]
        if not active:
            # Everybody is idle: the furthest watermark is as good as any, and nobody is late by it.
            active = [max(c.watermark for c in self.channels.values())]
        # A channel that was idle and is behind does not stop the others until it has caught up.
        lowest = min((w for w in active if w >= self.watermark), default=self.watermark)
        if lowest == self.watermark:
            return None
        self.watermark = lowest
        return lowest


def in_channel_order(frames: Iterable[bytes]) -> Iterator[tuple[ChannelKey, bytes]]:
    """Give frames as they come, but those of one channel in the order in which they were sent.

    Spark delivers the outputs of upstream tasks in any order and makes no promise within one.
    """
    expected: dict[ChannelKey, int] = {}
    early: dict[tuple[ChannelKey, int], bytes] = {}
    for frame in frames:
        header = read_header(frame)
        channel = (header.edge, header.sender)
        early[channel, header.sequence] = frame
        turn = expected.get(channel, 0)
        while (ready := early.pop((channel, turn), None)) is not None:
            yield channel, ready
            turn += 1
        expected[channel] = turn
    if early:
        raise EOFError(f"{len(early)} frames arrived without their predecessors")
