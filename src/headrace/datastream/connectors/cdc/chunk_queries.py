"""The queries that cut a table into chunks and read one, in any dialect."""

from __future__ import annotations

from typing import Any

from headrace.datastream.connectors.cdc.changes import Chunk

__all__ = ["bounds_query", "chunk_query"]


def bounds_query(table: str, key: str, size: int) -> str:
    """Keys at which a table is cut: those of every so-many-th row."""
    return (
        f"SELECT DISTINCT k FROM (SELECT {key} AS k, row_number() OVER (ORDER BY {key}) AS n "
        f"FROM {table} WHERE {key} IS NOT NULL) AS numbered "
        f"WHERE n > 1 AND mod(n, {size}) = {1 % size} ORDER BY k"
    )


def chunk_query(columns: str, table: str, key: str, chunk: Chunk) -> tuple[str, list[Any]]:
    """The rows of a chunk, with the values of placeholders (%s)."""
    sql = f"SELECT {columns} FROM {table}"
    bounds = [(">=", chunk.low), ("<", chunk.high)]
    terms = [f"{key} {operator} %s" for operator, bound in bounds if bound is not None]
    if not terms:
        return sql, []
    where = " AND ".join(terms)
    if chunk.low is None:
        where = f"({where} OR {key} IS NULL)"
    return f"{sql} WHERE {where}", [bound for _, bound in bounds if bound is not None]
