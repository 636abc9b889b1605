"""The process that keeps a spare Spark for the next run.

One thread waits for everything: runs that come and go, holders that are ready or gone, and the time
at which nobody is expected any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from headrace.common.files.scratch import ScratchDirectory
from headrace.coordination.access.job_registry import run_directory
from headrace.spark.idle.request import SparkRequest

__all__ = ["ADDRESS", "Keeper", "main", "start_holder"]

ADDRESS = "idle-spark.json"
"""In the user's directory of running jobs: where the keeper is."""

_LOCK = "idle-spark.lock"
_END_S = 10.0


def start_holder(request: SparkRequest) -> subprocess.Popen[bytes]:
    """A process that starts what a run wants."""
    holder = subprocess.Popen(
        [request.python, "-m", "headrace.spark.idle.holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=request.directory,
        env=request.environment,
        start_new_session=True,
    )
    assert holder.stdin is not None
    # One that ended at once is noticed when its output ends.
    with contextlib.suppress(BrokenPipeError):
        holder.stdin.write(request.line())
        holder.stdin.flush()
    return holder


@dataclass
class _Spark:
    """What a holder has; `place` is known when it is ready."""

    request: SparkRequest
    holder: subprocess.Popen[bytes]
    place: dict[str, Any] | None = None
    run: _Run | None = None


@dataclass(eq=False)
class _Run:
    """Somebody who is connected; it has gone when its connection ends."""

    stream: IO[bytes]
    answer: Callable[[dict[str, Any]], None]
    request: SparkRequest | None = None


class Keeper:
    """Gives a spare to whoever wants just that, and makes the next one.

    Args:
        listener: Where runs connect.
        idle_s: How long it waits for one.
        start: Starts a holder.
    """

    def __init__(
        self,
        listener: socket.socket,
        idle_s: float,
        start: Callable[[SparkRequest], subprocess.Popen[bytes]] = start_holder,
    ) -> None:
        self._listener = listener
        self._idle_s = idle_s
        self._start = start
        self._spare: _Spark | None = None
        self._runs: dict[_Run, _Spark | None] = {}
        self._leaving: list[tuple[subprocess.Popen[bytes], float]] = []
        self._ending = False
        self._until = time.monotonic() + idle_s
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> None:
        """Until nobody has come for some time, or somebody says that it is enough."""
        try:
            while not self._over():
                wait_s = 60.0 if self._runs else max(self._until - time.monotonic(), 0.0)
                for key, _ in self._selector.select(min(wait_s, 1.0) if self._leaving else wait_s):
                    key.data()
                self._reap()
        finally:
            self._drop_spare()
            while self._leaving:
                time.sleep(0.05)
                self._reap()

    def _over(self) -> bool:
        if self._runs:
            # Those that have a Spark of ours need it to the end.
            self._until = time.monotonic() + self._idle_s
            return False
        return self._ending or time.monotonic() >= self._until

    def add_run(self, stream: IO[bytes], answer: Callable[[dict[str, Any]], None]) -> None:
        """Somebody who may ask for something."""
        run = _Run(stream, answer)
        self._runs[run] = None
        self._selector.register(stream, selectors.EVENT_READ, lambda: self._read(run))

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        stream = connection.makefile("rb")

        def answer(told: dict[str, Any]) -> None:
            with contextlib.suppress(OSError):
                connection.sendall(json.dumps(told).encode() + b"\n")

        connection.settimeout(_END_S)
        self.add_run(stream, answer)

    def _read(self, run: _Run) -> None:
        try:
            line = run.stream.readline()
            asked = json.loads(line) if line else None
        except (OSError, ValueError):
            asked = None
        if not isinstance(asked, dict):
            self._gone(run)
        elif asked.get("ask") == "status":
            run.answer(self._status())
        elif asked.get("ask") == "end":
            self._ending = True
            self._drop_spare()
            run.answer(self._status())
        else:
            try:
                run.request = SparkRequest.from_json(asked)
            except TypeError:
                # Runs that have a Spark of ours must not lose it by one of another version.
                run.answer({"no": "it is of another version"})
                return
            self._wanted(run, run.request)

    def _status(self) -> dict[str, Any]:
        spare = self._spare
        state = "none" if spare is None else "starting" if spare.place is None else "ready"
        in_use = sum(spark is not None for spark in self._runs.values())
        left_s = self._until - time.monotonic()
        return {
            "pid": os.getpid(),
            "spare": state,
            "holder": None if spare is None else spare.holder.pid,
            "in_use": in_use,
            "idle_s": self._idle_s,
            "left_s": max(left_s, 0.0),
            "directory": None if spare is None else spare.request.directory,
        }

    def _wanted(self, run: _Run, request: SparkRequest) -> None:
        spare = self._spare
        if spare is None or self._ending:
            run.answer({"no": "there is none"})
        elif spare.request != request:
            run.answer({"no": f"it has another {spare.request.difference(request)}"})
        elif spare.holder.poll() is not None:
            run.answer({"no": "it was killed"})
        else:
            self._spare = None
            self._runs[run] = spare
            spare.run = run
            if spare.place is not None:
                run.answer(spare.place)

    def _gone(self, run: _Run) -> None:
        self._selector.unregister(run.stream)
        run.stream.close()
        spark = self._runs.pop(run)
        if spark is not None:
            self._end(spark)
        if run.request is not None and not self._ending:
            self._until = time.monotonic() + self._idle_s
            self._prepare(run.request)

    def _prepare(self, request: SparkRequest) -> None:
        if self._spare is not None and self._spare.request == request:
            return
        self._drop_spare()
        try:
            spark = _Spark(request, self._start(request))
        except OSError:
            # Its directory or interpreter is gone.
            return
        self._spare = spark
        output = spark.holder.stdout
        assert output is not None
        self._selector.register(output, selectors.EVENT_READ, lambda: self._ready(spark))

    def _ready(self, spark: _Spark) -> None:
        output = cast("IO[bytes]", spark.holder.stdout)
        line = output.readline()
        if line:
            spark.place = json.loads(line)
            if spark.run is not None:
                spark.run.answer(spark.place)
            return
        # The holder has ended by itself: it could not start, or was killed.
        if spark.run is not None and spark.place is None:
            spark.run.answer({"no": "it did not start"})
        if spark.run is not None and spark.run in self._runs:
            self._runs[spark.run] = None
        if self._spare is spark:
            self._spare = None
        self._end(spark)

    def _drop_spare(self) -> None:
        if self._spare is not None:
            spark, self._spare = self._spare, None
            self._end(spark)

    def _end(self, spark: _Spark) -> None:
        output, told = spark.holder.stdout, spark.holder.stdin
        assert output is not None
        assert told is not None
        if not output.closed:
            self._selector.unregister(output)
            output.close()
        with contextlib.suppress(BrokenPipeError):
            told.close()
        self._leaving.append((spark.holder, time.monotonic() + _END_S))

    def _reap(self) -> None:
        """Take note of holders that have ended, and end those that do not."""
        for holder, until in self._leaving:
            if time.monotonic() >= until:
                holder.kill()
        self._leaving = [one for one in self._leaving if one[0].poll() is None]


def main() -> None:
    """Keep a spare for whoever has started this process: what it wants is on standard input."""
    idle_s = float(sys.argv[1])
    directory = run_directory()
    with (directory / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        scratch = ScratchDirectory("idle", sockets=True)
        address = directory / ADDRESS
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                path = scratch.path / "socket"
                listener.bind(str(path))
                path.chmod(0o600)
                listener.listen()
                _write(address, {"pid": os.getpid(), "socket": str(path)})
                keeper = Keeper(listener, idle_s)
                keeper.add_run(sys.stdin.buffer, lambda told: None)
                keeper.serve()
        finally:
            address.unlink(missing_ok=True)
            scratch.remove()


def _write(path: Path, content: dict[str, Any]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


if __name__ == "__main__":
    main()
