"""SQL text: placeholders, and statements that insert or update."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.jdbc.options import JdbcConnectionOptions

__all__ = [
    "count_placeholders",
    "quoted_name",
    "quoted_path",
    "translate_placeholders",
    "upsert_statement",
]

# What may contain a question mark that is not a placeholder comes before the question mark itself.
_TOKEN = re.compile(
    r"""
      '(?:[^']|'')*'            # text
    | "(?:[^"]|"")*"            # a name
    | `[^`]*`                   # a name of MySQL
    | --[^\n]*                  # a comment
    | /\*.*?\*/                 # a comment
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$   # text of PostgreSQL
    | \?\?                      # an operator of PostgreSQL, escaped as in JDBC
    | \?
    | %
    """,
    re.VERBOSE | re.DOTALL,
)


def count_placeholders(sql: str) -> int:
    """How many values a statement takes."""
    return sum(match[0] == "?" for match in _TOKEN.finditer(sql))


def translate_placeholders(sql: str, placeholder: Callable[[int], str] | None = None) -> str:
    """Put something in the place of each `?`, given its number from 1.

    By default `%s`, as Python's drivers want it, with every other percent sign doubled. With
    placeholders of another form nothing else changes.
    """
    numbers = iter(range(1, len(sql) + 1))

    def replace(match: re.Match[str]) -> str:
        token = match[0]
        if token == "?":
            return "%s" if placeholder is None else placeholder(next(numbers))
        if token == "??":
            return "?"
        return token.replace("%", "%%") if placeholder is None else token

    return _TOKEN.sub(replace, sql)


def quoted_name(options: JdbcConnectionOptions, name: str) -> str:
    """A name as the database's dialect quotes it, whatever characters it has."""
    mark = '"' if options.url.product == "postgresql" else "`"
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def quoted_path(options: JdbcConnectionOptions, table: str) -> str:
    """The name of a table, with its schema if it has one."""
    return ".".join(quoted_name(options, part) for part in table.split("."))


def upsert_statement(
    options: JdbcConnectionOptions, table: str, columns: Sequence[str], keys: Sequence[str]
) -> str:
    """The SQL that inserts a record, or updates the one with the same key.

    Written again after a failure such a record changes nothing: the sink is idempotent, and
    results are exact with `JdbcSink.sink`, too.

    Args:
        options: The database, which decides on the dialect.
        table: The table, with its schema if it has one.
        columns: All columns, in the order of the record's fields.
        keys: The columns of the primary key or of a unique constraint.
    """
    if isinstance(columns, str) or not columns or len(set(columns)) != len(columns):
        raise FunctionTypeError(f"columns must be a list of distinct names, not {columns!r}")
    if isinstance(keys, str) or not keys or not set(keys) <= set(columns):
        raise GraphError(f"keys must be some of the columns {list(columns)}, not {keys!r}")
    postgresql = options.url.product == "postgresql"

    def quoted(name: str) -> str:
        return quoted_name(options, name)

    names, values = ", ".join(map(quoted, columns)), ", ".join("?" * len(columns))
    insert = f"INSERT INTO {quoted_path(options, table)} ({names}) VALUES ({values})"
    others = [quoted(c) for c in columns if c not in keys]
    if postgresql:
        target = ", ".join(map(quoted, keys))
        if not others:
            return f"{insert} ON CONFLICT ({target}) DO NOTHING"
        changes = ", ".join(f"{c} = EXCLUDED.{c}" for c in others)
        return f"{insert} ON CONFLICT ({target}) DO UPDATE SET {changes}"
    changes = ", ".join(f"{c} = VALUES({c})" for c in others or [quoted(keys[0])])
    return f"{insert} ON DUPLICATE KEY UPDATE {changes}"
