"""Batch mode: an operator gets the records of a key in order of time, once all are there.

Where it can, it gets one key after the other, so that there is state for few of them at a time.
Records that do not fit into memory wait in files, as sorted runs that are merged.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from itertools import count, groupby, islice, repeat
from operator import itemgetter
from typing import IO, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.state import ListStateDescriptor
from headrace.runtime.batch import BATCH_SIZE, MIN_TIMESTAMP, Batch
from headrace.runtime.key_groups import stable_hash
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

_STATE = "records of a bounded input"
_MOST_IN_MEMORY = 250_000
_READ_AT_ONCE = 1_000
_TOGETHER = 10_000
"""Keys with so many records end together."""

Record = tuple[int, int, int, int, Any, Any]
"""The hash of its key, or its input; its time, its input, its number in it, its key and itself."""


class SortedInput:
    """Holds all records of bounded inputs, and gives them at the end, sorted by time.

    Records of one time, or without one, stay in the order in which they came, those of the first
    input before those of others. Many of them wait in files. At a barrier they are written to the
    state of the operator that waits for them.

    With `by_key` all records of a key come together, in the order of hashes.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        most_in_memory: int = _MOST_IN_MEMORY,
        by_key: bool = False,
    ) -> None:
        self._backend = backend
        self._most = most_in_memory
        self._by_key = by_key
        self._inputs: dict[int, _Input] = {}
        self._timed = False

    def open(self) -> None:
        """Take over what is in the state."""
        self._cell = KeyCell()
        self._state = self._backend.get_or_create(ListStateDescriptor(_STATE), self._cell)
        for key in self._backend.keys(_STATE):
            self._cell.key = key
            for input_index, number, stamp, value in self._state.get():
                held = self._input(input_index)
                held.extend(
                    ((self._first(key, input_index), stamp, input_index, number, key, value),)
                )
                # Not what was counted: some keys went to other subtasks with their numbers.
                held.next_number = max(held.next_number, number + 1)
                self._timed = self._timed or stamp != MIN_TIMESTAMP
        self._cell.key = NO_KEY
        for held in self._inputs.values():
            held.mark_stored()

    def _input(self, index: int) -> _Input:
        held = self._inputs.get(index)
        if held is None:
            held = self._inputs[index] = _Input(self._most)
        return held

    def _first(self, key: Any, input_index: int) -> int:
        return stable_hash(key) if self._by_key else input_index

    def add(self, input_index: int, batch: Batch) -> None:
        """Keep a batch of an input."""
        stamps: Any = repeat(MIN_TIMESTAMP, len(batch))
        if batch.timestamps is not None:
            self._timed = True
            stamps = [MIN_TIMESTAMP if t is None else t for t in batch.timestamps]
        held = self._input(input_index)
        numbers = count(held.next_number)
        held.next_number += len(batch)
        keys = batch.keys or ()
        inputs = repeat(input_index)
        firsts: Any = map(stable_hash, keys) if self._by_key else inputs
        held.extend(zip(firsts, stamps, inputs, numbers, keys, batch.values, strict=False))

    def store(self) -> None:
        """Write what came since the last barrier to the state."""
        for input_index, held in self._inputs.items():
            for records in held.fresh():
                new: dict[Any, list[tuple[int, int, int, Any]]] = {}
                for _, stamp, _, number, key, value in records:
                    new.setdefault(key, []).append((input_index, number, stamp, value))
                for key, entries in new.items():
                    self._cell.key = key
                    self._state.add_all(entries)
            held.mark_stored()
        self._cell.key = NO_KEY

    def drain(self) -> Iterator[tuple[int, Batch] | None]:
        """All records with their input; None after all records of some keys, if they are sorted."""
        for key in self._backend.keys(_STATE):
            self._cell.key = key
            self._state.clear()
        self._cell.key = NO_KEY
        held, self._inputs = self._inputs, {}
        runs = [run for _, records in sorted(held.items()) for run in records.runs()]
        # No two records have the same number of one input, so nobody looks at their keys.
        records = heapq.merge(*runs) if len(runs) > 1 else iter(*runs or [()])
        for piece, ended in _pieces(records):
            for input_index, same in groupby(piece, itemgetter(2)):
                in_input = list(same)
                for start in range(0, len(in_input), BATCH_SIZE):
                    yield input_index, self._batch(in_input[start : start + BATCH_SIZE])
            if ended and self._by_key:
                yield None

    def _batch(self, records: list[Record]) -> Batch:
        _, stamps, _, _, keys, values = zip(*records, strict=True)
        return Batch(list(values), list(stamps) if self._timed else None, list(keys))


def _pieces(records: Iterator[Record]) -> Iterator[tuple[list[Record], bool]]:
    """Records some at a time, and whether their keys have no others.

    Of keys with one hash, records may be mixed: they end together.
    """
    piece: list[Record] = []
    while some := list(islice(records, _TOGETHER)):
        piece += some
        cut, last = len(piece), piece[-1][0]
        while cut and piece[cut - 1][0] == last:
            cut -= 1
        if cut:
            yield piece[:cut], True
            piece = piece[cut:]
        if len(piece) >= _TOGETHER:
            yield piece, False
            piece = []
    yield piece, True


class _Input:
    """The records of one input: those that came last in memory, sorted runs of others in files."""

    def __init__(self, most_in_memory: int) -> None:
        self.next_number = 0
        self._most = most_in_memory
        self._recent: list[Record] = []
        self._runs: list[_Run] = []
        # Of the recent records, and of the runs, those that are in the state.
        self._stored = 0
        self._stored_runs = 0

    def extend(self, records: Iterable[Record]) -> None:
        self._recent.extend(records)
        if len(self._recent) > self._most:
            self._spill()

    def _spill(self) -> None:
        # A run is in the state as a whole or not at all.
        stored, fresh = self._recent[: self._stored], self._recent[self._stored :]
        if stored:
            self._runs.append(_Run(stored))
            self._stored_runs += 1
        if fresh:
            self._runs.append(_Run(fresh))
        self._recent, self._stored = [], 0

    def fresh(self) -> Iterator[Iterable[Record]]:
        """Records that are not in the state, some at a time."""
        for run in self._runs[self._stored_runs :]:
            yield run.records()
        yield self._recent[self._stored :]

    def mark_stored(self) -> None:
        self._stored, self._stored_runs = len(self._recent), len(self._runs)

    def runs(self) -> list[Iterable[Record]]:
        """All records in sorted parts."""
        _sort(self._recent)
        return [*(run.records() for run in self._runs), self._recent]


def _sort(records: list[Record]) -> None:
    """Sorts records of one input: by one number after the other is quicker than by all of them."""
    for place in (3, 1, 0):
        records.sort(key=itemgetter(place))


class _Run:
    """Records in a file, sorted."""

    def __init__(self, records: list[Record]) -> None:
        _sort(records)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(prefix="headrace-sorted-")  # noqa: SIM115 - closed with the run
            for start in range(0, len(records), _READ_AT_ONCE):
                pickle.dump(records[start : start + _READ_AT_ONCE], self._file, 5)
            self._file.flush()
        except OSError as error:
            raise HeadraceError(
                "records of a bounded input that do not fit into memory cannot be written to "
                f"{tempfile.gettempdir()}: {error}; make room there, or set TMPDIR to another place"
            ) from error

    def records(self) -> Iterator[Record]:
        self._file.seek(0)
        while True:
            try:
                records: list[Record] = pickle.load(self._file)
            except EOFError:
                return
            yield from records
