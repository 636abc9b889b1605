"""Frames that wait, in memory and in a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import HeadraceError
from headrace.runtime.exchange.frame_queue import FrameMemory, FrameQueue


def filled(*sizes: int, memory: int) -> FrameQueue:
    queue = FrameQueue(FrameMemory(memory))
    for number, size in enumerate(sizes):
        queue.append(bytes([number]) * size)
    return queue


def test_what_does_not_fit_into_memory_is_in_a_file_and_nothing_overtakes_it() -> None:
    queue = filled(4, 10, 4, memory=10)
    assert (len(queue), queue.size, queue.spilled) == (3, 18, 2)
    assert [len(f) for f in queue] == [4, 10, 4], "looking takes nothing away"
    assert queue.popleft() == bytes(4)
    queue.append(b"\3")
    assert queue.spilled == 3, "there is room again, but others are before it"
    assert [queue.popleft()[0] for _ in range(3)] == [1, 2, 3]
    queue.append(b"\4")
    assert (queue.spilled, queue.size) == (0, 1)


def test_queues_share_the_memory_of_their_slot() -> None:
    memory = FrameMemory(10)
    first, second = FrameQueue(memory), FrameQueue(memory)
    first.append(bytes(8))
    second.append(bytes(8))
    assert (first.spilled, second.spilled) == (0, 1)
    first.popleft()
    second.popleft()
    second.append(bytes(8))
    assert second.spilled == 0
    second.clear()
    assert memory.left == 10


@given(st.lists(st.integers(0, 9) | st.none() | st.just("again"), max_size=60), st.integers(0, 20))
def test_it_is_a_queue_whatever_fits(steps: list[int | str | None], most: int) -> None:
    memory = FrameMemory(most)
    queue, model = FrameQueue(memory), list[bytes]()
    for number, step in enumerate(steps):
        if isinstance(step, int):
            frame = bytes([number]) * step
            queue.append(frame)
            model.append(frame)
        elif model:
            frame = queue.popleft()
            assert frame == model.pop(0)
            if step == "again":
                queue.appendleft(frame[1:])
                model.insert(0, frame[1:])
        assert (list(queue), len(queue), queue.size) == (model, len(model), sum(map(len, model)))
    queue.clear()
    assert (memory.left, len(queue)) == (most, 0)


def test_a_forked_child_reads_what_there_was_while_the_queue_goes_on() -> None:
    queue = filled(4, 4, 4, memory=4)
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(ready, 1)
        os._exit(0 if [f[0] for f in queue] == [0, 1, 2] else 1)
    while queue:
        queue.popleft()
    for _ in range(3):
        queue.append(b"\7" * 4)
    os.write(go, b"!")
    assert os.waitpid(child, 0)[1] == 0


def test_a_place_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(HeadraceError, match=r"missing.*execution\.live\.buffer-memory"):
        filled(4, memory=0)
