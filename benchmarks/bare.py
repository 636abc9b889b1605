"""Bare PySpark loops: the work of a benchmark with no streaming model around it.

They are the practical ceiling for Python on Spark. Another file with the same functions can be
taken with ``--yardstick PATH``; it is given to Spark's workers with ``addPyFile``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

BATCH = 10_000
EMIT_EVERY = 1_000


def _by_key(keys: int, parallelism: int) -> Callable[[Iterable[int]], Iterator[tuple[int, bytes]]]:
    """Split records into pickled columns, one batch for each target subtask."""

    def split(records: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        records = iter(records)
        while chunk := list(islice(records, BATCH)):
            targets: list[tuple[list[int], list[int]]] = [([], []) for _ in range(parallelism)]
            for record in chunk:
                key = record % keys
                key_column, value_column = targets[(key * 2654435761 >> 7) % parallelism]
                key_column.append(key)
                value_column.append(record)
            for subtask, columns in enumerate(targets):
                if columns[0]:
                    yield subtask, pickle.dumps(columns, 5)

    return split


def keyed_count(sc: Any, records: int, keys: int, parallelism: int = 2) -> int:
    """Count for each key, with an output at every thousandth record of it; returns the outputs."""

    def count(batches: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        counts: dict[int, int] = {}
        emitted = 0
        for _, payload in batches:
            for key, _value in zip(*pickle.loads(payload), strict=True):
                now = counts.get(key, 0) + 1
                counts[key] = now
                if now % EMIT_EVERY == 0:
                    emitted += 1
        yield emitted

    source = sc.range(records, numSlices=parallelism).mapPartitions(_by_key(keys, parallelism))
    return sum(source.partitionBy(parallelism, lambda p: p).mapPartitions(count).collect())


def tumbling_average(
    sc: Any, records: int, keys: int, size_ms: int = 10_000, step_ms: int = 10, parallelism: int = 2
) -> int:
    """Average for each key and window, record x at x * step_ms; returns the windows."""

    def average(batches: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        sums: dict[tuple[int, int], tuple[int, int]] = {}
        for _, payload in batches:
            for key, value in zip(*pickle.loads(payload), strict=True):
                at = value * step_ms
                pane = (key, at - at % size_ms)
                known = sums.get(pane)
                sums[pane] = (known[0] + value, known[1] + 1) if known else (value, 1)
        yield len([total / count for total, count in sums.values()])

    source = sc.range(records, numSlices=parallelism).mapPartitions(_by_key(keys, parallelism))
    return sum(source.partitionBy(parallelism, lambda p: p).mapPartitions(average).collect())


def stateless_chain(sc: Any, records: int, parallelism: int = 2) -> int:
    """A map, a filter and a flat_map in one loop; returns the outputs."""

    def chain(values: Iterable[int]) -> Iterator[int]:
        emitted = 0
        for value in values:
            odd = value * 2 + 1
            if odd % 3:
                for _ in (odd, -odd):
                    emitted += 1
        yield emitted

    return sum(sc.range(records, numSlices=parallelism).mapPartitions(chain).collect())


def small_epoch(sc: Any, records: int = 10, parallelism: int = 2) -> list[int]:
    """Two stages with hardly any data: what an epoch with one exchange costs at least."""
    pairs = sc.range(records, numSlices=parallelism).map(lambda x: (x % parallelism, x))
    grouped = pairs.partitionBy(parallelism, lambda p: p)
    return grouped.mapPartitions(lambda part: [sum(1 for _ in part)]).collect()
