"""What runs inside Spark's Python workers: starting slots, and passing frames on, unopened."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from pyspark import SparkFiles

from headrace.coordination.carrier import EpochRun
from headrace.runtime.exchange.wire import HEADER_SIZE, MessageSocket, PeerGoneError, destination
from headrace.runtime.slot.protocol import FAILED, SlotLaunch, TaskRequest
from headrace.runtime.slot.task_listener import connect

_ENTRY = "from headrace.runtime.slot.process import main; main()"


class RefusedBySlotError(RuntimeError):
    """A slot refused this attempt; the epoch fails and the job goes back to its last checkpoint."""


def start_slot(launch: SlotLaunch) -> None:
    """Start a slot on this host.

    It is nobody's child: only the executor's end or the job master ends it.
    """
    launch = _on_this_host(launch)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                out = os.open(launch.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.dup2(read_end, 0)
                os.dup2(out, 1)
                os.dup2(out, 2)
                # Modules that came with the Spark application are there for slots as well.
                path = os.pathsep.join(sys.path)
                environment = {**os.environ, "PYTHONPATH": path}
                os.execve(sys.executable, [sys.executable, "-c", _ENTRY], environment)
        finally:
            os._exit(0)
    os.close(read_end)
    os.waitpid(child, 0)
    with os.fdopen(write_end, "w") as stdin:
        stdin.write(launch.to_json() + "\n")


def _on_this_host(launch: SlotLaunch) -> SlotLaunch:
    """Paths of the driver's host become those of this one."""
    launch = replace(launch, executor_pid=os.getppid())
    if launch.shipped:
        places = {path: SparkFiles.get(name) for path, name in launch.shipped.items()}
        launch = replace(
            launch,
            first_python_path=tuple(places.get(p, p) for p in launch.first_python_path),
            python_path=tuple(places.get(p, p) for p in launch.python_path),
            working_directory=places.get(launch.working_directory or "", launch.working_directory),
        )
    if not os.access(launch.socket_dir, os.W_OK | os.X_OK):
        directory = tempfile.mkdtemp(prefix="headrace-slot-")
        launch = replace(launch, socket_dir=directory, own_directory=True)
    return launch


def start_slots(launches: Iterable[SlotLaunch]) -> Iterator[int]:
    """Start the slots of one partition of the start job; their numbers."""
    for launch in launches:
        start_slot(launch)
        yield launch.slot


class LevelTask:
    """The function of one stage of an epoch: partition i serves subtask i of the level."""

    def __init__(self, run: EpochRun, level: int, fed: frozenset[int] = frozenset()) -> None:
        self._epoch = run.epoch
        self._attempt = run.attempt
        self._token = run.token
        self._level = level
        self._partitions = run.levels[level]
        self._fed = fed
        last = level + 1 == len(run.levels)
        self._next_size = 1 if last else len(run.levels[level + 1])

    def __call__(
        self, index: int, pairs: Iterable[tuple[int, bytes]]
    ) -> Iterator[tuple[int, bytes]]:
        partition = self._partitions[index]
        request = TaskRequest(
            self._attempt, self._epoch, partition.vertex, partition.subtask
        ).signed(self._token)
        channel = connect(partition.data_address, partition.tcp_address)
        try:
            channel.send(request.to_json())
            if index in self._fed:
                yield from self._while_feeding(channel, cast("Iterable[bytes]", pairs))
                return
            if self._level > 0:
                for _, frame in pairs:
                    level, target = destination(frame)
                    if level == self._level:
                        channel.send(frame)
                    else:
                        yield target % self._next_size, frame
            channel.send_end()
            yield from self._answers(channel)
        finally:
            channel.close()

    def _while_feeding(
        self, channel: MessageSocket, payloads: Iterable[bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Send what Spark reads, on a thread, and meanwhile pass on what comes back."""
        failures: list[BaseException] = []

        def feed() -> None:
            try:
                for payload in payloads:
                    channel.send(payload)
                channel.send_end()
            except BaseException as error:  # noqa: BLE001 - a thread's top: raised by the task
                failures.append(error)
                channel.shut_down()

        feeder = threading.Thread(target=feed, name="feed", daemon=True)
        feeder.start()
        try:
            yield from self._answers(channel)
        except PeerGoneError as error:
            feeder.join()
            raise failures[0] if failures else error from None
        feeder.join()

    def _answers(self, channel: MessageSocket) -> Iterator[tuple[int, bytes]]:
        size, next_level = self._next_size, self._level + 1
        while (frame := channel.receive()) is not None:
            if len(frame) < HEADER_SIZE:
                self._end_without_output(frame, channel)
                return
            level, target = destination(frame)
            yield (target if level == next_level else target % size), frame

    def _end_without_output(self, answer: bytes, channel: MessageSocket) -> None:
        if answer != FAILED:
            reason = channel.receive() or b""
            raise RefusedBySlotError(reason.decode(errors="replace"))


def partition_number(number: int) -> int:
    """The partitioner between levels: the key is the partition."""
    return number
