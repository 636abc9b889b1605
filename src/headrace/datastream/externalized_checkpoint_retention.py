"""What becomes of the last checkpoint when a job ends."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints stay in checkpoint storage after the job is cancelled.

    A failed job keeps its last checkpoint under both of the first two settings.
    """

    #: Checkpoints go away when the job is cancelled, and stay when it fails.
    DELETE_ON_CANCELLATION = 0
    #: Checkpoints stay when the job is cancelled; somebody has to delete them by hand.
    RETAIN_ON_CANCELLATION = 1
    #: Checkpoints never outlive the job.
    NO_EXTERNALIZED_CHECKPOINTS = 2


ExternalizedCheckpointCleanup = ExternalizedCheckpointRetention
"""The name that it has in PyFlink 1.x."""
