"""How far a source subtask may read in an epoch, so that it does not run away from others."""

from __future__ import annotations

from headrace.runtime.batch import BATCH_SIZE

_SMALLEST = 100
_FAR = 4


class ReadLimit:
    """Sizes the batches of a source whose watermark must not pass a limit, if there is one.

    The limit is looked at between two batches, so they are small near it, and grow while a batch
    moves the watermark by little of the distance that is left.
    """

    def __init__(self, max_watermark: int | None) -> None:
        self.max_watermark = max_watermark
        self.batch_size = BATCH_SIZE if max_watermark is None else _SMALLEST

    @property
    def aligned(self) -> bool:
        """Whether there is a limit."""
        return self.max_watermark is not None

    def reached(self, watermark: int) -> bool:
        """Whether no more may be read for now."""
        return self.max_watermark is not None and watermark > self.max_watermark

    def moved(self, before: int, after: int) -> None:
        """Learn how far a batch moved the watermark."""
        if self.max_watermark is not None:
            far = self.max_watermark - after > _FAR * (after - before)
            self.batch_size = min(self.batch_size * 2, BATCH_SIZE) if far else _SMALLEST
