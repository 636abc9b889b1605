"""The rows that a join keeps in RocksDB, more than fit into memory: of one key, and of many."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio
from headrace.runtime.state.rocksdb import RocksDBStateBackend
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from headrace.runtime.state.rocksdb_store import RocksDBResources
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.joins.counts import Counts
from headrace.sql.operators.joins.regular import change_rows
from headrace.sql.operators.joins.rows import JoinRows

_ROWS = 200_000
_EPOCH = 100
_CACHED = 1_000
_GROUPS = 128


def _micros(rows: int, hot: bool) -> float:
    """What a row costs, if every second one has a key of its own, and the others the same or not.

    So there are always other keys that push the large one out of the memory.
    """
    resources = RocksDBResources(RocksDBSettings(object_cache_size=_CACHED))
    backend = RocksDBStateBackend(_GROUPS, lambda: 0, resources=resources)
    operator = RowOperator()
    operator.context = cast("Any", SimpleNamespace(backend=backend, name="join"))
    kept = JoinRows(operator, "left", 0)
    began = time.perf_counter()
    for start in range(0, rows, _EPOCH):
        changes: dict[int, Counts] = {}
        for number in range(start, start + _EPOCH):
            key = -1 if hot and number % 2 else number
            changes.setdefault(key, {})[number, f"row {number}", 1.5 * number] = 1
        for key, changed in changes.items():
            operator.cell.key = key
            there = kept.load()
            change_rows(there, changed)
            kept.store(there, changed)
    seconds = time.perf_counter() - began
    backend.dispose()
    return seconds / rows * 1e6


def join_hot_key(settings: Settings) -> Iterator[Result]:
    """Rows of a join with one large key, beside as many rows of small keys."""
    rows = max(int(_ROWS * settings.scale), 10 * _EPOCH)
    ours, theirs = alternate(
        lambda: _micros(rows, True), lambda: _micros(rows, False), settings.rounds
    )
    yield Result(
        name="join, a large key",
        peer="small keys",
        unit="µs/row",
        ours=statistics.median(ours),
        theirs=statistics.median(theirs),
        ratio=middle_ratio(ours, theirs),
        goal=2.0,
        at_least=False,
    )


CASES = {"join-hot-key": join_hot_key}
