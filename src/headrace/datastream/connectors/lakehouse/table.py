"""What a table of a lakehouse is, for its sink and its source."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError, HeadraceError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

__all__ = [
    "AsOf",
    "Batch",
    "Changes",
    "ColumnBound",
    "LakeFile",
    "LakeTable",
    "NewFiles",
    "changed",
    "gone",
    "missing",
    "require",
]


@dataclass(frozen=True)
class AsOf:
    """An earlier state of a table: one of its versions, or that of a moment.

    Attributes:
        version: The number of a version of Delta, or of a snapshot of Iceberg.
        timestamp_ms: A moment, in milliseconds since 1970; the last version before it counts.
    """

    version: int | None = None
    timestamp_ms: int | None = None

    def __post_init__(self) -> None:
        if (self.version is None) == (self.timestamp_ms is None):
            raise GraphError("AsOf takes either version or timestamp_ms")

    def __str__(self) -> str:
        if self.version is not None:
            return f"version {self.version}"
        moment = datetime.fromtimestamp((self.timestamp_ms or 0) / 1000, UTC)
        return f"the version of {moment.isoformat(' ', 'milliseconds')}"


@dataclass(frozen=True)
class Batch:
    """The name under which rows are committed: a second commit of the same name does nothing.

    Attributes:
        writer: Of which job, and which of its sinks.
        number: Of its checkpoint; those of one writer only rise.
    """

    writer: str
    number: int


@dataclass(frozen=True)
class Changes:
    """The last change of each key in a batch.

    Attributes:
        keys: Names of the key's columns.
        rows: Rows to be inserted, or put in the place of those with the same key.
        gone: Keys whose rows are to be deleted.
    """

    keys: tuple[str, ...]
    rows: pa.Table
    gone: pa.Table


@dataclass(frozen=True)
class LakeFile:
    """A data file of a table.

    Attributes:
        name: Its path, for messages.
        task: What the library needs to read it. Picklable.
        size: How many bytes it has, if the table knows.
    """

    name: str
    task: Any
    size: int | None = None


@dataclass(frozen=True)
class ColumnBound:
    """What is true of a column in all rows that somebody needs.

    Attributes:
        column: Its name.
        sign: One of `=`, `<`, `<=`, `>`, `>=`, `IN`, `IS NULL` and `IS NOT NULL`.
        values: What it is compared with; times are those of UTC, without a zone.
    """

    column: str
    sign: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class NewFiles:
    """What was added to a table up to a version."""

    version: int
    files: list[LakeFile]


class LakeTable(ABC):
    """A table, by its place. Picklable; it is opened anew for each use.

    A version is a number that the table gives to each of its states.

    Attributes:
        at: The state that is read instead of today's.
    """

    at: AsOf | None

    @property
    @abstractmethod
    def name(self) -> str:
        """For messages."""

    @property
    @abstractmethod
    def directory(self) -> str | None:
        """The table's directory on this machine, if it is there."""

    @abstractmethod
    def columns(self) -> pa.Schema | None:
        """Its columns; None if there is no such table."""

    @abstractmethod
    def create(self, columns: pa.Schema, partition_by: Sequence[str]) -> None:
        """Create it, unless it is there."""

    @abstractmethod
    def append(self, batch: Batch, rows: ds.Dataset) -> None:
        """Add rows, unless this batch was committed before."""

    @abstractmethod
    def change(self, batch: Batch, changes: Changes) -> None:
        """Insert, replace and delete rows by key, unless this batch was committed before."""

    @abstractmethod
    def compact(self) -> None:
        """Put small files together; the rows stay the same."""

    @abstractmethod
    def files(self, where: Sequence[ColumnBound] = ()) -> NewFiles:
        """The files of the table as it is, but for those without a row within the bounds."""

    @abstractmethod
    def files_since(self, version: int, skip_changes: bool) -> NewFiles:
        """The files that were added after a version.

        Raises:
            HeadraceError: Rows were deleted or replaced since, and `skip_changes` is false.
        """

    @abstractmethod
    def read(self, file: LakeFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a file."""


def require(module: str, extra: str) -> Any:
    """An optional library; called while a program is built, too.

    Raises:
        GraphError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise GraphError(
            f"the package for tables of {extra} is missing ({error}): install it with "
            f"pip install 'headrace[{extra}]'"
        ) from error


def changed(name: str, what: str, skipping: str) -> HeadraceError:
    """The error of a table in which rows changed while it was read as a stream of new ones."""
    return HeadraceError(
        f"table {name} is read as a stream of appended rows, but {what}; read it in batch mode, "
        f"or skip such changes with {skipping}"
    )


def gone(name: str, what: str, why: str) -> HeadraceError:
    """The error of a table that no longer has what is still to be read."""
    return HeadraceError(
        f"table {name} does not have {what} any more, which is still to be read: {why}. Keep what "
        "is old for longer than a read takes and a job may be down; now start the job without its "
        "state, to read the table anew, or with 'scan.startup.mode' = 'latest', to read what is "
        "added from now on"
    )


def missing(name: str, at: AsOf, there: str) -> GraphError:
    """The error of a state that a table does not have."""
    return GraphError(f"table {name} does not have {at}; {there}")
