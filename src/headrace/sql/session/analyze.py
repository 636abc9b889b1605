"""ANALYZE TABLE: counts rows and looks at columns, for plans in batch mode."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import ColumnStatistics, TableEntry, TableStatistics
from headrace.sql.catalog.manager import quoted
from headrace.sql.parsing import parse_statement
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = ["analyze_table"]

_WITHOUT_ORDER = (t.ArrayType, t.MapType, t.RowType, t.VarBinaryType, t.BinaryType)


def analyze_table(session: Session, statement: s.AnalyzeTable) -> StatementResult:
    """Runs a query over the table, and keeps what it gives in the table's catalog."""
    if not session.batch:
        raise SqlError("ANALYZE TABLE is not supported for streaming mode now")
    catalog, database, name = path = session.catalogs.full_path(statement.path)
    entry = session.catalogs.find_table(path)
    if entry is None:
        raise SqlError(f"Table {'.'.join(statement.path)} not found")
    if entry.is_view:
        raise SqlError("ANALYZE TABLE for a view is not allowed")
    if session.catalogs.is_temporary(path):
        raise SqlError(f"the temporary table {name} is in no catalog that could keep statistics")
    _check(entry, statement, name)
    columns = _columns(entry, statement)
    store = session.catalogs.catalog(catalog)
    for row in _rows(session, _query(path, entry, statement, columns)):
        spec = tuple(zip(entry.partition_keys, map(str, row), strict=False))
        held = _statistics(row[len(spec) :], columns)
        store.put_table_statistics(database, name, held[0], spec)
        if columns:
            store.put_column_statistics(database, name, held[1], spec)
    return StatementResult.ok()


def _check(entry: TableEntry, statement: s.AnalyzeTable, name: str) -> None:
    keys = entry.partition_keys
    given = [key for key, _ in statement.partition or ()]
    if keys and statement.partition is None:
        raise SqlError("For partition table, all partition keys should be specified explicitly.")
    if not keys and given:
        raise SqlError(f"{name} is not a partition table, while partition values are given.")
    if sorted(given) != sorted(keys):
        raise SqlError(
            f"the partition keys of {name} are {', '.join(keys)}, not {', '.join(given)}; name all "
            "of them, with or without a value"
        )


def _columns(entry: TableEntry, statement: s.AnalyzeTable) -> list[tuple[str, t.DataType]]:
    types = {c.name: c.type for c in entry.columns if c.type is not None and not c.metadata}
    names = list(types) if statement.all_columns else list(statement.columns)
    for column in names:
        if column not in types:
            raise SqlError(f"Column: {column} does not exist{suggestion(column, types)}")
    return [(x, types[x]) for x in names if x not in entry.partition_keys]


def _query(
    path: tuple[str, str, str],
    entry: TableEntry,
    statement: s.AnalyzeTable,
    columns: list[tuple[str, t.DataType]],
) -> str:
    keys = [quoted([key]) for key in entry.partition_keys]
    calls = ["COUNT(*)"]
    for name, type_ in columns:
        calls += [text.format(quoted([name])) for text in _calls(type_).values()]
    where = [f"{quoted([key])} = {value}" for key, value in statement.partition or () if value]
    text = f"SELECT {', '.join([*keys, *calls])} FROM {quoted(path)}"
    text += f" WHERE {' AND '.join(where)}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def _calls(type_: t.DataType) -> dict[str, str]:
    """What is computed of a column, with Flink's names of it."""
    calls = {"count": "COUNT({0})"}
    if isinstance(type_, _WITHOUT_ORDER):
        return calls
    calls["ndv"] = "COUNT(DISTINCT {0})"
    if is_character(type_):
        lengths = "CAST(CHAR_LENGTH({0}) AS BIGINT)"
        return {**calls, "maxLength": f"MAX({lengths})", "totalLength": f"SUM({lengths})"}
    if isinstance(type_, t.NumericType | t.DateType) or is_timestamp(type_):
        return {**calls, "min": "MIN({0})", "max": "MAX({0})"}
    return calls


def _rows(session: Session, text: str) -> list[Any]:
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    result = session.run_query(session.query_plan(statement.tree, text))
    return [row for _, row in result.rows()]


def _statistics(
    values: Any, columns: list[tuple[str, t.DataType]]
) -> tuple[TableStatistics, ColumnStatistics]:
    found = iter(values)
    rows = next(found)
    data: dict[str, Any] = {}
    for name, type_ in columns:
        figures = {figure: next(found) for figure in _calls(type_)}
        count = figures.pop("count")
        if "totalLength" in figures:
            figures["avgLength"] = (figures.pop("totalLength") or 0) / max(count, 1)
        data[name] = {**figures, "nullCount": rows - count}
    return TableStatistics(row_count=rows), ColumnStatistics(data)
