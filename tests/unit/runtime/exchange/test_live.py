"""Frames between slots over connections that stay."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterable, Iterator

import pytest

from headrace.runtime.batch import Batch
from headrace.runtime.exchange import credit
from headrace.runtime.exchange.frame_queue import DEFAULT_MEMORY, FrameMemory
from headrace.runtime.exchange.live import KEYED, LENGTH, SENDER, LiveExchange, slot_of
from headrace.runtime.exchange.wire import FrameHeader, PeerGoneError, decode_payload, encode_frame

PLACES = ((0, 1), (0, 1))
"""Two levels, with a subtask of each in each slot."""


class Slot:
    """An exchange, and the far ends of its connections."""

    def __init__(self, number: int, memory: int = DEFAULT_MEMORY) -> None:
        self.number = number
        self.memory = FrameMemory(memory)
        self.exchange = LiveExchange(number, PLACES, self.memory)
        output, self.output = socket.socketpair()
        input_, self.input = socket.socketpair()
        self.exchange.take_output(output)
        self.exchange.take_input(input_)
        self.exchange.send_by((0, 1))

    def carried(self) -> tuple[int, bytes]:
        """What left next, and the task that it is for."""
        head = self.output.recv(KEYED.size, socket.MSG_WAITALL)
        _, host, length = KEYED.unpack(head)
        return host, self.output.recv(length, socket.MSG_WAITALL)

    def sent(self) -> tuple[int, bytes]:
        """The next frame that left, and the task that it is for."""
        host, carried = self.carried()
        assert SENDER.unpack_from(carried) == (self.number,)
        return host, carried[SENDER.size :]

    def brings(self, carried: bytes) -> None:
        """What another one sent arrives."""
        self.input.sendall(LENGTH.pack(len(carried)) + carried)

    def arrives(self, *frames: bytes) -> None:
        for f in frames:
            self.brings(SENDER.pack(1 - self.number) + f)

    def close(self) -> None:
        self.exchange.hang_up()
        self.output.close()
        self.input.close()


@pytest.fixture
def slot() -> Iterator[Slot]:
    made = Slot(0)
    yield made
    made.close()


def frame(
    target: int, sender: int, sequence: int, last: bool = False, values: tuple[int, ...] = ()
) -> bytes:
    elements = [Batch(list(values))] if values else []
    return encode_frame(FrameHeader(1, target, 7, sender, sequence, last), elements)


def values(frames: Iterable[bytes]) -> list[list[int]]:
    return [[v for e in decode_payload(f) for v in e.values] for f in frames]


def test_an_input_ends_with_the_barriers_of_all_channels(slot: Slot) -> None:
    slot.arrives(frame(0, 0, 0, values=(1,)), frame(0, 1, 0, last=True), frame(0, 0, 1, last=True))
    slot.arrives(frame(0, 0, 0, values=(9,)))
    assert values(slot.exchange.frames(1, 0, channels=2)) == [[1], [], []]


def test_a_barrier_that_overtakes_its_frames_waits_for_them(slot: Slot) -> None:
    slot.arrives(frame(0, 0, 2, last=True), frame(0, 0, 0, values=(1,)))
    frames = slot.exchange.frames(1, 0, channels=1)
    next(frames), next(frames)
    slot.arrives(frame(0, 0, 1, values=(2,)))
    assert values(frames) == [[2]]


def test_what_is_for_this_slot_does_not_leave_it(slot: Slot) -> None:
    slot.exchange.send(frame(0, 0, 0, last=True, values=(5,)))
    assert values(slot.exchange.frames(1, 0, channels=1)) == [[5]]


def test_what_is_for_another_slot_names_its_task(slot: Slot) -> None:
    sent = frame(1, 0, 0, values=(5,))
    slot.exchange.send(sent)
    assert slot.sent() == (1, sent)
    assert slot_of(SENDER.pack(0) + sent, PLACES) == 1


@pytest.mark.parametrize("memory", [DEFAULT_MEMORY, 1_000], ids=["in memory", "in files"])
def test_slots_that_send_more_than_anybody_takes_do_not_block_each_other(memory: int) -> None:
    slots = [Slot(0, memory), Slot(1, memory)]
    big = tuple(range(200_000))
    for number, slot in enumerate(slots):
        for sequence in range(3):
            slot.exchange.send(frame(1 - number, number, sequence, sequence == 2, big))
    assert exchanged(slots) == {0: 3, 1: 3}
    for slot in slots:
        slot.close()
        assert slot.memory.left == memory, "nothing waits any more"


def exchanged(slots: list[Slot]) -> dict[int, int]:
    """How many frames each of two slots takes, while what they send is passed on."""
    taken = {}

    def take(number: int) -> None:
        taken[number] = len(list(slots[number].exchange.frames(1, number, channels=1)))
        slots[number].exchange.flush()
        slots[number].output.shutdown(socket.SHUT_RD)

    def pass_on(number: int) -> None:
        with contextlib.suppress(struct.error, OSError):
            while True:
                slots[1 - number].brings(slots[number].carried()[1])

    threads = [threading.Thread(target=w, args=(n,)) for n in (0, 1) for w in (take, pass_on)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def test_more_than_the_credit_leaves_when_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The carrier never has more of it than that, and one frame."""
    monkeypatch.setattr(credit, "_MOST_BYTES", 100_000)
    monkeypatch.setattr(credit, "_LEAST_BYTES", 0)
    slots = [Slot(0), Slot(1)]
    frames = [frame(1, 0, n, n == 79, tuple(range(2_000))) for n in range(80)]
    for sent in frames:
        slots[0].exchange.send(sent)
    size = len(frames[0])
    on_way = 50_000 // size + 1
    assert [slots[0].sent()[1] for _ in range(on_way)] == frames[:on_way]
    slots[0].output.setblocking(False)
    with pytest.raises(BlockingIOError):
        slots[0].sent()
    slots[0].output.setblocking(True)
    slots[1].exchange.send(frame(0, 1, 0, last=True))
    slots[1].arrives(*frames[:on_way])
    assert exchanged(slots) == {0: 1, 1: 80}
    for slot in slots:
        slot.close()


def test_a_slot_without_credit_does_not_keep_others_waiting() -> None:
    places = ((0, 1, 2),)
    slot = Slot(0)
    slot.exchange.places = places
    slot.exchange.send_by((0, 1, 2))
    far = threading.Thread(target=lambda: [slot.carried() for _ in range(2)])
    far.start()
    # What is on its way to slot 1 is more than its share, and nobody takes it.
    big = encode_frame(FrameHeader(0, 1, 7, 0, 0), [Batch(list(range(3_000_000)))])
    for _ in range(3):
        slot.exchange.send(big)
    small = encode_frame(FrameHeader(0, 2, 7, 0, 0, last=True), [])
    slot.exchange.send(small)
    while slot.exchange._unsent:
        slot.exchange._turn(wait=True)
    assert set(slot.exchange._later) == {1}
    far.join()
    slot.close()
    assert slot.memory.left == DEFAULT_MEMORY


def test_what_nobody_takes_leaves_in_order_from_memory_and_file() -> None:
    slot = Slot(0, memory=300_000)
    frames = [frame(1, 0, n, values=tuple(range(20_000))) for n in range(40)]
    for sent in frames:
        slot.exchange.send(sent)
    assert slot.exchange._later[1].spilled > 20
    flushing = threading.Thread(target=slot.exchange.flush)
    flushing.start()
    assert [slot.sent() for _ in frames] == [(1, sent) for sent in frames]
    flushing.join()
    assert slot.memory.left == 300_000
    slot.close()


@pytest.mark.parametrize("end", ["input", "output"])
def test_a_task_that_is_gone_is_noticed_by_who_waits(slot: Slot, end: str) -> None:
    getattr(slot, end).close()
    with pytest.raises(PeerGoneError):
        list(slot.exchange.frames(1, 0, channels=1))


def test_without_tasks_nothing_is_sent(slot: Slot) -> None:
    slot.exchange.hang_up()
    with pytest.raises(PeerGoneError):
        slot.exchange.send(frame(1, 0, 0))


def test_hanging_up_is_seen_where_a_forked_process_has_the_connection_too(slot: Slot) -> None:
    inherited = socket.socket(fileno=os.dup(slot.exchange._output.fileno()))  # type: ignore[union-attr]
    slot.exchange.hang_up()
    assert slot.output.recv(1) == b""
    inherited.close()


def test_nothing_of_a_connection_is_left_for_the_next_one(slot: Slot) -> None:
    cut = frame(0, 1, 0, values=(1,))
    slot.arrives(cut)
    slot.input.sendall(LENGTH.pack(SENDER.size + len(cut)) + SENDER.pack(1) + cut[:5])
    slot.input.shutdown(socket.SHUT_WR)
    with pytest.raises(PeerGoneError):
        list(slot.exchange.frames(1, 0, channels=1))
    slot.exchange.send(frame(0, 0, 0, values=(2,)))
    slot.exchange.hang_up()
    output, far_output = socket.socketpair()
    input_, far_input = socket.socketpair()
    slot.exchange.take_output(output)
    slot.exchange.take_input(input_)
    new = frame(0, 0, 0, last=True, values=(3,))
    far_input.sendall(LENGTH.pack(SENDER.size + len(new)) + SENDER.pack(1) + new)
    assert values(slot.exchange.frames(1, 0, channels=1)) == [[3]]
    far_output.close()
    far_input.close()


def test_a_probe_goes_to_the_next_slot(slot: Slot) -> None:
    other = Slot(1)
    probing = threading.Thread(target=slot.exchange.probe)
    probing.start()
    host, carried = slot.carried()
    assert (host, slot_of(carried, PLACES)) == (1, 1)
    other.brings(carried)
    other.exchange.probe()
    slot.brings(other.carried()[1])
    probing.join()
    other.close()


def test_what_waits_for_a_subtask_is_measured(slot: Slot) -> None:
    frames = [
        frame(0, 0, 0, values=tuple(range(20_000))),
        frame(0, 0, 1, last=True),
        frame(0, 1, 0, values=(1,)),
        frame(0, 1, 1, last=True),
    ]
    sender = threading.Thread(target=slot.arrives, args=frames)
    sender.start()
    use = slot.exchange.begin()
    taken = list(slot.exchange.frames(1, 0, channels=2))
    sender.join()
    report = use.report(channels_in=2, channels_out=0)
    assert len(taken) == 4
    assert 1 <= report.in_queue <= 4
    assert len(frames[0]) / (12 * 32 * 1024) <= report.in_usage < 1
    assert report.alignment_ms > 0
    assert report.alignment_bytes == len(frames[2]), "a barrier is not data"
    again = slot.exchange.begin()
    slot.arrives(frame(0, 0, 0, last=True))
    list(slot.exchange.frames(1, 0, channels=1))
    assert again.report(1, 0).in_usage < report.in_usage, "each epoch is measured on its own"


def test_what_nobody_takes_is_measured(slot: Slot) -> None:
    use = slot.exchange.begin()
    slot.exchange.send(frame(1, 0, 0, values=(1,)))
    assert use.report(0, 2).out_usage == 0.0, "it has left"
    for sequence in range(1, 60):
        slot.exchange.send(frame(1, 0, sequence, values=tuple(range(20_000))))
    report = use.report(0, 2)
    assert report.out_usage == 1.0, "more than a pool would have had"
    assert 1 < report.out_queue < 60
