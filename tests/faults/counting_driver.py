"""The counting program with its driver in a process that may be killed.

`python -m tests.faults.counting_driver DIRECTORY`: goes on from the newest checkpoint of the run
before it, if there was one, and prints `running` and, at the end, `finished`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.faults.counting_job import CountingJob

KEEP = {
    "execution.checkpointing.num-retained": "2",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
}


def newest_run(checkpoints: Path) -> Path | None:
    """The directory of the job that completed a checkpoint last."""
    found = [m for m in checkpoints.glob("*/chk-*/_metadata")]
    newest = max(found, key=lambda m: m.stat().st_mtime_ns, default=None)
    return newest.parent.parent if newest is not None else None


def main() -> None:
    directory = Path(sys.argv[1])
    before = newest_run(directory / "checkpoints")
    restore = {} if before is None else {"execution.state-recovery.path": str(before)}
    with CountingJob(directory, KEEP | restore, keep_end=True) as job:
        job.wait_for_rows(1)
        print("running", *job.slots(), flush=True)
        job.master.result_future().result()
        print("finished", flush=True)


if __name__ == "__main__":
    main()
