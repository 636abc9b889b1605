"""`InputFormat`: a bounded source that is cut into splits and read record by record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Reads bounded data.

    The job master asks for the splits once. For each split, one subtask then calls `open`,
    `next_record` until `reached_end`, and `close`. Splits and the format itself must be picklable.
    """

    @abstractmethod
    def create_input_splits(self, min_num_splits: int) -> Sequence[Any]:
        """Cuts the data into splits, at least `min_num_splits` of them where that is possible."""

    @abstractmethod
    def open(self, split: Any) -> None:
        """Starts to read a split."""

    @abstractmethod
    def reached_end(self) -> bool:
        """Whether the split has no more records."""

    @abstractmethod
    def next_record(self) -> Any:
        """The next record; None if there is none after all."""

    def close(self) -> None:  # noqa: B027 - most formats have nothing to close
        """Called when a split is done, also after an error."""
