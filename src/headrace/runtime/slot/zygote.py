"""A process that is ready to become a slot.

Importing the runtime takes longer than anything else in the start of a slot, so the driver of a
local job starts one process early that has imported it and then copies itself for each slot. It
reads one launch per line from the socket that is its standard input, answers with the process id
of the slot, and ends with its driver. What the slots of a job import besides is imported here
first, once for all slots of this and of later jobs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import sys
import types
from collections.abc import Iterable, Iterator

from headrace.runtime.slot import process as slot
from headrace.runtime.slot.protocol import SlotLaunch

_LOOK_AT_DRIVER_MS = 1000
_CONNECTION = 0


def main() -> None:
    """Entry point of the process: fork until the driver is gone."""
    # The kernel forgets ended slots at once; nobody asks how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _share()
    for line in _lines():
        launch = SlotLaunch.from_json(line)
        _import(launch.modules)
        child = os.fork()
        if child == 0:
            _become_slot(launch)
        os.write(_CONNECTION, b"%d\n" % child)


def _share() -> None:
    """What is there now all slots have: the collector need not touch, and so copy, it."""
    gc.collect()
    gc.freeze()


def _import(modules: Iterable[str]) -> None:
    missing = [module for module in modules if module not in sys.modules]
    for module in missing:
        # The slot says it, if it really needs a module that is not there.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    if missing:
        _share()


def _lines() -> Iterator[str]:
    """Launches as they come. A fork of the driver may keep the socket open without it."""
    driver = os.getppid()
    poll = select.poll()
    poll.register(_CONNECTION, select.POLLIN)
    buffer = b""
    while os.getppid() == driver:
        if not poll.poll(_LOOK_AT_DRIVER_MS):
            continue
        data = os.read(_CONNECTION, 1 << 16)
        if not data:
            return
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            yield line.decode()


def _become_slot(launch: SlotLaunch) -> None:
    """Leave nothing of the zygote in the copy but the modules."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        log = os.open(launch.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, _CONNECTION), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.closerange(3, max(log, nothing) + 1)
        sys.modules["__main__"] = types.ModuleType("__main__")
        slot.run(launch)
    except BaseException:  # noqa: BLE001 - the top of a process
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(1)
