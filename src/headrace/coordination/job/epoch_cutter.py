"""When an epoch is cut short because a checkpoint waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.coordination.checkpoint_coordinator import (
    CheckpointCoordinator,
    CheckpointSettings,
    SavepointOrder,
)
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport

_PATIENCE_MS = 50
"""What an epoch may take in any case: one that is not slow ends by itself, at no cost."""
_LONGER_MS = 1_000
"""The same where another checkpoint has to be complete first, which may take long."""


class EpochCutter:
    """Decides for unaligned checkpoints when an epoch ends, whatever is still on its way.

    An epoch is cut when the next checkpoint is due, or when its own has waited for too long. The
    checkpoint then rides on an epoch that processes nothing at all, so it has not to wait for
    anything; what is on its way is in it.

    Args:
        settings: Whether checkpoints are unaligned.
        checkpoints: Knows when the next one is expected.
    """

    def __init__(self, settings: CheckpointSettings, checkpoints: CheckpointCoordinator) -> None:
        self._settings = settings
        self._checkpoints = checkpoints
        self._carries = False
        self._processed_nothing = False

    def cut_after_ms(
        self, request: CheckpointRequest | None, order: SavepointOrder | None
    ) -> int | None:
        """After what time the next epoch is cut; None if it is not.

        Args:
            request: The checkpoint that rides on it.
            order: The order of a user for that.
        """
        settings = self._settings
        if not settings.unaligned or (order is not None and order.aligned):
            return None
        if request is not None:
            # Never twice in a row: a job gets on however often checkpoints are due.
            if self._carries and not self._processed_nothing:
                return 0
            return max(settings.aligned_timeout_ms, _PATIENCE_MS)
        left_ms, must_wait = self._checkpoints.expected_in_ms()
        if left_ms is None:
            return None
        least_ms = _LONGER_MS if must_wait else _PATIENCE_MS
        return max(left_ms + settings.aligned_timeout_ms, least_ms)

    def observe(self, plan: EpochPlan, reports: Sequence[EpochReport]) -> None:
        """Learn what an epoch has left for the next one."""
        self._carries = any(r.carries for r in reports)
        self._processed_nothing = plan.cut_after_ms == 0
