"""Frames that leave a slot and arrive in it while an epoch runs, over two connections that stay.

One task takes all output of the slot, another one brings its input. Nothing here ever waits for
somebody to take what is sent: what the connection does not take, or for what there is no credit,
stays here, and goes when the slot waits for its own input. So slots that send to each other cannot
block each other. Beyond a limit of memory, what waits is in files.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice

from headrace.runtime.exchange.channel_use import Arrived, ChannelUse
from headrace.runtime.exchange.credit import Credit
from headrace.runtime.exchange.frame_queue import FrameMemory, FrameQueue
from headrace.runtime.exchange.wire import (
    EMPTY_SIZE,
    HEADER_SIZE,
    FrameHeader,
    PeerGoneError,
    destination,
    encode_frame,
    encode_header,
    read_header,
)

__all__ = ["KEYED", "LENGTH", "SENDER", "LiveExchange", "Places", "slot_of"]

KEYED = struct.Struct(">iqi")
"""What is on its way out begins so: as Spark has a pair of a number and bytes, with the number's
length."""
LENGTH = struct.Struct(">i")
"""What is on its way in begins so: as Spark has bytes."""
SENDER = struct.Struct(">i")
"""These bytes are the number of the slot that sends, and a frame."""

Places = Sequence[Sequence[int]]
"""The slot of each partition of each level."""

_PROBE_LEVEL = 0xFFFF
_GRANT_LEVEL = 0xFFFE
"""No levels: frames for a slot, and not for a subtask."""
_READ_BYTES = 1 << 16
"""More would come from the system and go back to it with each call, whatever has come."""
_MOST_PARTS = 64
_WINDOW_BYTES = 1 << 20
"""What is taken from a connection, or fetched back from a file, at a time."""


def slot_of(carried: bytes, places: Places) -> int:
    """Where a frame goes, which follows its sender."""
    level, partition = destination(carried, SENDER.size)
    return partition if level >= _GRANT_LEVEL else places[level][partition]


class LiveExchange:
    """The two connections of a slot, used by its main thread alone.

    Args:
        slot: The slot.
        places: Where subtasks are.
        memory: Limits what waits in memory.

    Attributes:
        places: Where subtasks are.
        waited_s: How long it was waited for others, in all.
    """

    def __init__(self, slot: int, places: Places = (), memory: FrameMemory | None = None) -> None:
        self._slot = slot
        self.places = places
        self._memory = memory or FrameMemory()
        self._hosts: Sequence[int] = ()
        self._output: socket.socket | None = None
        self._input: socket.socket | None = None
        self._poll = select.poll()
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        # What there was no memory or no credit for, by slot; it goes before anything newer does.
        self._later: dict[int, FrameQueue] = {}
        self._later_bytes = 0
        self._credit = Credit()
        self._read = bytearray()
        self._arrived: dict[tuple[int, int], Arrived] = defaultdict(lambda: Arrived(self._memory))
        self._use = ChannelUse()
        self.waited_s = 0.0

    def send_by(self, hosts: Sequence[int]) -> None:
        """From now on frames for a slot go to this task of the job that carries them."""
        self._hosts = hosts
        self._credit.share(len(hosts))

    def take_output(self, connection: socket.socket) -> None:
        """What is sent leaves here."""
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._output = connection
        self._watch()

    def take_input(self, connection: socket.socket) -> None:
        """What others send comes from here."""
        self._input = connection
        self._watch()

    def hang_up(self) -> None:
        """End both connections, also for processes that were forked, and forget what they left."""
        for connection in (self._output, self._input):
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.close()
        self._memory.left += self._unsent_bytes
        self._unsent.clear()
        self._unsent_bytes = 0
        for later in self._later.values():
            later.clear()
        self._later.clear()
        self._later_bytes = 0
        self._credit.forget()
        self._read.clear()
        for arrived in self._arrived.values():
            arrived.clear()
        self._arrived.clear()

    def close(self) -> None:
        """Let both connections go: a process that was forked does not need them."""
        for connection in (self._output, self._input):
            if connection is not None:
                connection.close()
        self._output = self._input = None

    def begin(self) -> ChannelUse:
        """A subtask takes part in an epoch now: what its channels are like is measured."""
        self._use = ChannelUse()
        return self._use

    def send(self, frame: bytes) -> None:
        """Send a frame; one for a subtask of this slot is there at once."""
        level, partition = destination(frame)
        target = self.places[level][partition]
        if target == self._slot:
            self._arrived[level, partition].append(frame)
        else:
            self._send_to(target, frame)

    def frames(self, level: int, partition: int, channels: int) -> Iterator[bytes]:
        """All frames of an epoch for a subtask: until each channel has brought its last one."""
        arrived, use = self._arrived[level, partition], self._use
        taken = ended = sent = 0
        aligning_since = 0.0
        while ended < channels or taken < sent:
            while not arrived:
                self._turn(wait=True)
            frame = arrived.popleft()
            taken += 1
            if ended and len(frame) > EMPTY_SIZE:
                use.alignment_bytes += len(frame)
            header = read_header(frame)
            if header.last:
                aligning_since = aligning_since or time.perf_counter()
                use.alignment_s = time.perf_counter() - aligning_since
                ended += 1
                sent += header.sequence + 1
            yield frame
            self._turn(wait=False)
        use.in_frames, use.in_bytes = arrived.take_most()

    def flush(self) -> None:
        """Wait until everything has left."""
        while self._unsent or self._later:
            self._turn(wait=True)

    def probe(self) -> None:
        """Send an empty frame to the next slot, and wait for one."""
        target = (self._slot + 1) % len(self._hosts)
        header = FrameHeader(_PROBE_LEVEL, target, 0, self._slot, 0)
        self._send_to(target, encode_frame(header, []))
        arrived = self._arrived[_PROBE_LEVEL, self._slot]
        while not arrived:
            self._turn(wait=True)
        arrived.popleft()

    def _send_to(self, slot: int, frame: bytes) -> None:
        fits = len(frame) <= self._memory.left or not self._unsent
        if slot not in self._later and fits and self._credit.allows(slot):
            self._credit.sent(slot, len(frame))
            self._put(slot, frame)
        else:
            if slot not in self._later:
                self._later[slot] = FrameQueue(self._memory)
            self._later[slot].append(frame)
            self._later_bytes += len(frame)
        self._write()
        if self._later and self._input is not None:
            # Credit for it may have come: who sends much does not look for it otherwise.
            self._receive()
            self._write()
        unsent_bytes = self._unsent_bytes + self._later_bytes
        if unsent_bytes > self._use.out_bytes:
            self._use.out_bytes = unsent_bytes
            later = sum(map(len, self._later.values()))
            self._use.out_frames = (len(self._unsent) + 1) // 2 + later

    def _put(self, slot: int, frame: bytes) -> None:
        head = KEYED.pack(8, self._hosts[slot], SENDER.size + len(frame)) + SENDER.pack(self._slot)
        self._unsent.append(memoryview(head))
        self._unsent.append(memoryview(frame))
        self._unsent_bytes += len(head) + len(frame)
        self._memory.left -= len(head) + len(frame)

    def _fetch(self) -> None:
        """Have more to write, of what had to wait."""
        for slot, later in tuple(self._later.items()):
            while self._unsent_bytes < _WINDOW_BYTES and self._credit.allows(slot):
                frame = later.popleft()
                self._later_bytes -= len(frame)
                self._credit.sent(slot, len(frame))
                self._put(slot, frame)
                if not later:
                    del self._later[slot]
                    break

    def _watch(self) -> None:
        self._poll = select.poll()
        if self._output is not None:
            self._poll.register(self._output, select.POLLOUT if self._unsent else 0)
        if self._input is not None:
            self._poll.register(self._input, select.POLLIN)

    def _turn(self, wait: bool) -> None:
        """Take what has come, and send what can be sent."""
        if self._output is None or self._input is None:
            raise PeerGoneError("no task carries the frames of this slot")
        if wait:
            self._wait(self._output)
        if self._unsent:
            self._write()
        self._receive()

    def _wait(self, output: socket.socket) -> None:
        """Until something has come, or can be sent."""
        self._poll.modify(output, select.POLLOUT if self._unsent else 0)
        began = time.perf_counter()
        ready = dict(self._poll.poll())
        self.waited_s += time.perf_counter() - began
        if ready.get(output.fileno(), 0) & (select.POLLERR | select.POLLHUP):
            raise PeerGoneError("the task that takes the output of this slot is gone")

    def _write(self) -> None:
        if self._output is None:
            raise PeerGoneError("no task takes the output of this slot")
        unsent = self._unsent
        try:
            while unsent:
                left = self._output.sendmsg(islice(unsent, _MOST_PARTS), (), socket.MSG_DONTWAIT)
                self._unsent_bytes -= left
                self._memory.left += left
                while unsent and left >= len(unsent[0]):
                    left -= len(unsent.popleft())
                if left:
                    unsent[0] = unsent[0][left:]
                self._fetch()
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerGoneError(str(error)) from error

    def _receive(self) -> None:
        assert self._input is not None
        data = self._read
        most = len(data) + _WINDOW_BYTES
        while len(data) < most:
            try:
                chunk = self._input.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError as error:
                raise PeerGoneError(str(error)) from error
            if not chunk:
                raise PeerGoneError("the task that brings the input of this slot is gone")
            data += chunk
            if len(chunk) < _READ_BYTES:
                break
        at = 0
        with memoryview(data) as view:
            while len(view) - at >= LENGTH.size:
                (length,) = LENGTH.unpack_from(view, at)
                start = at + LENGTH.size
                if len(view) - start < length:
                    break
                (sender,) = SENDER.unpack_from(view, start)
                self._take(sender, bytes(view[start + SENDER.size : start + length]))
                at = start + length
        del data[:at]

    def _take(self, sender: int, frame: bytes) -> None:
        """What a slot has sent."""
        place = destination(frame)
        if place[0] == _GRANT_LEVEL:
            self._credit.granted(sender, frame[HEADER_SIZE:])
            self._fetch()
            return
        self._arrived[place].append(frame)
        grant = self._credit.taken(sender, len(frame))
        if grant is not None:
            # It needs no credit: there is one for half a window at most.
            self._put(sender, encode_header(FrameHeader(_GRANT_LEVEL, sender, 0, 0, 0)) + grant)
