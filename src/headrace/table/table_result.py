"""`TableResult`: what a statement gave, and the rows of a query while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from headrace.common.display.html import html_facts, html_table
from headrace.common.job_client import JobClient
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.data_stream import CloseableIterator
from headrace.sql.session.result import StatementResult
from headrace.sql.session.tableau import Tableau, print_result
from headrace.sql.types.values import row_to_external
from headrace.table.catalog import ResolvedSchema
from headrace.table.result_kind import ResultKind
from headrace.table.table_schema import TableSchema

__all__ = ["CloseableIterator", "TableResult"]

_KIND_BY_VALUE = tuple(RowKind)


class TableResult:
    """The result of `execute_sql` and `execute`.

    A query's rows come while its job runs: take them with `collect` or show them with `print`,
    once. A statement that only does something has the single row `OK`.
    """

    def __init__(self, result: StatementResult) -> None:
        self._result = result

    def get_job_client(self) -> JobClient | None:
        """Returns the client of the job, or None."""
        return self._result.job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Waits until the job has ended, or for a query until its first row has arrived.

        Raises:
            TimeoutError: It took longer than that.
        """
        if self._result.wait is not None:
            self._result.wait(None if timeout_ms is None else timeout_ms / 1000)

    def get_table_schema(self) -> TableSchema:
        """Returns the columns."""
        return TableSchema(self._result.schema.names, self._result.schema.types)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Returns the columns with their types."""
        return ResolvedSchema.of_plan(self._result.schema)

    def get_result_kind(self) -> int:
        """Returns whether there are rows to show."""
        content = self._result.has_content
        return ResultKind.SUCCESS_WITH_CONTENT if content else ResultKind.SUCCESS

    def collect(self) -> CloseableIterator[Row]:
        """Returns the rows as they arrive; closing the iterator ends the job."""
        result = self._result
        # PyFlink's rows have no names here, and show so.
        convert = row_to_external(result.schema.types, ZoneInfo(result.zone), collected=True)

        def rows() -> Iterator[Row]:
            for kind, row in result.rows():
                yield row_of(convert(row), None, _KIND_BY_VALUE[kind])

        return CloseableIterator(rows(), result.close)

    def print(self) -> None:
        """Prints the rows as a table; those of a stream as they arrive."""
        print_result(self._result)

    def _repr_html_(self) -> str:
        """What it is; rows of a job are left for `collect` and `print`, which give them once."""
        result = self._result
        if result.job_client is None:
            cells = Tableau(result.schema, result.zone).cells
            return html_table(result.schema.names, (cells(row) for _, row in result.rows()))
        job = result.job_client
        columns = ", ".join(f"{f.name} {f.type_text()}" for f in result.schema)
        state = job.get_job_status().result().name
        return html_facts("query", {"columns": columns, "job": job.get_job_id(), "state": state})
