"""The driver's end of the zygote, the process that local slots are copied from."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

from headrace.common.errors import ConfigurationError, HeadraceError
from headrace.runtime.slot.protocol import SlotLaunch

_ENTRY = "from headrace.runtime.slot.zygote import main; main()"
_ANSWER_S = 60.0
_END_S = 5.0


class SlotZygote:
    """A zygote of this process; it ends when this process does, however that happens."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_ANSWER_S)
        # The interpreter that Spark's workers use, and the hash seed that Spark gives them.
        python = os.environ.get("PYSPARK_PYTHON") or sys.executable
        _require_same_version(python)
        with theirs:
            self._process = subprocess.Popen(
                [python, "-c", _ENTRY],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        self._answers = self._socket.makefile("r")

    @property
    def pid(self) -> int:
        """The process that slots are copied from."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked for slots, by this process."""
        return self.owner == os.getpid() and self._process.poll() is None

    def fork(self, launch: SlotLaunch) -> int:
        """Start a slot; its process id."""
        with self._lock:
            try:
                self._socket.sendall(launch.to_json().encode() + b"\n")
                answer = self._answers.readline()
            except OSError as error:
                raise HeadraceError(f"the process that starts slots is gone: {error}") from error
        if not answer:
            raise HeadraceError(
                "the process that starts slots is gone; see what it wrote to standard error"
            )
        return int(answer)

    def close(self) -> None:
        """Let it go."""
        with contextlib.suppress(OSError):
            self._answers.close()
            self._socket.close()
        if self.owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)


def _require_same_version(python: str) -> None:
    """Functions are passed on as bytecode, which another version of Python cannot read."""
    if python == sys.executable:
        return
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True)
    except OSError as error:
        raise ConfigurationError(
            f"PYSPARK_PYTHON or python.executable names the interpreter of the slots, {python}, "
            f"which cannot be started: {error.strerror}; name one with Python {ours}, or none"
        ) from error
    theirs = answer.stdout.strip()
    if theirs != ours:
        raise ConfigurationError(
            f"the slots would run with Python {theirs} ({python}, as PYSPARK_PYTHON or "
            f"python.executable says), and the program runs with Python {ours}: name an "
            f"interpreter with {ours}, or none"
        )


_lock = threading.Lock()
_zygote: SlotZygote | None = None


def slot_zygote() -> SlotZygote:
    """The zygote of this process, a new one if there is none that lives."""
    global _zygote
    with _lock:
        if _zygote is None or not _zygote.alive:
            if _zygote is not None:
                _zygote.close()
            else:
                atexit.register(_close)
            _zygote = SlotZygote()
        return _zygote


@contextlib.contextmanager
def zygote_for(launch: SlotLaunch) -> Iterator[SlotZygote]:
    """The zygote to copy a slot from: a fresh one if the job brings packages of its own.

    The one that is there may have imported others of the same names.
    """
    if not launch.first_python_path:
        yield slot_zygote()
        return
    own = SlotZygote()
    try:
        yield own
    finally:
        own.close()


def _close() -> None:
    if _zygote is not None:
        _zygote.close()
