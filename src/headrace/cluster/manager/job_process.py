"""The process of one job in a cluster: runs a program as `headrace run` does.

The JobManager holds the other end of its standard input. When that closes, the JobManager is gone,
and with it Spark: the process ends at once and leaves its checkpoints as they are.
"""

from __future__ import annotations

import os
import sys
import threading

from headrace.cluster.cli import main as headrace
from headrace.cluster.manager.told_process import what_was_told


def main() -> int:
    """Entry point; what it is told are the arguments of `headrace`."""
    arguments: list[str] = what_was_told()
    life_line = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_end_with, args=(life_line,), daemon=True).start()
    return headrace(arguments)


def _end_with(life_line: int) -> None:
    while os.read(life_line, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
