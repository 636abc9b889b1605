"""`TableResult`: what a statement gave, and the rows of a query while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.common.job_client import JobClient
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.data_stream import CloseableIterator
from headrace.sql.expressions import Field, Schema
from headrace.sql.types import MAX_LENGTH, BigIntType, VarCharType
from headrace.sql.values import row_to_external
from headrace.table.result_kind import ResultKind
from headrace.table.tableau import Tableau

if TYPE_CHECKING:
    from headrace.table.catalog import ResolvedSchema
    from headrace.table.table_schema import TableSchema

__all__ = ["CloseableIterator", "TableResult"]

_KIND_BY_VALUE = tuple(RowKind)


class TableResult:
    """The result of `execute_sql` and `execute`.

    A query's rows come while its job runs: take them with `collect` or show them with `print`,
    once. A statement that only does something has the single row `OK`.
    """

    def __init__(
        self,
        schema: Schema,
        rows: Callable[[], Iterator[tuple[int, Sequence[Any]]]],
        *,
        kind: int = ResultKind.SUCCESS_WITH_CONTENT,
        job_client: JobClient | None = None,
        zone: str = "UTC",
        tableau: dict[str, Any] | None = None,
        plain: str | None = None,
        close: Callable[[], None] | None = None,
        wait: Callable[[float | None], None] | None = None,
    ) -> None:
        self._schema = schema
        self._rows = rows
        self._kind = kind
        self._job_client = job_client
        self._zone = zone
        self._tableau = tableau or {}
        self._plain = plain
        self._close = close
        self._wait = wait

    @staticmethod
    def ok() -> TableResult:
        """A statement was done."""
        return TableResult.of_rows(["result"], [("OK",)], kind=ResultKind.SUCCESS, plain="OK")

    @staticmethod
    def of_rows(
        names: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        types: Sequence[Any] | None = None,
        kind: int = ResultKind.SUCCESS_WITH_CONTENT,
        plain: str | None = None,
    ) -> TableResult:
        """Rows that are there already, of text unless types are given."""
        used = types or [VarCharType(MAX_LENGTH)] * len(names)
        schema = Schema(tuple(Field(a, b) for a, b in zip(names, used, strict=True)))
        held = [(0, tuple(r)) for r in rows]
        tableau = {"kinds": False, "by_type": False, "most_width": 1 << 30}
        return TableResult(schema, lambda: iter(held), kind=kind, tableau=tableau, plain=plain)

    @staticmethod
    def of_job(
        client: JobClient, names: Sequence[str], wait: Callable[[float | None], None]
    ) -> TableResult:
        """INSERT was started; the affected rows are not known, as in Flink."""
        types = [BigIntType()] * len(names)
        schema = Schema(tuple(Field(a, b) for a, b in zip(names, types, strict=True)))
        row = (0, tuple(-1 for _ in names))

        def rows() -> Iterator[tuple[int, Sequence[Any]]]:
            wait(None)
            yield row

        tableau = {"kinds": False, "by_type": False}
        return TableResult(schema, rows, job_client=client, tableau=tableau, wait=wait)

    def get_job_client(self) -> JobClient | None:
        """The job, if there is one."""
        return self._job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended, or for a query until its first row is there.

        Raises:
            TimeoutError: It took longer than that.
        """
        if self._wait is not None:
            self._wait(None if timeout_ms is None else timeout_ms / 1000)

    def get_table_schema(self) -> TableSchema:
        """The columns."""
        from headrace.table.table_schema import TableSchema

        return TableSchema(self._schema.names, self._schema.types)

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns with their types."""
        from headrace.table.catalog import ResolvedSchema

        return ResolvedSchema._of_plan(self._schema)

    def get_result_kind(self) -> int:
        """Whether there are rows to show."""
        return self._kind

    def collect(self) -> CloseableIterator[Row]:
        """The rows, as they come; closing the iterator ends the job."""
        from zoneinfo import ZoneInfo

        # PyFlink's rows have no names here, and show so.
        convert = row_to_external(self._schema.types, ZoneInfo(self._zone), named=False)

        def rows() -> Iterator[Row]:
            for kind, row in self._rows():
                yield row_of(convert(row), None, _KIND_BY_VALUE[kind])

        return CloseableIterator(rows(), self._close or _nothing)

    def print(self) -> None:
        """Show the rows as a table; of a stream as they come."""
        if self._plain is not None:
            print(self._plain)
            return
        tableau = Tableau(self._schema, self._zone, **self._tableau)
        tableau.print(self._rows(), lambda line: print(line, file=sys.stdout))
        sys.stdout.flush()


def _nothing() -> None:
    """Nothing runs."""


def rows_of_stream(records: Iterator[Any], changelog: bool) -> Iterator[tuple[int, Sequence[Any]]]:
    """Kinds and values of a stream's rows."""
    if changelog:
        return ((r[-1], r[:-1]) for r in records)
    return ((0, r) for r in records)


def refuse_second(used: bool) -> None:
    """A stream of rows can be taken once."""
    if used:
        raise HeadraceError("the rows of this result were taken already; run the statement again")
