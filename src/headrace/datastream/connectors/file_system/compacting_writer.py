"""Puts part files together before anybody sees them.

Files that are complete wait, hidden, until there are enough of them in their bucket. Then they are
put together into one, which is committed in their place.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import SinkWriter, WriterContext
from headrace.datastream.connectors.file_system.compaction import (
    FileCompactor,
    FileCompactStrategy,
)
from headrace.datastream.connectors.file_system.file_writer import (
    FileWriter,
    FileWriterSettings,
)
from headrace.datastream.connectors.file_system.part_file import PendingFile, remedy

if TYPE_CHECKING:
    from headrace.runtime.storage import Storages

__all__ = ["CompactedFile", "CompactingWriter", "InnerContext", "waits_for_compaction"]

_HIDDEN = ".compacted-"
_PREFIX = "compacted-"


@dataclass(frozen=True)
class CompactedFile:
    """A file that is made of others, which go when it is finished."""

    file: PendingFile
    parts: tuple[PendingFile, ...]

    def finish(self, storages: Storages | None = None) -> None:
        """Give the file its final name, and delete its parts."""
        self.file.finish(storages)
        for part in self.parts:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part.hidden_path)


@dataclass(frozen=True)
class _Waiting:
    """Files that wait, by directory, and for how many checkpoints."""

    files: dict[str, tuple[PendingFile, ...]]
    checkpoints: int


def waits_for_compaction(state: Sequence[Any]) -> bool:
    """Whether a restored state has files that still wait."""
    return any(isinstance(piece, _Waiting) and piece.files for piece in state)


class InnerContext:
    """The context of a writer inside of another one: without the state of the outer one."""

    def __init__(self, context: WriterContext, outer: type) -> None:
        self._context = context
        self.restored_state = [s for s in context.restored_state if not isinstance(s, outer)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class CompactingWriter(SinkWriter):
    """A file writer whose complete files are put together."""

    def __init__(
        self,
        settings: FileWriterSettings,
        strategy: FileCompactStrategy,
        compactor: FileCompactor,
        context: WriterContext,
    ) -> None:
        self._base_path = settings.base_path
        self._strategy = strategy
        self._compactor = compactor
        self._writer = FileWriter(settings, InnerContext(context, _Waiting))
        self._context = context
        self._files: dict[str, list[PendingFile]] = {}
        self._checkpoints = 0
        self._complete: set[str] = set()

    def open(self) -> None:
        for state in self._context.restored_state:
            if isinstance(state, _Waiting):
                self._checkpoints = max(self._checkpoints, state.checkpoints)
                for directory, files in state.files.items():
                    self._files.setdefault(directory, []).extend(files)
        self._writer.open()
        self._delete_leftovers()

    def _delete_leftovers(self) -> None:
        """A file whose first part is gone was never part of a checkpoint."""
        for directory, _, names in os.walk(self._base_path):
            for name in names:
                part = os.path.join(directory, f".{name.removeprefix(_HIDDEN)}")
                if name.startswith(_HIDDEN) and not os.path.exists(part):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(directory, name))

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._writer.write(values, timestamps)

    def flush(self, end_of_input: bool) -> None:
        self._writer.flush(end_of_input)

    def flush_at(self, now_ms: int) -> int | None:
        return self._writer.flush_at(now_ms)

    def finish_bucket(self, bucket: str) -> None:
        """Finish the files of a bucket with the next commit, however small they are."""
        self._writer.finish_bucket(bucket)
        self._complete.add(self._writer.directory_of(bucket))

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        for file in self._writer.prepare_commit(checkpoint, end_of_input):
            self._files.setdefault(os.path.dirname(file.final_path), []).append(file)
        self._checkpoints += 1
        wanted = self._strategy.num_checkpoints_before_compaction
        everything = end_of_input or 0 < wanted <= self._checkpoints
        if everything:
            self._checkpoints = 0
        ready: list[Any] = []
        for directory in list(self._files):
            enough = everything or directory in self._complete
            if enough or self._large_enough(self._files[directory]):
                ready += self._put_together(self._files.pop(directory))
        self._complete.clear()
        return ready

    def _large_enough(self, files: list[PendingFile]) -> bool:
        threshold = self._strategy.size_threshold
        return 0 <= threshold <= sum(os.path.getsize(file.hidden_path) for file in files)

    def _put_together(self, files: list[PendingFile]) -> list[Any]:
        if self._compactor.kind == "identical":
            return list(files)
        directory, name = os.path.split(files[0].final_path)
        # Named after its first part, so that a second attempt takes the place of the first.
        hidden = os.path.join(directory, _HIDDEN + os.path.basename(files[0].hidden_path)[1:])
        final = os.path.join(directory, _PREFIX + name)
        try:
            with open(hidden, "wb") as target:
                self._compactor.write([file.hidden_path for file in files], target)
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            raise HeadraceError(
                f"the file sink cannot write {final}: {error}; {remedy(error)}"
            ) from error
        return [CompactedFile(PendingFile(hidden, final), tuple(files))]

    def snapshot(self) -> list[Any]:
        files = {directory: tuple(waiting) for directory, waiting in self._files.items()}
        return [*self._writer.snapshot(), _Waiting(files, self._checkpoints)]

    def close(self) -> None:
        self._writer.close()
