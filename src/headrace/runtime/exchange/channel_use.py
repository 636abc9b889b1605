"""How full the channels of a subtask are while frames are carried live, and how barriers align."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.runtime.epoch import ChannelReport
from headrace.runtime.exchange.frame_queue import FrameMemory, FrameQueue

_BUFFER_BYTES = 32 * 1024
_BUFFERS_OF_CHANNEL = 2
_MORE_BUFFERS = 8
"""Flink's defaults. There is no pool here: usage is told as a share of the one Flink would have."""


@dataclass
class ChannelUse:
    """What is measured while a subtask takes part in an epoch.

    The most that waited for it and the most that it had sent and nobody took yet; what came while
    barriers were missing; and what it carries over to the next epoch.
    """

    in_frames: int = 0
    in_bytes: int = 0
    out_frames: int = 0
    out_bytes: int = 0
    alignment_s: float = 0.0
    alignment_bytes: int = 0
    carried_frames: int = 0
    carried_bytes: int = 0
    cut: bool = False

    def carries(self, frame: bytes) -> None:
        """A frame that has come is not processed: if it was counted as such, that was wrong."""
        self.alignment_bytes = max(self.alignment_bytes - len(frame), 0)

    def report(self, channels_in: int, channels_out: int) -> ChannelReport:
        """In the words of the job master."""
        return ChannelReport(
            _usage(self.in_bytes, channels_in),
            _usage(self.out_bytes, channels_out),
            self.in_frames,
            self.out_frames,
            self.alignment_s * 1000,
            self.alignment_bytes,
            self.carried_frames,
            self.carried_bytes,
            self.cut,
        )


def _usage(size: int, channels: int) -> float:
    if channels == 0:
        return 0.0
    pool = _BUFFER_BYTES * (_BUFFERS_OF_CHANNEL * channels + _MORE_BUFFERS)
    return min(size / pool, 1.0)


class Arrived:
    """Frames that wait for a subtask, and the most that have waited."""

    __slots__ = ("_most_bytes", "_most_frames", "_queue")

    def __init__(self, memory: FrameMemory) -> None:
        self._queue = FrameQueue(memory)
        self._most_bytes = self._most_frames = 0

    def __len__(self) -> int:
        return len(self._queue)

    def append(self, frame: bytes) -> None:
        """One has come."""
        queue = self._queue
        queue.append(frame)
        if queue.size > self._most_bytes:
            self._most_bytes = queue.size
        if len(queue) > self._most_frames:
            self._most_frames = len(queue)

    def popleft(self) -> bytes:
        """The first one."""
        return self._queue.popleft()

    def clear(self) -> None:
        """Forget what has come."""
        self._queue.clear()

    def take_most(self) -> tuple[int, int]:
        """How many frames and bytes waited at most since this was asked."""
        most = self._most_frames, self._most_bytes
        self._most_frames, self._most_bytes = len(self._queue), self._queue.size
        return most
