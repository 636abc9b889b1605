"""What reads a piece of a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.datastream.connectors.file_system.enumeration import FileSplit

__all__ = ["SetAside", "SplitRecords"]

SetAside: TypeAlias = Callable[[Any, BaseException], bool]
"""Takes what cannot be read and its error; False if the program does not want that: fail then."""


def _keep_nothing(record: Any, error: BaseException) -> bool:
    return False


class SplitRecords(ABC):
    """The records of one split, some thousands at a time, and the position after those taken.

    Attributes:
        set_aside: For `on_error`: called in `take` with what cannot be read. The source puts it
            there before the first `take`.
    """

    set_aside: SetAside = staticmethod(_keep_nothing)

    @abstractmethod
    def take(self, max_records: int) -> list[Any]:
        """The next records. None may be there although it is not the end."""

    @abstractmethod
    def snapshot(self) -> FileSplit:
        """The split, with the position after the records that were taken."""

    @property
    @abstractmethod
    def at_end(self) -> bool:
        """Whether all records were taken."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""
