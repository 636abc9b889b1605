"""Splits a batch over the subtasks of the next operator, as its partitioning says."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.graph import partitioning as p
from headrace.runtime.batch import Batch, ColumnBatch
from headrace.runtime.exchange.text_dictionaries import TextDictionaries
from headrace.runtime.failure import UserCodeFailure, record_at
from headrace.runtime.key_groups import KeyAssigner, hashable_key

Router = Callable[[Batch], Iterator[tuple[int, Batch]]]
"""Gives the parts of a batch with the number of the subtask for each."""

_FEW_RECEIVERS = 3
"""Up to here a pass over the columns for each receiver is cheaper than a list of rows for each."""

_IS_TARGET = [bytes(number == target for number in range(256)) for target in range(_FEW_RECEIVERS)]
"""Translates a column of targets into the mask of one of them."""


def connected_receivers(
    partitioning: p.Partitioning, sender: int, senders: int, receivers: int
) -> range:
    """The subtasks that a sender can reach: all of them unless the partitioning is pointwise."""
    if not partitioning.pointwise:
        return range(receivers)
    if receivers >= senders:
        return range(-(-sender * receivers // senders), -(-(sender + 1) * receivers // senders))
    target = sender * receivers // senders
    return range(target, target + 1)


def connected_senders(
    partitioning: p.Partitioning, receiver: int, senders: int, receivers: int
) -> list[int]:
    """The subtasks that can reach a receiver."""
    return [
        s
        for s in range(senders)
        if receiver in connected_receivers(partitioning, s, senders, receivers)
    ]


def make_router(
    partitioning: p.Partitioning, sender: int, senders: int, receivers: int, max_parallelism: int
) -> Router:
    """The router of one sender for one edge."""
    targets = connected_receivers(partitioning, sender, senders, receivers)
    if isinstance(partitioning, p.KeyedColumns):
        return _keyed_columns(partitioning, receivers, max_parallelism)
    if isinstance(partitioning, p.Keyed):
        return _keyed(partitioning, receivers, max_parallelism)
    if isinstance(partitioning, p.Custom):
        return _custom(partitioning, receivers)
    if isinstance(partitioning, p.Broadcast):
        return lambda batch: ((t, batch) for t in targets)
    if isinstance(partitioning, p.Shuffle) and receivers > 1:
        return _shuffle(receivers, sender)
    if isinstance(partitioning, p.Global) or len(targets) == 1:
        first = targets[0]
        return lambda batch: iter(((first, batch),))
    return _round_robin(targets)


def _round_robin(targets: Sequence[int]) -> Router:
    count, start = len(targets), 0

    def route(batch: Batch) -> Iterator[tuple[int, Batch]]:
        nonlocal start
        if type(batch) is ColumnBatch:
            yield targets[start], batch
            start = (start + 1) % count
            return
        values, stamps = batch.values, batch.timestamps
        for offset in range(min(count, len(values))):
            yield (
                targets[(start + offset) % count],
                Batch(
                    values[offset::count], None if stamps is None else list(stamps[offset::count])
                ),
            )
        start = (start + len(values)) % count

    return route


def _shuffle(receivers: int, sender: int) -> Router:
    choose = random.Random(sender)
    everyone = range(receivers)

    def route(batch: Batch) -> Iterator[tuple[int, Batch]]:
        return split(batch, choose.choices(everyone, k=len(batch)), receivers)

    return route


def _custom(partitioning: p.Custom, receivers: int) -> Router:
    partition, selector = partitioning.partition, partitioning.key_selector

    def route(batch: Batch) -> Iterator[tuple[int, Batch]]:
        rows = iter(batch.values)
        targets: list[int] = []
        try:
            for value in rows:
                target = partition(selector(value), receivers)
                if type(target) is not int or not 0 <= target < receivers:
                    raise HeadraceError(
                        f"The partition number should be a positive value, got {target!r}: the "
                        f"partitioner returns an int from 0 to {receivers - 1}"
                    )
                targets.append(target)
        except Exception as error:
            record = record_at(batch.values, rows)
            raise UserCodeFailure.of(error, record, "partition_custom") from error
        return split(batch, targets, receivers)

    return route


def _keyed(partitioning: p.Keyed, receivers: int, max_parallelism: int) -> Router:
    selector = partitioning.key_selector
    assigner = KeyAssigner(receivers, max_parallelism, users=isinstance(partitioning, p.KeyBy))

    def route(batch: Batch) -> Iterator[tuple[int, Batch]]:
        values = batch.values
        rows = iter(values)
        try:
            keys = list(map(selector, rows))
            if len(keys) != len(values):
                raise RuntimeError("the key selector raised StopIteration")
        except Exception as error:
            raise UserCodeFailure.of(error, record_at(values, rows), "key_by") from error
        try:
            targets = assigner.assign(keys)
        except TypeError:
            keys = list(map(hashable_key, keys))
            targets = assigner.assign(keys)
        keyed = Batch(values, batch.timestamps, keys)  # type: ignore[arg-type]
        return iter(((0, keyed),)) if receivers == 1 else split(keyed, targets, receivers)

    return route


def _keyed_columns(how: p.KeyedColumns, receivers: int, max_parallelism: int) -> Router:
    import numpy as np
    import pyarrow as pa

    assigner = KeyAssigner(receivers, max_parallelism)
    dictionaries = TextDictionaries()

    def targets_of(columns: Any) -> Any:
        numbers = how.keys_of.numbers(columns)
        if numbers is not None:
            return assigner.assign_numbers(numbers)
        targets = assigner.assign(how.keys_of(columns))
        return np.frombuffer(targets, np.uint8) if isinstance(targets, bytes) else np.array(targets)

    def route(batch: Batch) -> Iterator[tuple[int, Batch]]:
        for columns in batch.values:
            targets = targets_of(columns)
            columns = dictionaries.encoded(columns)
            for target in range(receivers):
                rows = np.flatnonzero(targets == target)
                if len(rows) == len(targets):
                    yield target, ColumnBatch(columns, how.decode)
                elif len(rows):
                    # With a number or a list Arrow would import pandas to look what it has got.
                    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, _buffer(rows)])
                    yield target, ColumnBatch(columns.take(indices), how.decode)

    return route


def _buffer(numbers: Any) -> Any:
    import pyarrow as pa

    return pa.py_buffer(numbers.astype("int64", copy=False))


def split(batch: Batch, targets: Sequence[int], receivers: int) -> Iterator[tuple[int, Batch]]:
    """Cut a batch by the target of each row; the order of rows stays."""
    if receivers <= _FEW_RECEIVERS:
        return _split_by_masks(batch, bytes(targets), receivers)
    return _split_by_rows(batch, targets, receivers)


def _split_by_masks(batch: Batch, targets: bytes, receivers: int) -> Iterator[tuple[int, Batch]]:
    """One pass over each column for a receiver, none of them in Python."""
    columns = (batch.values, batch.timestamps, batch.keys)
    for target in range(receivers):
        count = targets.count(target)
        if count == len(targets):
            yield target, batch
        elif count:
            mask = targets.translate(_IS_TARGET[target])
            yield target, Batch(*(None if c is None else list(compress(c, mask)) for c in columns))  # type: ignore[arg-type]


def _split_by_rows(
    batch: Batch, targets: Sequence[int], receivers: int
) -> Iterator[tuple[int, Batch]]:
    columns = (batch.values, batch.timestamps, batch.keys)
    rows_of: list[list[int]] = [[] for _ in range(receivers)]
    for row, target in enumerate(targets):
        rows_of[target].append(row)
    for target, rows in enumerate(rows_of):
        if rows:
            yield target, Batch(*(None if c is None else [c[r] for r in rows] for c in columns))  # type: ignore[arg-type]
