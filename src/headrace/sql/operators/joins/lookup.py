"""Rows with what a table has for their key at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.lookups.tables import Found, Key, Row
from headrace.sql.operators.base import OpenedCode, RowOperator
from headrace.sql.operators.joins.specs import KeptLookupJoinSpec, LookupJoinSpec
from headrace.sql.operators.partners import with_partners


class LookupJoinOperator(RowOperator):
    """Looks the different keys of a batch up together.

    A batch is through when all its lookups are, so that none is in flight at a barrier.
    """

    def __init__(self, spec: LookupJoinSpec) -> None:
        super().__init__()
        self._spec = spec

    def open(self) -> None:
        try:
            self._keys = self._code(self._spec.keys)
            self._calc = self._code(self._spec.calc)
            self._condition = self._code(self._spec.condition)
            self.closing.append(self._spec.table)
            self._spec.table.open(self)
        except Exception as error:
            raise self.failed(error, where="open") from error

    def _code(self, code: Any) -> OpenedCode | None:
        return None if code is None else OpenedCode(code, self)

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        self.emit_rows(self.joined(rows))

    def joined(self, rows: Sequence[Row]) -> list[Row]:
        """Rows with their partners, in their order."""
        assert self._keys is not None
        keys = self._run(self._keys, rows)
        found = self._found(list(dict.fromkeys(k for k in keys if None not in k)))
        changelog, nothing = self._spec.changelog, ()
        pairs: list[Row] = []
        for number, (row, key) in enumerate(zip(rows, keys, strict=True)):
            partners = found.get(key, nothing)
            if partners:
                head = row[:-1] if changelog else row
                pairs += [(*head, *partner, number) for partner in partners]
        if self._condition is not None:
            pairs = self._run(self._condition, pairs)
        return with_partners(rows, pairs, self._spec.width if self._spec.outer else None, changelog)

    def _found(self, keys: list[Key]) -> Found:
        """The rows of keys, as far as they fulfil what is asked of the table alone."""
        if not keys:
            return {}
        try:
            found: Found = self._spec.table.find(keys)
        except Exception as error:
            raise self.failed(error, where="lookup") from error
        if self._calc is None:
            return found
        numbered = [(*row, n) for n, rows in enumerate(found.values()) for row in rows]
        kept: list[list[Row]] = [[] for _ in found]
        for row in self._run(self._calc, numbered):
            kept[row[-1]].append(row[:-1])
        return dict(zip(found, kept, strict=True))

    def _run(self, code: OpenedCode, rows: Sequence[Row]) -> list[Row]:
        try:
            result: list[Row] = code.run(rows)
            return result
        except Exception as error:
            raise self.failed_in(code.run, list(rows), error) from error


Kept = list[tuple[Row, list[Row]]]
"""Rows of a key that are there, each with what was found for it."""


class KeptLookupJoinOperator(LookupJoinOperator):
    """Looks up rows that come, and takes back what was found for those that go.

    A row that goes but is not there has outlived the state's time to live, and is left out.
    """

    def __init__(self, spec: KeptLookupJoinSpec) -> None:
        super().__init__(spec)
        self._ttl_ms = spec.ttl_ms
        self._compared = spec.compared

    def open(self) -> None:
        self._state = self.value_state("found", self._ttl_ms)
        super().open()

    def process_batch(self, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        # The number of a row stands where its kind was, and so behind what is found for it.
        new = [(*row[:-1], n) for n, row in enumerate(batch.values) if not row[-1] & 1]
        found: dict[int, list[Row]] = {}
        for row in self.joined(new):
            found.setdefault(row[-1], []).append(row[:-1])
        kept: dict[Any, Kept] = {}
        out: list[Row] = []
        for number, (key, row) in enumerate(zip(batch.keys, batch.values, strict=True)):
            if key not in kept:
                self.cell.key = key
                kept[key] = list(self._state.value() or ())
            lasting = tuple([row[c] for c in self._compared])
            if row[-1] & 1:
                results = _taken(kept[key], lasting)
            else:
                results = found.get(number, [])
                kept[key].append((lasting, results))
            out += [(*result, row[-1]) for result in results]
        for key, rows in kept.items():
            self.cell.key = key
            if rows:
                self._state.update(rows)
            else:
                self._state.clear()
        self.forget_key()
        self.emit_rows(out)


def _taken(kept: Kept, row: Row) -> list[Row]:
    """What was found for a row, which is forgotten."""
    for place, (there, results) in enumerate(kept):
        if there == row:
            del kept[place]
            return results
    return []
