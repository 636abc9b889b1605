"""Live backlogs, one after the other, with a checkpoint every second and without, in JSON.

    python -m benchmarks.jobs.checkpoint_cost SECONDS ROUNDS

All of them run on one Spark. The rates of two programs differ by more than what is measured here.
"""

from __future__ import annotations

import json
import sys

from benchmarks.jobs.latency import measure
from benchmarks.measure import alternate

_INTERVAL_MS = 1000


def _rate(seconds: float, checkpoint_ms: int | None) -> float:
    return float(measure("live", 0, seconds, checkpoint_ms)["records_per_s"])


def main(seconds: float, rounds: int) -> None:
    """Take turns."""
    checkpointed, bare = alternate(
        lambda: _rate(seconds, _INTERVAL_MS), lambda: _rate(seconds, None), rounds
    )
    print(json.dumps({"checkpointed": checkpointed, "bare": bare}))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
