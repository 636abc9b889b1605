"""Rows with the rows that a table function, or UNNEST, makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.runtime.batch import Batch
from headrace.runtime.failure import NO_RECORD
from headrace.sql.operators.base import DELETE, INSERT, OpenedCode, RowOperator
from headrace.sql.operators.partners import with_partners
from headrace.sql.operators.specs import CorrelateSpec

Row = tuple[Any, ...]


def unnested(kind: str, ordinality: bool) -> Callable[[Any], Iterable[tuple[Any, ...]]]:
    """Rows of a container."""

    def rows(value: Any) -> Iterable[tuple[Any, ...]]:
        if value is None:
            return
        items: Iterable[Any]
        if kind == "map":
            items = value.items()
        elif kind == "multiset":
            items = ((v,) for v, count in value.items() for _ in range(count))
        elif kind == "rows":
            items = (() if v is None else v for v in value)
        else:
            items = ((v,) for v in value)
        for number, item in enumerate(items, 1):
            yield (*item, number) if ordinality else tuple(item)

    return rows


class CorrelateOperator(RowOperator):
    """No state but that of the user's function."""

    def __init__(self, spec: CorrelateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._code: OpenedCode
        self._condition: OpenedCode | None = None
        self._function: Callable[..., Iterable[Row]]
        self._batch: Callable[[list[Row]], list[list[Row]]] | None = None

    def open(self) -> None:
        function = self._spec.function
        try:
            self._code = OpenedCode(self._spec.arguments, self)
            if self._spec.condition is not None:
                self._condition = OpenedCode(self._spec.condition, self)
            if hasattr(function, "open"):
                self.closing.append(function)
                function.open(self)
                self._function = function
                self._batch = getattr(function, "batch", None)
            else:
                self._function = unnested(function.kind, function.ordinality)
        except Exception as error:
            raise self.failed(error, where="open") from error

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        spec = self._spec
        pairs: list[tuple[Any, ...]] = []
        row: Any = NO_RECORD
        try:
            for number, (row, partners) in enumerate(zip(rows, self._partners(rows), strict=True)):
                head = row[:-1] if spec.changelog else row
                pairs += [(*head, *made, number) for made in partners]
        except Exception as error:
            raise self.failed(error, row, where="table function") from error
        if self._condition is not None:
            try:
                pairs = self._condition.run(pairs)
            except Exception as error:
                raise self.failed_in(self._condition.run, pairs, error) from error
        width = spec.width if spec.outer else None
        if spec.changelog and getattr(spec.function, "renews", False):
            rows = [(*row[:-1], DELETE if row[-1] % 2 else INSERT) for row in rows]
        self.emit_rows(with_partners(rows, pairs, width, spec.changelog))

    def _partners(self, rows: list[Row]) -> Iterable[Iterable[Row]]:
        arguments = self._code.run(rows)
        if self._batch is not None:
            return self._batch(arguments)
        return (self._function(*a) for a in arguments)
