"""Between internal rows and users' `Row` objects."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.types import Row, RowKind, row_of
from headrace.runtime.batch import Batch
from headrace.sql.functions.builtin.times import to_local
from headrace.sql.operators.base import RowOperator, without_old
from headrace.sql.operators.specs import ExternalRowsSpec, InternalRowsSpec
from headrace.sql.types import RowField, RowType
from headrace.sql.types.values import row_to_external, to_internal

_KINDS = tuple(RowKind)


class ExternalRowsOperator(RowOperator):
    """`Row` objects of internal rows."""

    def __init__(self, spec: ExternalRowsSpec) -> None:
        super().__init__()
        self._spec = spec
        self._names = list(spec.names)
        self._convert = row_to_external(spec.types, ZoneInfo(spec.zone), streamed=True)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        names, convert, rowtime = self._names, self._convert, self._spec.rowtime
        rows = batch.values
        if self._spec.changelog:
            if (key := self._spec.upsert_key) is not None:
                keyed = [(tuple([r[i] for i in key]), r) for r in rows]
                rows = [r for _, r in without_old(keyed)]
            out = [row_of(convert(r[:-1]), names, _KINDS[r[-1]]) for r in rows]
        else:
            out = [row_of(convert(r), names) for r in rows]
        stamps: Any = None
        if rowtime is not None:
            times = [r[rowtime] for r in rows]
            stamps = [None if time is None else time // 1000 for time in times]
        if out:
            self.output.emit(Batch(out, stamps))


class InternalRowsOperator(RowOperator):
    """Internal rows of users' objects, checked against their types."""

    def __init__(self, spec: InternalRowsSpec) -> None:
        super().__init__()
        self._spec = spec
        fields = [RowField(n, x) for n, x in zip(spec.names, spec.types, strict=True)]
        self._zone = zone = ZoneInfo(spec.zone)
        self._row = to_internal(RowType(fields, False), zone)
        self._only = to_internal(spec.types[0], zone) if spec.whole else None

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        out: list[tuple[Any, ...]] = []
        value: Any = None
        try:
            if not self._spec.rowtimes:
                for value in batch.values:
                    out.append(self._converted(value))
            else:
                stamps = batch.timestamps or [None] * len(batch.values)
                for value, stamp in zip(batch.values, stamps, strict=True):
                    out.append(self._converted(value, self._times(stamp)))
        except Exception as error:
            raise self.failed(error, value, where="converting to a row") from error
        self.emit_rows(out)

    def _times(self, stamp: int | None) -> tuple[int, ...]:
        """The columns with a record's timestamp."""
        if stamp is None or stamp <= MIN_LONG_VALUE:
            raise ValueError(
                "the record has no timestamp for the metadata column 'rowtime'; call "
                "assign_timestamps_and_watermarks(...) on the stream"
            )
        time = stamp * 1000
        return tuple([to_local(self._zone, time) if x else time for x in self._spec.rowtimes])

    def _converted(self, value: Any, times: tuple[int, ...] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] = (self._only(value),) if self._only is not None else self._row(value)
        row += times
        if not self._spec.changelog:
            return row
        kind = value.get_row_kind().value if isinstance(value, Row) else 0
        return (*row, kind)
