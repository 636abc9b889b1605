"""A carrier without Spark: real slot processes on this machine, threads for the tasks."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import EpochRun
from headrace.runtime.slot_protocol import SlotLaunch
from headrace.spark.tasks import LevelTask

_ENTRY = "from headrace.runtime.slot import main; main()"
_LOOK_S = 0.2

Pairs = list[tuple[int, bytes]]


class ProcessCarrier:
    """Starts slots as children of this process, and carries frames between them."""

    def __init__(self) -> None:
        self.slots: list[subprocess.Popen[str]] = []
        self._cancelled = threading.Event()

    def control_address(self) -> None:
        return None

    def start_slots(self, launches: list[SlotLaunch]) -> None:
        self._cancelled.clear()
        self._reap()
        for launch in launches:
            slot = subprocess.Popen(
                [sys.executable, "-c", _ENTRY], stdin=subprocess.PIPE, text=True
            )
            assert slot.stdin is not None
            slot.stdin.write(launch.to_json() + "\n")
            slot.stdin.close()
            self.slots.append(slot)

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

    def _reap(self) -> None:
        self.slots = [slot for slot in self.slots if slot.poll() is None]

    def end(self) -> None:
        """Leave nobody behind."""
        for slot in self.slots:
            if slot.poll() is None:
                slot.kill()
            slot.wait(30)


def _in_thread(task: LevelTask, index: int, pairs: Pairs) -> Future[Pairs]:
    future: Future[Pairs] = Future()

    def run() -> Any:
        try:
            future.set_result(list(task(index, pairs)))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
