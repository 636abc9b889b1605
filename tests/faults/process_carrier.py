"""A carrier without Spark: real slot processes on this machine, threads for the tasks."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import EpochRun
from headrace.coordination.slots import processes
from headrace.coordination.slots.zygote import SlotZygote
from headrace.runtime.slot.protocol import SlotLaunch
from headrace.spark.tasks import LevelTask

_LOOK_S = 0.2

Pairs = list[tuple[int, bytes]]


class ProcessCarrier(processes.ProcessCarrier):
    """Starts slots on this machine, and carries frames between them."""

    def __init__(self) -> None:
        # One of its own, so that slots have the environment of now.
        self._zygote = SlotZygote()
        self._cancelled = threading.Event()
        self._go = threading.Event()
        self._go.set()
        self.held = threading.Event()
        """Whether an attempt waits for `go_on`."""

    def hold(self) -> None:
        """Let the next attempt wait before it has slots."""
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()

    def start_slots(self, launches: list[SlotLaunch]) -> dict[int, int]:
        self._cancelled.clear()
        self.held.set()
        self._go.wait()
        self.held.clear()
        return {launch.slot: self._zygote.fork(launch) for launch in launches}

    def run_epoch(self, run: EpochRun) -> None:
        waiting: dict[int, Pairs] = {}
        for level, partitions in enumerate(run.levels):
            task = LevelTask(run, level)
            tasks = [_in_thread(task, i, waiting.pop(i, [])) for i in range(len(partitions))]
            self._await(tasks)
            waiting = {}
            for done in tasks:
                for target, frame in done.result():
                    waiting.setdefault(target, []).append((target, frame))

    def _await(self, tasks: list[Future[Pairs]]) -> None:
        left = set(tasks)
        while left:
            done, left = wait(left, _LOOK_S, FIRST_COMPLETED)
            failed = [error for task in done if (error := task.exception()) is not None]
            if failed:
                raise HeadraceError(f"a task failed: {failed[0]!r}")
            if self._cancelled.is_set():
                raise HeadraceError("the epoch was cancelled")

    def cancel(self) -> None:
        self._cancelled.set()

    def end(self) -> None:
        """Let the zygote go; slots end with their job."""
        self._zygote.close()


def _in_thread(task: LevelTask, index: int, pairs: Pairs) -> Future[Pairs]:
    future: Future[Pairs] = Future()

    def run() -> Any:
        try:
            future.set_result(list(task(index, pairs)))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
