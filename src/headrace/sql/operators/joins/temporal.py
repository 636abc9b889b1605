"""Temporal joins: each row meets the version of the other side that was valid at its time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import DELETE, UPDATE_BEFORE, RowOperator
from headrace.sql.operators.joins.regular import PairCondition, Row, matches_nothing
from headrace.sql.operators.joins.specs import LatestJoinSpec, TemporalJoinSpec

Version = tuple[int, Row | None]
"""From when on a row is valid; None stands for a deleted row."""

_time = itemgetter(0)


class _VersionJoin(RowOperator):
    """What joins with versions have in common: how pairs of a row and its version come out."""

    def __init__(self, spec: TemporalJoinSpec | LatestJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._condition: PairCondition | None = None
        self._nulls = (None,) * spec.right.width

    def open(self) -> None:
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)

    def emit_pairs(self, pairs: Sequence[tuple[Row, Row | None]]) -> None:
        """Pairs in their order; rows without a version, if the left side keeps them."""
        changes, outer = self._spec.left.changes, self._spec.left.outer
        end = -1 if changes else None
        joined = [None if version is None else (*row[:end], *version) for row, version in pairs]
        if self._condition is not None:
            asked = [pair for pair in joined if pair is not None]
            true = iter(self._condition.fulfilled(asked))
            joined = [pair if pair is not None and next(true) else None for pair in joined]
        out: list[Row] = []
        for (row, _), pair in zip(pairs, joined, strict=True):
            if pair is None:
                if not outer:
                    continue
                pair = (*row[:end], *self._nulls)
            out.append((*pair, row[-1]) if changes else pair)
        self.emit_rows(out)


class TemporalJoinOperator(_VersionJoin):
    """Keeps rows until the watermark of both sides has passed them, and joins them then.

    A version is valid from its time on, until the next one. Of the versions that the watermark has
    passed the newest stays, for rows that are still to come. A row that is late meets what is left.
    Rows of a key come out in the order in which they came, with their own kinds.
    """

    _spec: TemporalJoinSpec

    def open(self) -> None:
        super().open()
        self._left = self.value_state("left", self._spec.left.ttl_ms)
        self._right = self.value_state("right", self._spec.right.ttl_ms)

    # Input.

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        grouped: dict[Any, list[Row]] = {}
        alone: list[Row] = []
        for key, row in zip(batch.keys, batch.values, strict=True):
            if not matches_nothing(key, self._spec.null_safe):
                grouped.setdefault(key, []).append(row)
            elif input_index == 0:
                alone.append(row)
        for key, rows in grouped.items():
            self.cell.key = key
            if input_index == 0:
                self._wait(key, rows)
            else:
                self._add_versions(key, rows)
        self.forget_key()
        self.emit_pairs([(row, None) for row in alone])

    def _wait(self, key: Any, rows: list[Row]) -> None:
        """Rows of the left side in the order in which they came, and the first of their times."""
        first, waiting = self._left.value() or (None, [])
        earliest = min(map(self._left_time, rows))
        if first is None or earliest < first:
            self.event_timers.register(earliest, key)
            first = earliest
        self._left.update((first, waiting + rows))

    def _left_time(self, row: Row) -> int:
        return int(row[self._spec.times[0]]) // 1000

    def _add_versions(self, key: Any, rows: Sequence[Row]) -> None:
        versions: list[Version] = list(self._right.value() or ())
        for row in rows:
            kind = None
            if self._spec.right.changes:
                row, kind = row[:-1], row[-1]
            if kind == UPDATE_BEFORE and not self._spec.update_before:
                continue
            time = int(row[self._spec.times[1]]) // 1000
            place = bisect_left(versions, time, key=_time)
            same = place < len(versions) and versions[place][0] == time
            gone = kind in (DELETE, UPDATE_BEFORE)
            versions[place : place + same] = [(time, None if gone else row)]
        self._right.update(versions)
        self._clean_up_later(key, versions)

    def _clean_up_later(self, key: Any, versions: Sequence[Version]) -> None:
        if len(versions) > 1:
            self.event_timers.register(versions[1][0], key)

    # Time.

    def fire_event_timers(self, until: int) -> None:
        """Joins what waits for times up to `until`, and forgets versions that end before."""
        pairs: list[tuple[Row, Row | None]] = []
        for key in dict.fromkeys(key for _, key in self.event_timers.pop_due(until)):
            self.cell.key = key
            versions: list[Version] = self._right.value() or []
            pairs += self._joined(key, versions, until)
            newest = bisect_right(versions, until, key=_time) - 1
            if newest > 0:
                versions = versions[newest:]
                self._right.update(versions)
            self._clean_up_later(key, versions)
        self.forget_key()
        self.emit_pairs(pairs)

    def _joined(
        self, key: Any, versions: Sequence[Version], until: int
    ) -> list[tuple[Row, Row | None]]:
        first, waiting = self._left.value() or (None, [])
        if first is None or first > until:
            return []
        pairs: list[tuple[Row, Row | None]] = []
        later: list[Row] = []
        for row in waiting:
            time = self._left_time(row)
            if time > until:
                later.append(row)
                continue
            place = bisect_right(versions, time, key=_time)
            pairs.append((row, versions[place - 1][1] if place else None))
        if later:
            first = min(map(self._left_time, later))
            self._left.update((first, later))
            self.event_timers.register(first, key)
        else:
            self._left.clear()
        return pairs


class LatestJoinOperator(_VersionJoin):
    """Keeps the last row of each key of the right side, and joins rows as they come."""

    _spec: LatestJoinSpec

    def open(self) -> None:
        super().open()
        self._right = self.value_state("right", self._spec.right.ttl_ms)

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        if input_index == 1:
            self._keep(batch.keys, batch.values)
            return
        pairs: list[tuple[Row, Row | None]] = []
        for key, row in zip(batch.keys, batch.values, strict=True):
            self.cell.key = key
            known = not matches_nothing(key, self._spec.null_safe)
            pairs.append((row, self._right.value() if known else None))
        self.forget_key()
        self.emit_pairs(pairs)

    def _keep(self, keys: Sequence[Any], rows: Sequence[Row]) -> None:
        changes = self._spec.right.changes
        last = dict(zip(keys, rows, strict=True))
        for key, row in last.items():
            self.cell.key = key
            if changes and row[-1] & 1:
                self._right.clear()
            else:
                self._right.update(row[:-1] if changes else row)
        self.forget_key()
