"""How full the channels of a subtask are while frames are carried live, and how barriers align."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from headrace.runtime.epoch import ChannelReport

_BUFFER_BYTES = 32 * 1024
_BUFFERS_OF_CHANNEL = 2
_MORE_BUFFERS = 8
"""Flink's defaults. There is no pool here: usage is told as a share of the one Flink would have."""


@dataclass
class ChannelUse:
    """What is measured while a subtask takes part in an epoch.

    The most that waited for it and the most that it had sent and nobody took yet; and what came
    while barriers were missing.
    """

    in_frames: int = 0
    in_bytes: int = 0
    out_frames: int = 0
    out_bytes: int = 0
    alignment_s: float = 0.0
    alignment_bytes: int = 0

    def report(self, channels_in: int, channels_out: int) -> ChannelReport:
        """In the words of the job master."""
        return ChannelReport(
            _usage(self.in_bytes, channels_in),
            _usage(self.out_bytes, channels_out),
            self.in_frames,
            self.out_frames,
            self.alignment_s * 1000,
            self.alignment_bytes,
        )


def _usage(size: int, channels: int) -> float:
    if channels == 0:
        return 0.0
    pool = _BUFFER_BYTES * (_BUFFERS_OF_CHANNEL * channels + _MORE_BUFFERS)
    return min(size / pool, 1.0)


class Arrived:
    """Frames that wait for a subtask, and the most that have waited."""

    __slots__ = ("_bytes", "_frames", "_most_bytes", "_most_frames")

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._bytes = self._most_bytes = self._most_frames = 0

    def __len__(self) -> int:
        return len(self._frames)

    def append(self, frame: bytes) -> None:
        """One has come."""
        frames = self._frames
        frames.append(frame)
        self._bytes += len(frame)
        if self._bytes > self._most_bytes:
            self._most_bytes = self._bytes
        if len(frames) > self._most_frames:
            self._most_frames = len(frames)

    def popleft(self) -> bytes:
        """The first one."""
        frame = self._frames.popleft()
        self._bytes -= len(frame)
        return frame

    def take_most(self) -> tuple[int, int]:
        """How many frames and bytes waited at most since this was asked."""
        most = self._most_frames, self._most_bytes
        self._most_frames, self._most_bytes = len(self._frames), self._bytes
        return most
