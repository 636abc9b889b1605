"""Has Spark pass every frame at once, however small."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext, SparkFiles

from headrace.spark.jvm import spark_of

FRAME_BY_FRAME = {
    # Spark's workers are sent what fills this many bytes: fewer than the smallest frame has.
    "spark.buffer.size": "8",
    # So is the other side of the shuffle; in Java's serialization a frame is longer.
    "spark.shuffle.streaming.networkBufferSize": "64",
    # Nothing is left to wait. Looking for it every millisecond would take its toll.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "100",
}
"""Settings that let every frame pass at once."""

_WAIT_S = 600.0
_LOOK_S = 0.05


class FrameByFrame:
    """Those settings in a JVM that is driver and executor, while the tasks of a live job start.

    Tasks look them up when they start, and others do better with buffers. Several jobs, of several
    programs, may share the JVM: one at a time has the settings.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._changing = threading.Lock()
        self._before: dict[str, str | None] = {}
        self._held: int | None = None
        self._owner: object = None

    def begin(self, owner: object, wanted: Callable[[], bool]) -> bool:
        """Set them, after the jobs that start now, if it is still wanted then; whether they are.

        Until their owner ends that, or another one begins.
        """
        self.end(self._owner)
        held = _hold(SparkFiles.getRootDirectory(), wanted)
        if held is None:
            return False
        with self._changing:
            self._held, self._owner = held, owner
            try:
                self._set()
            except BaseException:
                self._set_back()
                raise
        return True

    def end(self, owner: object) -> None:
        """Set them back, if this one has set them. Any thread may call this."""
        with self._changing:
            if owner == self._owner:
                self._set_back()

    def _set(self) -> None:
        conf = self._conf()
        for key, value in FRAME_BY_FRAME.items():
            found = conf.get(key) if conf.contains(key) else None
            # One that has them already was killed before it set them back.
            self._before[key] = found if found != value else None
            conf.set(key, value)

    def _set_back(self) -> None:
        try:
            conf = self._conf()
            while self._before:
                key, value = self._before.popitem()
                if value is not None:
                    conf.set(key, value)
                elif conf.contains(key):
                    conf.remove(key)
        finally:
            # Whatever became of Spark, others need not wait.
            if self._held is not None:
                # Not by closing alone: a process that was forked meanwhile has the file open, too.
                fcntl.flock(self._held, fcntl.LOCK_UN)
                os.close(self._held)
                self._held = None

    def _conf(self) -> Any:
        return spark_of(self._context).conf()


def _hold(directory: str, wanted: Callable[[], bool]) -> int | None:
    """Lock a directory that this JVM's programs alone use; the end of a process unlocks it too.

    None if it takes too long, or is not wanted any more.
    """
    held = os.open(directory, os.O_RDONLY)
    deadline = time.monotonic() + _WAIT_S
    while wanted() and time.monotonic() < deadline:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return held
        except BlockingIOError:
            time.sleep(_LOOK_S)
    os.close(held)
    return None
