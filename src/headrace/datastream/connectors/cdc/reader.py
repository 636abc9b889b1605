"""Reads the chunks of tables, and then the changes since."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader
from headrace.datastream.connectors.cdc.changes import (
    CapturedTable,
    Change,
    Chunk,
    Deserializer,
    Mark,
    Progress,
    SnapshotMarks,
)
from headrace.datastream.connectors.cdc.log_feed import ChangeLog, LogFeed

__all__ = ["CapturedDatabase", "ChangeReader"]


class CapturedDatabase(ABC):
    """What differs between the databases whose changes are read; all have one connection."""

    def __init__(self) -> None:
        self._connection: Any = None

    @abstractmethod
    def _new_connection(self) -> Any:
        """Connect with the server."""

    def _connect(self) -> Any:
        if self._connection is None:
            self._connection = self._new_connection()
        return self._connection

    def close(self) -> None:
        """Called once, also after a failure."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(self) -> Progress:
        """See to it that the log can be read, and find the tables and their chunks."""
        try:
            return self._begin()
        finally:
            self.close()

    @abstractmethod
    def _begin(self) -> Progress:
        """The same, with a connection that is closed afterwards."""

    @abstractmethod
    def _bounds(self, table: CapturedTable) -> list[Any]:
        """Keys at which a table is cut into chunks."""

    def _chunks(self, tables: Sequence[CapturedTable]) -> tuple[Chunk, ...]:
        return tuple(c for table in tables for c in Chunk.of_bounds(table, self._bounds(table)))

    @abstractmethod
    def probe(self) -> list[CapturedTable]:
        """The tables, if the log of the server can be read; changes nothing."""

    def cancel(self) -> None:  # noqa: B027
        """End `begin`, which another thread has called: nobody waits for it any more."""

    @abstractmethod
    def read_chunk(self, chunk: Chunk) -> tuple[list[tuple[Any, ...]], Mark]:
        """The rows of a chunk, and what the transaction that read them saw."""

    @abstractmethod
    def log(self, progress: Progress) -> ChangeLog:
        """The log, for the tables that are read."""


class ChangeReader(SourceReader):
    """Hands out the rows of one chunk after the other, and then the log.

    The rows of a chunk are in memory, and those that were not handed out at a checkpoint are part
    of it: the chunk would be another one if it were read again.
    """

    def __init__(
        self,
        database: CapturedDatabase,
        deserialize: Deserializer,
        context: ReaderContext,
        snapshot_only: bool,
    ) -> None:
        self._database = database
        self._deserialize = deserialize
        self._context = context
        self._snapshot_only = snapshot_only
        self._feed: LogFeed | None = None
        self._checkpoints: dict[int, Any] = {}
        self._finished: list[str] = []
        self._at = 0  # in `left` of the progress
        self._progress: Progress | None = None
        self._marks = SnapshotMarks(())

    def add_splits(self, splits: Sequence[Any]) -> None:
        [self._progress] = splits

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._progress is not None:
            if self._at < len(self._progress.left):
                return self._of_chunk(self._progress, max_records)
            if self._progress.chunks:
                self._read_chunk(self._progress)
            elif self._snapshot_only:
                self._finished.append(self._progress.split_id)
                self._progress = None
            else:
                batch = self._of_log(self._progress, max_records)
                # Changes that were read with a chunk, and positions alone, are nothing to hand out.
                if batch is None or batch.values:
                    return batch
        return None

    def _batch(self, changes: Sequence[Change]) -> ReadBatch:
        of_many = getattr(self._deserialize, "of_many", None)
        if of_many is not None:
            return ReadBatch(Progress.split_id, of_many(changes))
        values = [record for change in changes for record in self._deserialize(change)]
        return ReadBatch(Progress.split_id, values)

    # Chunks.

    def _read_chunk(self, progress: Progress) -> None:
        chunk = progress.chunks[0]
        rows, mark = self._database.read_chunk(chunk)
        self._progress = replace(
            progress,
            chunks=progress.chunks[1:],
            left=tuple([Change("r", chunk.table, None, row) for row in rows]),
            marks=(*progress.marks, (chunk, mark)),
        )
        self._at = 0

    def _of_chunk(self, progress: Progress, max_records: int) -> ReadBatch:
        changes = progress.left[self._at : self._at + max_records]
        self._at += len(changes)
        return self._batch(changes)

    # The log.

    def _of_log(self, progress: Progress, max_records: int) -> ReadBatch | None:
        if self._feed is None:
            self._database.close()
            self._marks = SnapshotMarks(progress.marks)
            log = self._database.log(progress)
            self._feed = LogFeed(log, progress.position, self._context.data_available)
        entries = self._feed.take(max_records)
        if not entries:
            return None
        position = entries[-1][1]
        changes = [change for change, _ in entries if change is not None]
        marks = progress.marks
        if marks:
            reduced = map(self._marks.reduced, changes)
            changes = [change for change in reduced if change is not None]
            if all(mark.is_before(position) for _, mark in marks):
                marks = ()
        self._progress = replace(progress, left=(), marks=marks, position=position)
        self._at = 0
        return self._batch(changes)

    # Checkpoints.

    def on_checkpoint(self, checkpoint: int) -> None:
        if self._progress is not None:
            self._checkpoints[checkpoint] = self._progress.position

    def snapshot(self) -> list[Any]:
        if self._progress is None:
            return []
        return [replace(self._progress, left=self._progress.left[self._at :])]

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        due = sorted(c for c in self._checkpoints if c <= checkpoint)
        positions = [self._checkpoints.pop(c) for c in due]
        if positions and self._feed is not None:
            self._feed.confirm(positions[-1])

    def finished_splits(self) -> Iterable[str]:
        finished, self._finished = self._finished, []
        return finished

    @property
    def exhausted(self) -> bool:
        return self._progress is None

    def close(self) -> None:
        if self._feed is not None:
            self._feed.close()
        self._database.close()
