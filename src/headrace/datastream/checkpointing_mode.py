"""The guarantee that checkpoints give."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record may affect state when a job recovers."""

    #: Each record affects state exactly once, also after a failure.
    EXACTLY_ONCE = 0
    #: After a failure a record may affect state more than once.
    AT_LEAST_ONCE = 1
