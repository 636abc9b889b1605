"""When and how small part files are put together into larger ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from headrace.common.errors import FunctionTypeError, GraphError

__all__ = ["FileCompactStrategy", "FileCompactor"]


@dataclass(frozen=True)
class FileCompactStrategy:
    """When part files are put together."""

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """A builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._size_threshold = -1
            self._num_checkpoints = -1
            self._num_threads = 1

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Put files together when they have so many bytes."""
            self._size_threshold = size_threshold
            return self

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Put files together after so many checkpoints."""
            if num_checkpoints_before_compaction <= 0:
                raise GraphError(
                    "Number of checkpoints before compaction should be more than 0, not "
                    f"{num_checkpoints_before_compaction}"
                )
            self._num_checkpoints = num_checkpoints_before_compaction
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Use so many threads in each subtask."""
            if num_compact_threads <= 0:
                raise GraphError(f"Compact threads should be more than 0: {num_compact_threads}")
            self._num_threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """The strategy; it needs a size or a number of checkpoints."""
            if self._size_threshold < 0 and self._num_checkpoints < 0:
                raise GraphError(
                    "At least one trigger condition must be configured: set_size_threshold() or "
                    "enable_compaction_on_checkpoint(), otherwise files are never merged"
                )
            return FileCompactStrategy(
                self._size_threshold, self._num_checkpoints, self._num_threads
            )


@dataclass(frozen=True)
class FileCompactor:
    """How part files are put together."""

    kind: str
    file_delimiter: bytes | None = None
    merge: Callable[[Sequence[str], BinaryIO], None] | None = None

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One after the other, with a delimiter in between."""
        if file_delimiter is not None and not isinstance(file_delimiter, bytes | bytearray):
            raise FunctionTypeError(f"file_delimiter must be bytes, not {file_delimiter!r}")
        return FileCompactor("concat", None if file_delimiter is None else bytes(file_delimiter))

    def write(self, files: Sequence[str], target: BinaryIO) -> None:
        """Write what files have into one."""
        if self.merge is not None:
            self.merge(files, target)
            return
        for number, file in enumerate(files):
            if number and self.file_delimiter:
                target.write(self.file_delimiter)
            with open(file, "rb") as part:
                shutil.copyfileobj(part, target, 1024 * 1024)

    @staticmethod
    def record_wise_file_compactor(
        merge: Callable[[Sequence[str], BinaryIO], None],
    ) -> FileCompactor:
        """By a function that reads files and writes their records into one. Picklable."""
        return FileCompactor("records", merge=merge)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Not at all: files stay as they are, and only wait for each other."""
        return FileCompactor("identical")
