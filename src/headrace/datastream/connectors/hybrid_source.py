"""Several sources one after the other: first what is stored, then what is live.

Each source is read to its end by all subtasks before the next one begins, and its enumerator is
made only then: `latest()` of a Kafka source means the moment of the switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)

__all__ = ["HybridSource", "HybridSourceBuilder"]


@dataclass(frozen=True)
class HybridSource(Source):
    """Reads sources one after the other. Make one with `builder`.

    All but the last must be bounded. Their records should be of one type. A checkpoint knows which
    source is being read and how far it is.

    Example:
        >>> history = FileSource.for_record_stream_format(lines, "/data/orders").build()
        >>> source = HybridSource.builder(history).add_source(kafka).build()
    """

    sources: tuple[Source, ...]

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """A builder, with the source that is read first."""
        return HybridSourceBuilder().add_source(first_source)

    @property
    def bounded(self) -> bool:
        """As the last source."""
        return self.sources[-1].bounded

    @property
    def max_parallel_readers(self) -> int | None:
        """The smallest that any source has."""
        most = (source.max_parallel_readers for source in self.sources)
        return min((m for m in most if m is not None), default=None)

    @property
    def produced_type(self) -> TypeInformation | None:
        """That of all sources, if it is the same."""
        first = self.sources[0].produced_type
        return first if all(s.produced_type == first for s in self.sources) else None

    @property
    def reads_splits_together(self) -> bool:
        """Whether one of the sources does."""
        return any(source.reads_splits_together for source in self.sources)

    def for_configuration(self, configuration: Configuration) -> Source:
        return HybridSource(tuple(s.for_configuration(configuration) for s in self.sources))

    def probe(self) -> str:
        """All of them, as none can be read without those before it."""
        return ", then ".join(filter(None, (source.probe() for source in self.sources)))

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return _HybridEnumerator(self.sources, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _HybridReader(self.sources, context)


class HybridSourceBuilder:
    """Builds a `HybridSource`."""

    def __init__(self) -> None:
        self._sources: list[Source] = []

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Add the source that is read when those before it have ended."""
        if not isinstance(source, Source):
            raise FunctionTypeError(f"a hybrid source takes sources, not {source!r}")
        if source.fed_by_spark:
            raise GraphError(
                "a hybrid source cannot contain a DataFrame; read the files with a FileSource, or "
                "union the streams of two sources"
            )
        if self._sources and not self._sources[-1].bounded:
            raise GraphError(
                f"source {len(self._sources)} of a hybrid source never ends, so the next one "
                "would never be read: make it bounded, or put it last"
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """The source."""
        return HybridSource(tuple(self._sources))


@dataclass(frozen=True)
class _HybridSplit:
    """A split of one of the sources."""

    source: int
    split: Any

    @property
    def split_id(self) -> str:
        return _name(self.source, self.split.split_id)


def _name(source: int, split_id: str) -> str:
    return f"{source}:{split_id}"


class _HybridEnumerator(SplitEnumerator):
    """The enumerator of the source that is being read; the next one when all have read it."""

    def __init__(self, sources: Sequence[Source], parallelism: int) -> None:
        self._sources = sources
        self._parallelism = parallelism
        self._switched = False
        self._start(0)

    def _start(self, number: int) -> None:
        self._number = number
        self._current = self._sources[number].create_enumerator(self._parallelism)

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        self._switched = False
        return {
            subtask: [_HybridSplit(self._number, split) for split in splits]
            for subtask, splits in self._current.discover(now_ms).items()
        }

    def on_all_read(self) -> None:
        if self._current.finished and self._number + 1 < len(self._sources):
            self._current.close()
            self._start(self._number + 1)
            self._switched = True

    @property
    def finished(self) -> bool:
        return self._number + 1 == len(self._sources) and self._current.finished

    def next_discovery(self, now_ms: int) -> int | None:
        return now_ms if self._switched else self._current.next_discovery(now_ms)

    def snapshot(self) -> Any:
        return self._number, self._current.snapshot()

    def restore(self, snapshot: Any) -> None:
        number, current = snapshot
        self._current.close()
        self._start(number)
        self._current.restore(current)

    def close(self) -> None:
        self._current.close()


class _HybridReader(SourceReader):
    """The reader of the source that is being read."""

    def __init__(self, sources: Sequence[Source], context: ReaderContext) -> None:
        self._sources = sources
        self._context = context
        self._number = -1
        self._current: SourceReader | None = None

    def add_splits(self, splits: Sequence[_HybridSplit]) -> None:
        # All of one source: the next one is given out when this one was read.
        number = splits[0].source
        if self._current is None or number != self._number:
            self._start(number)
        assert self._current is not None
        self._current.add_splits([s.split for s in splits])

    def _start(self, number: int) -> None:
        self.close()
        self._number = number
        self._current = self._sources[number].create_reader(self._context)
        self._current.open()

    def poll(self, max_records: int) -> ReadBatch | None:
        batch = None if self._current is None else self._current.poll(max_records)
        return batch and replace(batch, split_id=_name(self._number, batch.split_id))

    def snapshot(self) -> list[_HybridSplit]:
        splits = [] if self._current is None else self._current.snapshot()
        return [_HybridSplit(self._number, split) for split in splits]

    def on_checkpoint(self, checkpoint: int) -> None:
        if self._current is not None:
            self._current.on_checkpoint(checkpoint)

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        if self._current is not None:
            self._current.on_checkpoint_complete(checkpoint)

    def available_at(self, now_ms: int) -> int | None:
        return None if self._current is None else self._current.available_at(now_ms)

    def finished_splits(self) -> Iterator[str]:
        finished = () if self._current is None else self._current.finished_splits()
        return (_name(self._number, split_id) for split_id in finished)

    def drained_splits(self) -> list[str] | None:
        drained = None if self._current is None else self._current.drained_splits()
        return None if drained is None else [_name(self._number, s) for s in drained]

    @property
    def exhausted(self) -> bool:
        return self._current is None or self._current.exhausted

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
