"""Spark's DataFrames, and files that Spark reads, as a source.

Spark reads them inside the epoch's own job, with Catalyst's speed and all of Spark's readers, and
the rows come to the first slot as Arrow batches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.time import Duration, to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.fed_split import FedSplit
from headrace.datastream.connectors.file_system.enumeration import files_under, local_path
from headrace.formats.arrow import row_type_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.spark.feeds import Feed

__all__ = ["ArrowReader", "FedSplit", "Partitions", "PartitionsEnumerator", "SparkSource"]

_EPOCH_MS = 5_000
_MOST_PARTS = 256


@dataclass(frozen=True)
class SparkSource(Source):
    """Reads a DataFrame, or files through one of Spark's readers. Make one with the methods below.

    What Spark can do with the rows it should do before: select, filter, join with a table. A
    DataFrame is read by its partitions; in a checkpoint are those that are done. A job that is
    started anew from a savepoint needs a DataFrame with the same partitions: the same query over
    the same files, or a table that did not change.

    Records are rows with the names of the columns. `records` may give another form: a function
    from a `pyarrow.RecordBatch` to a list of records.

    Example:
        >>> spark = env.get_spark_session()
        >>> orders = spark.read.parquet("/data/orders").where("amount > 0").select("id", "amount")
        >>> stream = env.from_data_frame(orders)
    """

    schema: bytes
    records: Callable[[pa.RecordBatch], list[Any]] | None = None
    type_info: TypeInformation | None = None
    paths: tuple[str, ...] | None = None
    interval_ms: int | None = None
    # What only the driver has; it does not travel.
    frame: Any = field(default=None, compare=False, repr=False)
    read: Any = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(
        data_frame: Any,
        records: Callable[[pa.RecordBatch], list[Any]] | None = None,
        type_info: TypeInformation | None = None,
    ) -> SparkSource:
        """Reads a DataFrame to its end.

        Args:
            data_frame: A DataFrame of classic Spark, not of Spark Connect.
            records: Makes records of a batch of columns; rows without it.
            type_info: The type of those records; that of the rows without it.
        """
        if not hasattr(data_frame, "_jdf"):
            raise FunctionTypeError(
                f"a DataFrame of classic Spark is needed, not {type(data_frame).__name__}"
            )
        from headrace.spark.feeds import arrow_schema_of

        schema = arrow_schema_of(data_frame)
        return SparkSource(schema, records, _type_of(schema, records, type_info), frame=data_frame)

    @staticmethod
    def of_files(
        read: Callable[[list[str]], Any],
        *paths: str,
        data_schema: Any = None,
        records: Callable[[pa.RecordBatch], list[Any]] | None = None,
        type_info: TypeInformation | None = None,
    ) -> SparkSource:
        """Reads files, each of them once; with `monitor_continuously` also those that come later.

        Args:
            read: Makes a DataFrame of some files, for example
                `lambda files: spark.read.schema(schema).json(files)`.
            *paths: Files, or directories that are searched for files.
            data_schema: The `StructType` of what `read` gives; needed if no file is there yet.
            records: Makes records of a batch of columns; rows without it.
            type_info: The type of those records; that of the rows without it.
        """
        if not callable(read):
            raise FunctionTypeError(f"read must be a function of a list of paths, not {read!r}")
        if not paths:
            raise GraphError("of_files needs at least one path")
        local = tuple(local_path(path) for path in paths)
        schema = _schema_of_files(read, local, data_schema)
        type_info = _type_of(schema, records, type_info)
        return SparkSource(schema, records, type_info, local, read=read)

    def monitor_continuously(self, discovery_interval: timedelta | Duration | int) -> SparkSource:
        """The same source of files, which looks for new ones again and again and does not end."""
        if self.paths is None:
            raise GraphError(
                "a DataFrame is bounded: monitor_continuously() is only for of_files()"
            )
        interval_ms = to_millis(discovery_interval)
        if interval_ms <= 0:
            raise GraphError(f"the discovery interval must be positive, not {discovery_interval!r}")
        return replace(self, interval_ms=interval_ms)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "frame": None, "read": None}

    @property
    def bounded(self) -> bool:
        return self.interval_ms is None

    @property
    def fed_by_spark(self) -> bool:
        return True

    @property
    def produced_type(self) -> TypeInformation | None:
        return self.type_info

    def probe(self) -> str:
        """Files are looked for; a DataFrame was analysed by Spark when the source was made."""
        if self.paths is None:
            import pyarrow as pa

            names = pa.ipc.read_schema(pa.py_buffer(self.schema)).names
            return f"a DataFrame of Spark with the columns {', '.join(names)}"
        count = sum(len(list(files_under(path))) for path in self.paths)
        return f"{count} files at {', '.join(self.paths)}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        from headrace.spark.feeds import DataFrameFeed, FilesFeed

        if self.paths is not None:
            feed = FilesFeed(self.read, self.schema)
            return _FilesEnumerator(feed, self.paths, parallelism, self.interval_ms)
        return PartitionsEnumerator(DataFrameFeed(self.frame), parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return ArrowReader(self.schema, self.records, f"spark-{context.subtask}")


def _type_of(
    schema: bytes, records: Any, type_info: TypeInformation | None
) -> TypeInformation | None:
    if type_info is not None or records is not None:
        return type_info
    import pyarrow as pa

    return row_type_of(pa.ipc.read_schema(pa.py_buffer(schema)))


def _schema_of_files(read: Any, paths: tuple[str, ...], data_schema: Any) -> bytes:
    from headrace.spark.feeds import arrow_schema_of, arrow_schema_of_type

    if data_schema is not None:
        return arrow_schema_of_type(data_schema)
    for path in paths:
        if os.path.exists(path):
            for file in files_under(path):
                return arrow_schema_of(read([file]))
    raise GraphError(
        f"no file in {', '.join(paths)} shows the columns yet; give data_schema=StructType(...)"
    )


class _Pace:
    """How many parts each subtask gets in an epoch: twice as many while epochs are short."""

    def __init__(self, first: int = 1) -> None:
        self._parts = first
        self._last_ms: int | None = None

    def parts(self, now_ms: int) -> int:
        if self._last_ms is not None:
            took_ms = now_ms - self._last_ms
            if took_ms < _EPOCH_MS // 2:
                self._parts = min(self._parts * 2, _MOST_PARTS)
            elif took_ms > _EPOCH_MS:
                self._parts = max(self._parts // 2, 1)
        self._last_ms = now_ms
        return self._parts

    def pause(self) -> None:
        """Nothing was there to read: the time until the next epoch says nothing."""
        self._last_ms = None


class Partitions(Protocol):
    """Something that is read in parts, such as a `DataFrameFeed`."""

    @property
    def partitions(self) -> int:
        """How many parts there are."""

    def split(self, number: int) -> Any:
        """One of them, for a reader or for Spark."""


class PartitionsEnumerator(SplitEnumerator):
    """Gives out the partitions of a DataFrame in order, some in every epoch."""

    def __init__(self, feed: Partitions, parallelism: int, first_parts: int = 1) -> None:
        self._feed = feed
        self._parallelism = parallelism
        self._pace = _Pace(first_parts)
        self._next = 0
        self._count: int | None = None

    @property
    def _partitions(self) -> int:
        if self._count is None:
            self._count = self._feed.partitions
        return self._count

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        end = min(self._next + self._pace.parts(now_ms) * self._parallelism, self._partitions)
        for number in range(self._next, end):
            subtask = (number - self._next) % self._parallelism
            found.setdefault(subtask, []).append(self._feed.split(number))
        self._next = end
        return found

    @property
    def finished(self) -> bool:
        return self._next >= self._partitions

    def next_discovery(self, now_ms: int) -> int | None:
        return None if self.finished else now_ms

    def snapshot(self) -> Any:
        return {"next": self._next, "partitions": self._partitions}

    def restore(self, snapshot: Any) -> None:
        self._count = None
        if snapshot["partitions"] != self._partitions:
            raise HeadraceError(
                f"the DataFrame has {self._partitions} partitions, but it had "
                f"{snapshot['partitions']} when the checkpoint was taken, so it is unknown which "
                "parts were read; use a DataFrame of the same data with the same settings"
            )
        self._next = snapshot["next"]


class _FilesEnumerator(SplitEnumerator):
    """Finds files and gives them out in order, some in every epoch."""

    def __init__(
        self, feed: Feed, paths: Sequence[str], parallelism: int, interval_ms: int | None
    ) -> None:
        self._feed = feed
        self._paths = paths
        self._parallelism = parallelism
        self._interval_ms = interval_ms
        self._pace = _Pace()
        self._given: set[str] = set()
        self._waiting: list[str] = []
        self._look_at: int | None = None
        self._looked = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        self._look(now_ms)
        if not self._waiting:
            self._pace.pause()
            return {}
        count = self._pace.parts(now_ms) * self._parallelism
        given, self._waiting = self._waiting[:count], self._waiting[count:]
        self._given.update(given)
        found: dict[int, list[Any]] = {}
        for number, path in enumerate(given):
            split = FedSplit(path, self._feed, path)
            found.setdefault(number % self._parallelism, []).append(split)
        return found

    def _look(self, now_ms: int) -> None:
        if self._looked and (self._interval_ms is None or now_ms < (self._look_at or 0)):
            return
        known = self._given.union(self._waiting)
        for path in self._paths:
            if self._interval_ms is None or os.path.exists(path):
                self._waiting += [f for f in files_under(path) if f not in known]
        self._looked = True
        self._look_at = None if self._interval_ms is None else now_ms + self._interval_ms

    @property
    def finished(self) -> bool:
        return self._interval_ms is None and self._looked and not self._waiting

    def next_discovery(self, now_ms: int) -> int | None:
        return now_ms if self._waiting else self._look_at

    def snapshot(self) -> Any:
        return {"given": sorted(self._given), "waiting": self._waiting, "looked": self._looked}

    def restore(self, snapshot: Any) -> None:
        self._given = set(snapshot["given"])
        self._waiting = list(snapshot["waiting"])
        self._looked = snapshot["looked"] and self._interval_ms is None


class ArrowReader(SourceReader):
    """Opens the Arrow batches that come with the epoch's job; their rows may remain columns."""

    def __init__(
        self, schema: bytes, records: Any, split_id: str, *, as_columns: bool = False
    ) -> None:
        self._schema_bytes = schema
        self._records = records
        self._split_id = split_id
        self._as_columns = as_columns
        self._payloads: Iterator[bytes] = iter(())

    def open(self) -> None:
        import pyarrow as pa

        self._schema = pa.ipc.read_schema(pa.py_buffer(self._schema_bytes))
        self._records = self._records or rows_of

    def add_splits(self, splits: Sequence[Any]) -> None:
        pass

    def feed(self, payloads: Iterator[bytes]) -> None:
        self._payloads = payloads

    def poll(self, max_records: int) -> ReadBatch | None:
        import pyarrow as pa

        payload = next(self._payloads, None)
        if payload is None:
            return None
        batch = pa.ipc.read_record_batch(pa.py_buffer(payload), self._schema)
        if self._as_columns and batch.num_rows:
            return ReadBatch(self._split_id, [batch], columns=True)
        return ReadBatch(self._split_id, self._records(batch))

    def snapshot(self) -> list[Any]:
        """Nothing: what was given out for an epoch was read in it."""
        return []

    @property
    def exhausted(self) -> bool:
        return True
