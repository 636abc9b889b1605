"""What a statement gave: columns, and rows that may still be coming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.job_client import JobClient
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types import MAX_LENGTH, BigIntType, VarCharType

__all__ = ["ChangedRows", "StatementResult", "changed_rows"]

ChangedRows = Iterator[tuple[int, Sequence[Any]]]
"""Kinds and internal values of rows."""


def changed_rows(records: Iterable[Any], changelog: bool) -> ChangedRows:
    """Kinds and values of a stream's rows, which end with their kind in a changelog."""
    if changelog:
        return ((r[-1], r[:-1]) for r in records)
    return ((0, r) for r in records)


def _nothing() -> None:
    """Nothing runs."""


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Attributes:
        schema: The columns.
        rows: Gives the rows, once; those of a query come while its job runs.
        has_content: Whether there are rows to show, and not only an `OK`.
        job_client: The job that was started, if any.
        zone: The session's time zone.
        tableau: How `Tableau` is to show the rows.
        plain: Shown instead of a table.
        close: Ends the job, if nobody wants its rows any more.
        wait: Waits for the end of the job, or for the first row of a query, for some seconds.
    """

    schema: Schema
    rows: Callable[[], ChangedRows]
    has_content: bool = True
    job_client: JobClient | None = None
    zone: str = "UTC"
    tableau: dict[str, Any] = field(default_factory=dict)
    plain: str | None = None
    close: Callable[[], None] = _nothing
    wait: Callable[[float | None], None] | None = None

    @staticmethod
    def ok() -> StatementResult:
        """A statement was done."""
        return StatementResult.of_rows(["result"], [("OK",)], has_content=False, plain="OK")

    @staticmethod
    def of_rows(
        names: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        types: Sequence[Any] | None = None,
        has_content: bool = True,
        plain: str | None = None,
    ) -> StatementResult:
        """Rows that are there already, of text unless types are given."""
        used = types or [VarCharType(MAX_LENGTH)] * len(names)
        schema = Schema(tuple(Field(a, b) for a, b in zip(names, used, strict=True)))
        held = [(0, tuple(r)) for r in rows]
        tableau = {"kinds": False, "by_type": False, "most_width": 1 << 30, "null": ""}
        return StatementResult(
            schema, lambda: iter(held), has_content, tableau=tableau, plain=plain
        )

    @staticmethod
    def of_job(
        client: JobClient, names: Sequence[str], wait: Callable[[float | None], None]
    ) -> StatementResult:
        """INSERT was started; the affected rows are not known, as in Flink."""
        types = [BigIntType()] * len(names)
        schema = Schema(tuple(Field(a, b) for a, b in zip(names, types, strict=True)))
        row = (0, tuple(-1 for _ in names))

        def rows() -> ChangedRows:
            wait(None)
            yield row

        tableau = {"kinds": False, "by_type": False}
        return StatementResult(schema, rows, job_client=client, tableau=tableau, wait=wait)
