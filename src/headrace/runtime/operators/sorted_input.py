"""Batch mode: an operator gets the records of a key in order of time, once all are there."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from itertools import count, islice, repeat
from operator import itemgetter
from typing import IO, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.state import ListStateDescriptor
from headrace.runtime.batch import BATCH_SIZE, MIN_TIMESTAMP, Batch
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

_STATE = "records of a bounded input"
_MOST_IN_MEMORY = 250_000
_READ_AT_ONCE = 1_000

Record = tuple[int, int, Any, Any]
"""Its time, its number in the order in which they came, its key and itself."""

_by_time = itemgetter(0, 1)


class SortedInput:
    """Holds all records of a bounded input, and gives them sorted by time at its end.

    Records of one time, or without one, stay in the order in which they came. Many of them wait in
    files. At a barrier they are written to the state of the operator that waits for them.
    """

    def __init__(self, backend: KeyedStateBackend, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self._backend = backend
        self._most = most_in_memory
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
                held.extend(((stamp, number, key, value),))
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

    def add(self, input_index: int, batch: Batch) -> None:
        """Keep a batch of an input."""
        stamps: Any = repeat(MIN_TIMESTAMP, len(batch))
        if batch.timestamps is not None:
            self._timed = True
            stamps = [MIN_TIMESTAMP if t is None else t for t in batch.timestamps]
        held = self._input(input_index)
        numbers = count(held.next_number)
        held.next_number += len(batch)
        held.extend(zip(stamps, numbers, batch.keys or (), batch.values, strict=False))

    def store(self) -> None:
        """Write what came since the last barrier to the state."""
        for input_index, held in self._inputs.items():
            for records in held.fresh():
                new: dict[Any, list[tuple[int, int, int, Any]]] = {}
                for stamp, number, key, value in records:
                    new.setdefault(key, []).append((input_index, number, stamp, value))
                for key, entries in new.items():
                    self._cell.key = key
                    self._state.add_all(entries)
            held.mark_stored()
        self._cell.key = NO_KEY

    def drain(self) -> Iterator[tuple[int, Batch]]:
        """All records, one input after the other."""
        for key in self._backend.keys(_STATE):
            self._cell.key = key
            self._state.clear()
        self._cell.key = NO_KEY
        held, self._inputs = self._inputs, {}
        for input_index, records in sorted(held.items()):
            in_order = records.in_order()
            while some := list(islice(in_order, BATCH_SIZE)):
                stamps, _, keys, values = zip(*some, strict=True)
                columns = list(stamps) if self._timed else None
                yield input_index, Batch(list(values), columns, list(keys))


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

    def in_order(self) -> Iterator[Record]:
        self._recent.sort(key=_by_time)
        runs = [run.records() for run in self._runs]
        return heapq.merge(*runs, self._recent, key=_by_time) if runs else iter(self._recent)


class _Run:
    """Records in a file, sorted by time."""

    def __init__(self, records: list[Record]) -> None:
        records.sort(key=_by_time)
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
