"""What flows between operators: batches of records, and marks between them.

A batch is columns, never rows: operators pay for a call once in some thousands of records. Batches
are shared between branches of a chain, so nobody changes one after it was emitted; records that
functions may change are copied for them (`isolation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

MIN_TIMESTAMP = -(1 << 63)
MAX_TIMESTAMP = (1 << 63) - 1

BATCH_SIZE = 10_000
"""Records that a source puts into one batch at most."""


class Batch:
    """Columns of values, of timestamps (None: no record has one) and of keys (None: not keyed)."""

    __slots__ = ("keys", "timestamps", "values")

    def __init__(
        self,
        values: list[Any],
        timestamps: list[int | None] | list[int] | None = None,
        keys: list[Any] | None = None,
    ) -> None:
        self.values = values
        self.timestamps: Sequence[int | None] | None = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Batch({self.values!r}, {self.timestamps!r}, {self.keys!r})"


class ColumnBatch(Batch):
    """Records that are still columns, for those who take them; it is as long as they are many.

    They cross an exchange as such. Where they have a `decode`, which makes the records and their
    keys, they are a `Batch` behind it.
    """

    __slots__ = ("columns", "decode")

    def __init__(
        self,
        columns: pa.RecordBatch,
        decode: Callable[[Any], tuple[list[Any], list[Any]]] | None = None,
    ) -> None:
        super().__init__([columns])
        self.columns = columns
        self.decode = decode

    def __len__(self) -> int:
        return int(self.columns.num_rows)


class LazyBatch(Batch):
    """Records that are still columns, and are made when somebody looks at `values`.

    It goes from operator to operator within a chain; an exchange sends its records.
    """

    __slots__ = ("_count", "_made", "_make", "columns")

    def __init__(
        self, columns: list[Any], count: int, make: Callable[[list[Any]], list[Any]]
    ) -> None:
        self.columns = columns
        self.timestamps = None
        self.keys = None
        self._count = count
        self._make = make
        self._made: list[Any] | None = None

    @property
    def values(self) -> list[Any]:  # type: ignore[override]
        if self._made is None:
            self._made = self._make(self.columns)
        return self._made

    def __len__(self) -> int:
        return self._count

    def picked(self, columns: Sequence[int]) -> LazyBatch:
        """The same records with some of their columns."""
        return LazyBatch([self.columns[i] for i in columns], self._count, self._make)

    def kept(self, mask: pa.BooleanArray) -> LazyBatch:
        """The records for which the mask is true."""
        columns = [
            list(compress(c, mask.to_pylist())) if isinstance(c, list) else c.filter(mask)
            for c in self.columns
        ]
        return LazyBatch(columns, mask.true_count, self._make)


@dataclass(frozen=True, slots=True)
class WatermarkMark:
    """No record with a timestamp at or below this one follows, but for late ones."""

    timestamp: int


@dataclass(frozen=True, slots=True)
class StatusMark:
    """The channel is idle (it does not hold the watermark back) or active again."""

    idle: bool


@dataclass(frozen=True, slots=True)
class EndMark:
    """Nothing follows any more."""


@dataclass(frozen=True, slots=True)
class LatencyMark:
    """Sent by a source now and then: where it arrives, the time on the way is noted."""

    marked_ms: int
    source: str


Element = Batch | WatermarkMark | StatusMark | EndMark | LatencyMark


class Receiver(Protocol):
    """Where elements go: the next operator of a chain, or an exchange."""

    def process_batch(self, batch: Batch) -> None: ...

    def process_watermark(self, timestamp: int) -> None: ...

    def process_status(self, idle: bool) -> None: ...

    def process_latency(self, mark: LatencyMark) -> None: ...

    def end_input(self) -> None: ...
