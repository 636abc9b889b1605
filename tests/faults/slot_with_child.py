"""A process that takes a snapshot in a forked child, whose value takes its time to be pickled.

`python -m tests.faults.slot_with_child DIRECTORY` prints the process id of the child when it is at
work, and waits to be killed. The child goes on when the file `go` is there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from headrace.graph.ids import CheckpointId, SlotId
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.snapshots.slots import SlotSnapshots
from tests.faults.laden import laden
from tests.property.subtask_fleet import Fleet, obeying


class Slow:
    """A value that is pickled when a file is there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __getstate__(self) -> dict[str, Any]:
        (self.directory / "child").write_text(str(os.getpid()))
        while not (self.directory / "go").exists():
            time.sleep(0.01)
        return self.__dict__


def main(directory: Path) -> None:
    fleet = Fleet("hashmap", 1, lambda keyed: laden(obeying(keyed)))
    fleet.open()
    fleet.process((1, "put", Slow(directory)))
    snapshots = SlotSnapshots(SlotId(0), lambda part: None)
    snapshots.take(fleet.subtasks[0], CheckpointRequest(CheckpointId(1), str(directory / "chk-1")))
    print("taken", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
