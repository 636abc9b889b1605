"""Regular joins that say at once what each row changes, with the kinds that Flink gives it."""

from __future__ import annotations

from collections.abc import Set

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import DELETE, INSERT, RowOperator
from headrace.sql.operators.joins.counts import add
from headrace.sql.operators.joins.regular import PairCondition, Row, matches_nothing
from headrace.sql.operators.joins.rows import JoinRows, Rows
from headrace.sql.operators.joins.specs import JoinSpec

Partners = list[tuple[Row, int]]
"""Rows of the other side that match a row, and how often each is there."""

_NOBODY: Set[Row] = frozenset()


class EveryChangeJoinOperator(RowOperator):
    """Keeps what a `JoinOperator` keeps, and looks at one row after the other.

    Pairs of an inner join have the kind of the row that makes or ends them. In an outer join a row
    without a partner goes, and its pair comes, as two changes, never as an update. A SEMI and an
    ANTI join pass rows of the left side on as they are.
    """

    takes_keys_in_turn = True

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._sides = (spec.left, spec.right)
        self._nulls = tuple((None,) * side.width for side in (spec.right, spec.left))
        self._lonely = (spec.left.outer or spec.partner is not None, spec.right.outer)
        self._show = self._show_pairs if spec.partner is None else self._show_left
        self._condition: PairCondition | None = None
        self._out: list[Row] = []

    def open(self) -> None:
        named = tuple(zip(("left", "right"), self._sides, strict=True))
        self._rows = [JoinRows(self, name, side.ttl_ms) for name, side in named]
        self._counts: list[JoinRows | None] = [None, None]
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)
            self._counts = [
                JoinRows(self, f"{name}-partners", side.ttl_ms) if lonely else None
                for (name, side), lonely in zip(named, self._lonely, strict=True)
            ]

    # Input.

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        changes = self._sides[input_index].changes
        for key, row in zip(batch.keys, batch.values, strict=True):
            kind, row = (row[-1], row[:-1]) if changes else (INSERT, row)
            if matches_nothing(key, self._spec.null_safe):
                self._show(input_index, row, kind, [], _NOBODY)
            else:
                self.cell.key = key
                self._change(input_index, row, kind)
        self.forget_key()
        out, self._out = self._out, []
        self.emit_rows(out)

    def _change(self, index: int, row: Row, kind: int) -> None:
        """A row of the current key comes or goes."""
        change = -1 if kind & 1 else 1
        rows = self._rows[index].load()
        partners = self._partners(index, row)
        was_there, nobody_there = row in rows, not rows
        add(rows, row, change)
        self._rows[index].store(rows, (row,))
        if self._condition is None:
            nobody_there |= not rows
            turned = {partner for partner, _ in partners} if nobody_there else _NOBODY
        else:
            if was_there != (row in rows):
                self._count_anew(index, row, partners if change > 0 else [])
            elif (kept := self._counts[index]) is not None and self._sides[index].ttl_ms:
                # It lives as long as its row.
                kept.store(kept.load(), (row,))
            turned = self._count_one(1 - index, partners, change)
        self._show(index, row, kind, partners, turned)

    def _partners(self, index: int, row: Row) -> Partners:
        found: Rows = self._rows[1 - index].load()
        partners = list(found.items())
        if self._condition is None or not partners:
            return partners
        pairs = [(*other, *row) if index else (*row, *other) for other, _ in partners]
        true = self._condition.fulfilled(pairs)
        return [partner for partner, fits in zip(partners, true, strict=True) if fits]

    def _count_anew(self, index: int, row: Row, partners: Partners) -> None:
        """Note the partners of a row that is new, or gone."""
        if (kept := self._counts[index]) is not None:
            counts = kept.load()
            counts.pop(row, None)
            add(counts, row, sum(times for _, times in partners))
            kept.store(counts, (row,))

    def _count_one(self, index: int, rows: Partners, change: int) -> Set[Row]:
        """One partner more or less for some rows; those that had none before, or have none now."""
        kept = self._counts[index]
        if kept is None or not rows:
            return _NOBODY
        counts = kept.load()
        for row, _ in rows:
            add(counts, row, change)
        kept.store(counts, [row for row, _ in rows])
        return {row for row, _ in rows if counts.get(row, 0) == max(change, 0)}

    # Output.

    def _show_pairs(
        self, index: int, row: Row, kind: int, partners: Partners, turned: Set[Row]
    ) -> None:
        lonely, others_lonely = self._lonely[index], self._lonely[1 - index]
        gone = kind & 1
        # Flink's outer joins pass on an UPDATE_BEFORE of the side that is not outer, and no other.
        if lonely or (others_lonely and not gone):
            kind = DELETE if gone else INSERT
        if lonely and not partners:
            self._add(self._padded(index, row), kind)
        for other, times in partners:
            pair = (*other, *row) if index else (*row, *other)
            alone = others_lonely and other in turned
            for _ in range(times):
                if alone and not gone:
                    self._add(self._padded(1 - index, other), DELETE)
                self._add(pair, kind)
                if alone and gone:
                    self._add(self._padded(1 - index, other), INSERT)

    def _show_left(
        self, index: int, row: Row, kind: int, partners: Partners, turned: Set[Row]
    ) -> None:
        semi = self._spec.partner
        if index == 0:
            if bool(partners) == semi:
                self._add(row, kind)
            return
        if not semi:
            kind = INSERT if kind & 1 else DELETE
        for other, times in partners:
            if other in turned:
                for _ in range(times):
                    self._add(other, kind)

    def _padded(self, index: int, row: Row) -> Row:
        nulls = self._nulls[index]
        return (*nulls, *row) if index else (*row, *nulls)

    def _add(self, row: Row, kind: int) -> None:
        self._out.append((*row, kind) if self._spec.changelog else row)
