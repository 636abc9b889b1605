"""Whether a job runs as an endless stream or as a batch over bounded input."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a program is executed; set with `StreamExecutionEnvironment.set_runtime_mode`."""

    #: Results are updated as records arrive; checkpoints and processing time work as usual.
    STREAMING = 0
    #: All sources must be bounded. Only final results are emitted; event-time timers fire at the
    #: end of the input.
    BATCH = 1
    #: Batch when every source is bounded, else streaming.
    AUTOMATIC = 2
