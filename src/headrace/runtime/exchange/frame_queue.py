"""Frames that wait, in order: in memory as long as there is room, then in a file."""

from __future__ import annotations

import errno
import os
import struct
import tempfile
from collections import deque
from collections.abc import Iterator
from typing import IO

from headrace.common.errors import HeadraceError

__all__ = ["DEFAULT_MEMORY", "FrameMemory", "FrameQueue"]

DEFAULT_MEMORY = 64 << 20
_LENGTH = struct.Struct(">I")


class FrameMemory:
    """What all queues of a slot may have in memory together.

    Args:
        most: Bytes.

    Attributes:
        left: Bytes that are free; less than none where something had to be kept all the same.
    """

    def __init__(self, most: int = DEFAULT_MEMORY) -> None:
        self.most = most
        self.left = most

    def resize(self, most: int) -> None:
        """Allow more or less than before."""
        self.left += most - self.most
        self.most = most


class FrameQueue:
    """First in, first out. Nobody waits for room: what memory does not take goes to a file.

    What is in memory is older than what is in the file, so nothing overtakes. A forked child can
    read what it had when it was forked: nothing in the file is ever overwritten.
    """

    __slots__ = ("_file", "_frames", "_memory", "size")

    def __init__(self, memory: FrameMemory) -> None:
        self._memory = memory
        self._frames: deque[bytes] = deque()
        self._file: _FrameFile | None = None
        self.size = 0
        """Bytes, wherever they are."""

    def __len__(self) -> int:
        return len(self._frames) + (0 if self._file is None else self._file.count)

    def __iter__(self) -> Iterator[bytes]:
        """All of them; they stay."""
        yield from self._frames
        if self._file is not None:
            yield from self._file

    @property
    def spilled(self) -> int:
        """How many are in the file."""
        return 0 if self._file is None else self._file.count

    def append(self, frame: bytes) -> None:
        """One more, at the end."""
        self.size += len(frame)
        if self._file is None:
            if len(frame) <= self._memory.left:
                self._memory.left -= len(frame)
                self._frames.append(frame)
                return
            self._file = _FrameFile()
        self._file.append(frame)

    def appendleft(self, frame: bytes) -> None:
        """What is left of the one that was taken last: it is the first again."""
        self.size += len(frame)
        self._memory.left -= len(frame)
        self._frames.appendleft(frame)

    def popleft(self) -> bytes:
        """The oldest one."""
        if self._frames:
            frame = self._frames.popleft()
            self._memory.left += len(frame)
        else:
            assert self._file is not None, "there is one"
            frame = self._file.popleft()
            if not self._file.count:
                self._file.close()
                self._file = None
        self.size -= len(frame)
        return frame

    def clear(self) -> None:
        """Forget all of them."""
        self._memory.left += sum(map(len, self._frames))
        self._frames.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        self.size = 0


class _FrameFile:
    """A file without a name, which is gone with the process; each frame follows its length."""

    def __init__(self) -> None:
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(prefix="headrace-frames-")  # noqa: SIM115 - closed with the queue
        except OSError as error:
            raise _no_room(error) from error
        self._begin = self._end = 0
        self.count = 0

    def append(self, frame: bytes) -> None:
        data = memoryview(_LENGTH.pack(len(frame)) + frame)
        try:
            while data:
                written = os.pwrite(self._file.fileno(), data, self._end)
                self._end += written
                data = data[written:]
        except OSError as error:
            raise _no_room(error) from error
        self.count += 1

    def popleft(self) -> bytes:
        frame = self._read(self._begin)
        self._begin += _LENGTH.size + len(frame)
        self.count -= 1
        return frame

    def __iter__(self) -> Iterator[bytes]:
        at = self._begin
        for _ in range(self.count):
            frame = self._read(at)
            at += _LENGTH.size + len(frame)
            yield frame

    def _read(self, at: int) -> bytes:
        # The offset of the file is shared with forked children, so it is not used.
        (length,) = _LENGTH.unpack(self._bytes(_LENGTH.size, at))
        return self._bytes(length, at + _LENGTH.size)

    def _bytes(self, length: int, at: int) -> bytes:
        data = os.pread(self._file.fileno(), length, at)
        while len(data) < length:
            more = os.pread(self._file.fileno(), length - len(data), at + len(data))
            if not more:
                raise _no_room(OSError(errno.EIO, "a frame is not all there"))
            data += more
        return data

    def close(self) -> None:
        self._file.close()


def _no_room(error: OSError) -> HeadraceError:
    return HeadraceError(
        f"frames that do not fit into memory could not be kept in {tempfile.gettempdir()}: "
        f"{error}; make room there, set TMPDIR to another place, or allow more memory with "
        "execution.live.buffer-memory"
    )
