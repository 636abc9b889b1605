"""A part of what Spark reads for a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.spark.feeds import Feed

__all__ = ["FedSplit"]


class FedSplit:
    """Some part of what a feed can read. Only its name gets to the slots."""

    def __init__(self, split_id: str, feed: Feed | None = None, part: Any = None) -> None:
        self.split_id = split_id
        self.feed = feed
        self.part = part

    def __reduce__(self) -> tuple[Any, ...]:
        return FedSplit, (self.split_id,)

    def __repr__(self) -> str:
        return f"FedSplit({self.split_id!r})"
