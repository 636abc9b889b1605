"""A partition as a split: where to go on reading it, and where to stop."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KafkaSplit"]


@dataclass(frozen=True)
class KafkaSplit:
    """A partition with the offset of the next record.

    Attributes:
        topic: Its topic.
        partition: Its number.
        offset: Where to read from.
        stop: The offset before which to stop, or None.
        reset: Where to go on if the offset is not there: `earliest`, `latest`, or `none` to fail.
    """

    topic: str
    partition: int
    offset: int
    stop: int | None = None
    reset: str = "none"

    @property
    def split_id(self) -> str:
        """Topic and partition."""
        return f"{self.topic}-{self.partition}"
