"""Statements in the log of MySQL and MariaDB that define tables or delete all of their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Definition", "definition_in"]

_TOKENS = re.compile(
    r"""(?P<comment>/\*(?!M?!).*?\*/|--(?=\s)[^\n]*|\#[^\n]*)"""
    # Marks of comments whose text the server executes.
    r"""|(?P<mark>/\*M?!\d*|\*/)"""
    r"""|`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[\w$]+|\S""",
    re.DOTALL,
)
_MODIFIERS = {
    *("ONLINE", "OFFLINE", "IGNORE", "OR", "REPLACE", "TABLE", "TABLES"),
    *("IF", "NOT", "EXISTS", "DATABASE", "SCHEMA"),
}
_REMOVES_ROWS = re.compile(r"\b(?:TRUNCATE|DROP|EXCHANGE) PARTITION\b")


@dataclass(frozen=True)
class Definition:
    """What a statement does.

    Attributes:
        action: `ALTER`, `RENAME`, `DROP`, `CREATE` of a table that may have been there, or
            `TRUNCATE`, which also stands for ALTER TABLE with partitions whose rows go.
        tables: The tables that it names, as (database, table), or (database, None) for all of a
            database.
    """

    action: str
    tables: frozenset[tuple[str, str | None]]

    def names(self, database: str, table: str) -> bool:
        """Whether it is about a table; upper and lower case are the same on some servers."""
        path = (database.casefold(), table.casefold())
        return path in self.tables or (path[0], None) in self.tables


def definition_in(statement: str, database: str) -> Definition | None:
    """What a statement defines, executed in a database; None for all others."""
    tokens = [m[0] for m in _TOKENS.finditer(statement) if not (m["comment"] or m["mark"])]
    words = [token.upper() for token in tokens]
    front = 1
    while front < len(words) and words[front] in _MODIFIERS:
        front += 1
    action, modifiers, rest = (words or [""])[0], words[1:front], tokens[front:]
    if not rest:
        return None
    if action == "DROP" and ("DATABASE" in modifiers or "SCHEMA" in modifiers):
        return Definition(action, frozenset([(_plain(rest[0]), None)]))
    wanted = {
        "ALTER": "TABLE" in modifiers,
        "CREATE": "TABLE" in modifiers and "REPLACE" in modifiers,
        "DROP": "TABLE" in modifiers or "TABLES" in modifiers,
        "RENAME": "TABLE" in modifiers or "TABLES" in modifiers,
        "TRUNCATE": True,
    }
    if not wanted.get(action, False):
        return None
    many = action in ("DROP", "RENAME")
    separators = {",", "TO"} if many else set()
    starts = [0, *(n + 1 for n, word in enumerate(words[front:]) if word in separators)]
    paths = [_path(rest[start:], database) for start in starts if start < len(rest)]
    if action == "ALTER" and _REMOVES_ROWS.search(" ".join(words[front:])):
        action = "TRUNCATE"
    return Definition(action, frozenset(paths))


def _path(tokens: list[str], database: str) -> tuple[str, str]:
    if tokens[1:2] == ["."]:
        return _plain(tokens[0]), _plain(tokens[2])
    return database.casefold(), _plain(tokens[0])


def _plain(name: str) -> str:
    # With ANSI_QUOTES, names may be in double quotes.
    mark = name[0] if name.startswith(("`", '"')) else ""
    return (name[1:-1].replace(mark * 2, mark) if mark else name).casefold()
