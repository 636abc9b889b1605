"""Sources whose records are known when the program is built: a collection, a number sequence."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cloudpickle

from headrace.common.conversion import Use, column_converter
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import BasicTypeInfo, TypeInformation, Types
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)

__all__ = ["CollectionSource", "NumberSequenceSource", "convert_collection"]


@dataclass(frozen=True)
class _Range:
    """Numbers, or positions in a collection, from `position` up to `end`."""

    split_id: str
    position: int
    end: int


class _RangeReader(SourceReader):
    """Reads ranges one after the other."""

    def __init__(self) -> None:
        self._ranges: list[_Range] = []
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[_Range]) -> None:
        self._ranges.extend(splits)

    def values(self, start: int, end: int) -> list[Any]:
        return list(range(start, end))

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._ranges and self._ranges[0].position >= self._ranges[0].end:
            self._finished.append(self._ranges.pop(0).split_id)
        if not self._ranges:
            return None
        current = self._ranges[0]
        end = min(current.position + max_records, current.end)
        self._ranges[0] = replace(current, position=end)
        return ReadBatch(current.split_id, self.values(current.position, end))

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[_Range]:
        return [r for r in self._ranges if r.position < r.end]

    @property
    def exhausted(self) -> bool:
        return not self.snapshot()


@dataclass(frozen=True)
class NumberSequenceSource(Source):
    """The numbers from `start` to `end`, both included, shared among the subtasks.

    Example:
        >>> source = NumberSequenceSource(1, 1000)
        >>> env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        """Check the bounds."""
        for bound in (self.start, self.end):
            if type(bound) is not int:
                raise FunctionTypeError(f"NumberSequenceSource takes two ints, not {bound!r}")
        if self.start > self.end:
            raise GraphError(f"'from' must be <= 'to': {self.start} > {self.end}")

    @property
    def bounded(self) -> bool:
        return True

    @property
    def produced_type(self) -> TypeInformation:
        return Types.LONG()

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        count = self.end - self.start + 1
        cuts = [self.start + count * i // parallelism for i in range(parallelism + 1)]
        splits = [
            _Range(f"numbers-{i}", first, last)
            for i, (first, last) in enumerate(pairwise(cuts))
            if first < last
        ]
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _RangeReader()


@dataclass(frozen=True)
class CollectionSource(Source):
    """The elements of a collection, pickled where the program is built."""

    pickled: bytes
    size: int

    @staticmethod
    def of(values: list[Any]) -> CollectionSource:
        """A source of these values."""
        try:
            pickled = cloudpickle.dumps(values)
        except Exception as error:
            raise FunctionTypeError(
                "from_collection: the elements cannot be pickled, so they cannot reach the "
                f"workers: {error}"
            ) from error
        return CollectionSource(pickled, len(values))

    @property
    def bounded(self) -> bool:
        return True

    @property
    def max_parallel_readers(self) -> int | None:
        return 1

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([_Range("collection", 0, self.size)], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _CollectionReader(pickle.loads(self.pickled))


class _CollectionReader(_RangeReader):
    def __init__(self, collection: list[Any]) -> None:
        super().__init__()
        self._collection = collection

    def values(self, start: int, end: int) -> list[Any]:
        return self._collection[start:end]


def convert_collection(values: list[Any], type_info: TypeInformation) -> list[Any]:
    """Convert elements to their declared type: a wrong one is an error at the user's line."""
    if not isinstance(type_info, TypeInformation):
        raise FunctionTypeError(
            "from_collection: type_info must be a TypeInformation such as Types.INT(), "
            f"not {type_info!r}"
        )
    if isinstance(type_info, BasicTypeInfo) and None in values:
        raise FunctionTypeError(
            f"from_collection: element {values.index(None)} is None, which a collection of "
            f"{type_info} cannot have; leave the type out or filter the elements"
        )
    convert = column_converter(type_info, Use.COLLECTION)
    return values if convert is None else convert(values)
