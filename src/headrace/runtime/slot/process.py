"""A slot: the process in which user functions live.

It is started by a Spark task on an executor's host (`python -m headrace.runtime.slot.process`,
launch data as JSON on standard input), connects to the job master for control, and serves Spark's
tasks over a unix socket: each connection carries one subtask's input of one epoch in, and its
output out. It ends when it is told to, when the control connection is lost, or when its executor is
gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pickle
import queue
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Client, Connection
from typing import Any, cast

from headrace.graph.ids import SlotId, VertexId
from headrace.runtime.epoch import EpochPlan, SubtaskKey
from headrace.runtime.exchange.wire import MessageSocket, PeerGoneError
from headrace.runtime.failure import report_failure
from headrace.runtime.operator import SubtaskServices
from headrace.runtime.pickling import dumps
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.deployment import JobDeployment, install_main_classes
from headrace.runtime.slot.live_epochs import LiveEpochs
from headrace.runtime.slot.observation import StackSampler
from headrace.runtime.slot.protocol import EPOCH, FAILED, REFUSED, SlotLaunch, TaskRequest
from headrace.runtime.slot.task_listener import TaskListener
from headrace.runtime.slot.thread_dump import thread_dump
from headrace.runtime.slot.worker import SlotWorker
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.subtask import Subtask

_PLAN_WAIT_S = 60.0
_GC_THRESHOLD = 100_000


class _Control:
    """The control connection; messages may be sent from any thread.

    It belongs to this process alone. In a process that is forked, by us or by user code, messages
    take another way: two that write to one connection destroy it.
    """

    def __init__(self, launch: SlotLaunch) -> None:
        self._connection: Connection = Client(launch.control_address, authkey=launch.token.encode())
        self._lock = threading.Lock()
        self._instead: Callable[[Any], None] | None = None
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        # The slot's end must be seen when the slot ends.
        self._connection.close()
        self.send_by(_log_text)

    def send_by(self, other: Callable[[Any], None]) -> None:
        """Send messages another way, in a forked process."""
        self._instead = other

    def send(self, message: Any) -> None:
        if self._instead is not None:
            self._instead(message)
            return
        data = dumps(message)
        # Half a message would be the end of the connection.
        with _uninterrupted(), self._lock:
            self._connection.send_bytes(data)

    def receive(self) -> Any:
        return pickle.loads(self._connection.recv_bytes())

    def own_host(self) -> str | None:
        """The address of this host by which the job master's network reaches it."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as shared:
            name = shared.getsockname()
        return name[0] if isinstance(name, tuple) else None


def _log_text(message: Any) -> None:
    """What a process of user code prints goes to the slot's log; nothing else of it counts."""
    if isinstance(message, m.Printed):
        os.write(2, message.text.encode(errors="replace"))


class _Services(SubtaskServices):
    def __init__(self, slot: SlotId, control: _Control) -> None:
        self._slot = slot
        self._control = control

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        self._control.send(m.Printed(self._slot, "\n".join(lines) + "\n", to_stderr))

    def collect(self, collect_id: str, values: list[Any]) -> None:
        self._control.send(m.Collected(self._slot, collect_id, dumps(values), len(values)))

    def data_available(self) -> None:
        self._control.send(m.DataAvailable(self._slot))


class _ForwardedStream(io.TextIOBase):
    """Standard output and error of user code: whole lines go to the user's terminal."""

    def __init__(self, services: _Services, to_stderr: bool) -> None:
        self._services = services
        self._to_stderr = to_stderr
        self._rest = ""
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        # The line that was begun is the slot's.
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            self._services.print_lines(lines, self._to_stderr)
        return len(text)

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        if self._rest:
            self.write("\n")


class _Plans:
    """Epoch plans, which come by the control connection while tasks come by the data socket."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._plan: EpochPlan | None = None

    def put(self, plan: EpochPlan) -> None:
        with self._changed:
            self._plan = plan
            self._changed.notify_all()

    def wait_for(self, epoch: int) -> EpochPlan | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._plan is not None and self._plan.epoch >= epoch, _PLAN_WAIT_S
            )
            return self._plan if self._plan is not None and self._plan.epoch == epoch else None


class Slot:
    """Serves its subtasks, one at a time, on the main thread."""

    def __init__(self, launch: SlotLaunch) -> None:
        self._launch = launch
        self._id = SlotId(launch.slot)
        self._control = _Control(launch)
        self._services = _Services(self._id, self._control)
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._plans = _Plans()
        self._begun: set[tuple[int, SubtaskKey]] = set()
        self._closing = False
        self._busy = False
        self._served = threading.Event()
        self._listener = TaskListener(
            os.path.join(launch.socket_dir, f"{launch.attempt}-{launch.slot}.sock"),
            self._control.own_host(),
            launch.token,
            self._on_task,
        )
        self._worker = SlotWorker(
            self._id,
            launch.attempt,
            self._control.send,
            self._services,
            SlotSnapshots(self._id, self._control.send, self._control.send_by),
            on_job=self._on_job,
        )
        self._live = LiveEpochs(self._id, self._worker, self._control.send)

    def _on_job(self, job: JobDeployment) -> None:
        install_main_classes(job.main_classes)
        self._live.prepare(job.physical)

    def run(self) -> None:
        """Live until the job master says otherwise."""
        streams = [_ForwardedStream(self._services, False), _ForwardedStream(self._services, True)]
        sys.stdout, sys.stderr = cast("Any", streams)
        self._control.send(
            m.Hello(
                self._id,
                self._launch.attempt,
                os.getpid(),
                socket.gethostname(),
                self._listener.path,
                self._listener.tcp_address,
            )
        )
        self._listener.start()
        # Before anybody listens: the first word may be that the job has failed elsewhere.
        signal.signal(signal.SIGINT, self._on_interrupt)
        for target in (self._read_control, self._watch_executor):
            threading.Thread(target=target, daemon=True, name=target.__name__).start()
        try:
            self._serve()
        except KeyboardInterrupt:
            self._worker.broken = True
        self._busy = False
        self._served.set()
        closed = self._worker.close()
        for stream in streams:
            stream.finish()
        with contextlib.suppress(OSError):
            self._control.send(closed)

    # Threads.

    def _on_task(self, channel: MessageSocket, request: TaskRequest) -> None:
        self._inbox.put((channel, request))
        if request.role != EPOCH and request.attempt == self._launch.attempt:
            self._live.called(request)

    def _read_control(self) -> None:
        try:
            while True:
                message = self._control.receive()
                if isinstance(message, m.BeginEpoch):
                    self._plans.put(message.plan)
                elif isinstance(message, m.Ping):
                    self._control.send(m.Pong(self._id))
                elif isinstance(message, m.Close):
                    self._close(message)
                elif isinstance(message, m.SampleStacks):
                    self._sampler().start(message)
                elif isinstance(message, m.DumpThreads):
                    self._dump_threads(message)
                else:
                    self._inbox.put(message)
        except (EOFError, OSError):
            # The job master is gone, and with it the job.
            _leave(self._launch, 0)
        except Exception as error:  # noqa: BLE001 - the top of a thread
            # Nothing that the job master says would be heard any more.
            failure = report_failure(error, vertex_name="", subtask=None, parallelism=None)
            with contextlib.suppress(Exception):
                self._control.send(m.Failed(self._id, failure))
            _leave(self._launch, 1)

    def _sampler(self) -> StackSampler:
        main = threading.main_thread().ident
        assert main is not None
        return StackSampler(self._id, self._control.send, lambda: self._worker.current, main)

    def _dump_threads(self, message: m.DumpThreads) -> None:
        """Tell at once, also while user code runs and does not return."""
        key = self._worker.current
        subtask = self._worker.subtasks.get(key) if key is not None else None
        working_for = f"{subtask.vertex.name} [{subtask.task.subtask}]" if subtask else None
        dumped = m.ThreadsDumped(self._id, message.request, thread_dump(), working_for)
        self._control.send(dumped)

    def _close(self, message: m.Close) -> None:
        """End, also when user code sleeps or loops. Several may say so: who fails, who cancels."""
        if not self._closing:
            self._closing = True
            self._inbox.put(message)
            threading.Thread(target=self._press, args=(message,), daemon=True).start()

    def _press(self, close: m.Close) -> None:
        """Interrupt user code until it returns, and end without it when time is over."""
        main = threading.main_thread().ident
        assert main is not None
        deadline = time.monotonic() + (close.timeout_s or threading.TIMEOUT_MAX)
        while not self._served.is_set() and (left := deadline - time.monotonic()) > 0:
            signal.pthread_kill(main, signal.SIGINT)
            self._served.wait(min(close.interval_s, left))
        if close.timeout_s is not None:
            time.sleep(max(deadline - time.monotonic(), 0))
            _leave(self._launch, 1)

    def _on_interrupt(self, *_: Any) -> None:
        """On the main thread, so what it does at this moment is known for sure."""
        if self._busy:
            raise KeyboardInterrupt

    def _watch_executor(self) -> None:
        pid = self._launch.executor_pid
        while pid is not None:
            time.sleep(0.5)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                _leave(self._launch, 0)
            except PermissionError:
                continue

    # The main thread.

    def _serve(self) -> None:
        while True:
            message = self._inbox.get()
            if isinstance(message, m.Close):
                return
            self._busy = True
            if isinstance(message, tuple):
                self._serve_task(*message)
            elif not self._live.handle(message):
                self._worker.handle(message)
            self._busy = False

    def _serve_task(self, channel: MessageSocket, request: TaskRequest) -> None:
        if request.role != EPOCH:
            if request.attempt == self._launch.attempt:
                self._live.connected(channel, request)
            else:
                channel.close()
            return
        try:
            frames = _frames(channel)
            answers = self._answer(channel, request, frames)
            # The task reads nothing before it has written everything.
            for _ in frames:
                pass
            for answer in answers:
                channel.send(answer)
            channel.send_end()
        except PeerGoneError:
            # The task is gone in the middle: this slot's state is of no epoch any more.
            self._worker.broken = True
        finally:
            channel.close()

    def _answer(
        self, channel: MessageSocket, request: TaskRequest, frames: Iterator[bytes]
    ) -> Iterable[bytes]:
        """Serve one request; what is left to answer."""
        key = (VertexId(request.vertex), request.subtask)
        plan = self._plans.wait_for(request.epoch)
        subtask = self._worker.subtasks.get(key)
        begun = (request.epoch, key)
        if self._worker.broken or plan is None or subtask is None or begun in self._begun:
            why = f"epoch {request.epoch} of {key} has already begun or is not planned here"
            return REFUSED, why.encode()
        if request.attempt != self._launch.attempt:
            return REFUSED, b"another attempt at the job"
        self._begun = {b for b in self._begun if b[0] == request.epoch} | {begun}
        return self._run_epoch(channel, frames, subtask, plan)

    def _run_epoch(
        self, channel: MessageSocket, frames: Iterator[bytes], subtask: Subtask, plan: EpochPlan
    ) -> Iterable[bytes]:
        pending: list[bytes] = []
        send = pending.append
        if subtask.vertex.is_source:
            # Nothing waits for the input of a source to end, so its output can stream out. Only
            # what Spark reads comes as input, from a task that sends and receives at a time.
            if not subtask.fed:
                next(frames, None)
            send = channel.send
        return pending if self._worker.run_epoch(subtask, plan, frames, send) else (FAILED,)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _frames(channel: MessageSocket) -> Iterator[bytes]:
    while (frame := channel.receive()) is not None:
        yield frame


def main() -> None:
    """Entry point of a process that starts as a slot."""
    run(SlotLaunch.from_json(sys.stdin.readline()))


def run(launch: SlotLaunch) -> None:
    """Be the slot of a launch until the end of the process."""
    try:
        _prepare(launch)
        slot = Slot(launch)
    except Exception as error:
        # Nobody reads the log of a slot that has not called: say it before it is too late.
        failure = report_failure(error, vertex_name="", subtask=None, parallelism=None)
        _Control(launch).send(m.Failed(SlotId(launch.slot), failure))
        raise
    slot.run()
    _leave(launch, 0)


def _prepare(launch: SlotLaunch) -> None:
    for path in launch.python_path:
        if path not in sys.path:
            sys.path.append(path)
    # What was given for the job wins over what the workers have.
    sys.path[:0] = launch.first_python_path
    if launch.working_directory is not None:
        os.chdir(launch.working_directory)
    for module in launch.preload:
        importlib.import_module(module)
    # Records are many, and seldom in cycles: with Python's own threshold the collector would take
    # most of the time of a program whose records are rows or tuples.
    gc.set_threshold(_GC_THRESHOLD, 20, 50)


def _leave(launch: SlotLaunch, code: int) -> None:
    """End the process at once, whatever its threads do."""
    if launch.own_directory:
        shutil.rmtree(launch.socket_dir, ignore_errors=True)
    os._exit(code)


if __name__ == "__main__":
    main()
