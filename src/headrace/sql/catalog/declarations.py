"""The statements that declare tables, views and models: as they are shown, and as they are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.sql import statements as s
from headrace.sql.catalog.entries import ModelEntry, TableEntry
from headrace.sql.catalog.manager import quoted, text_literal

__all__ = [
    "computed_text",
    "create_model_statement",
    "create_statement",
    "extras_text",
    "sql_type_text",
    "watermark_text",
    "with_clause",
]


def extras_text(column: s.ColumnDefinition) -> str | None:
    """What a column has besides name and type."""
    if column.expression is not None:
        return f"AS {computed_text(column)}"
    if column.metadata:
        key = f" FROM '{column.metadata_key}'" if column.metadata_key else ""
        return f"METADATA{key}{' VIRTUAL' if column.virtual else ''}"
    return None


def computed_text(column: s.ColumnDefinition) -> str:
    """What a column is computed of."""
    text = column.expression_text
    return quoted_expression(text) if column.expression_is_sql else text


def watermark_text(watermark: s.WatermarkDefinition) -> str:
    """What a watermark is computed of."""
    return quoted_expression(watermark.text) if watermark.is_sql else watermark.text


_WORD = re.compile(
    r"(?P<interval>INTERVAL\s+'[^']*'\s+\w+(?:\s+TO\s+\w+)?)"
    r"|(?P<kept>'(?:[^']|'')*'|`(?:[^`]|``)+`|(?:(?<=[(,])|(?<=, ))KEY(?=\s+(?!VALUE\b)['`\w]))"
    r"|(?P<name>[A-Za-z_]\w*)(?P<call>\s*\()?",
    re.IGNORECASE,
)
_KEYWORDS = frozenset({
    "AND", "AS", "BETWEEN", "BOTH", "CASE", "CAST", "CONDITIONAL", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "DEFAULT", "DISTINCT", "ELSE", "EMPTY", "END",
    "ESCAPE", "FALSE", "FOR", "FROM", "IN", "INTERVAL", "IS", "LEADING", "LIKE", "LOCALTIME",
    "LOCALTIMESTAMP", "NOT", "NULL", "ON", "OR", "SIMILAR", "SYMMETRIC", "THEN", "TO",
    "TRAILING", "TRUE", "UNCONDITIONAL", "UNKNOWN", "WHEN", "WRAPPER", "DAY", "HOUR", "MINUTE",
    "MONTH", "SECOND", "YEAR", "ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTES", "CHAR", "DATE",
    "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTEGER", "MAP", "MULTISET", "ROW", "SMALLINT",
    "STRING", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TINYINT", "VARBINARY", "VARCHAR",
})  # fmt: skip
"""Words that are names only in back ticks."""
_VALUE_ENDS = ("'", "`", ")", "]", *"0123456789")
_BEFORE_SYNTAX = re.compile(
    r"(?:\bON|(?<!\bSIMILAR )\bTO|\b(?:EXTRACT|TIMESTAMPADD|TIMESTAMPDIFF)\s*\()$", re.IGNORECASE
)
"""What is followed by a word of a function's own syntax, as in `ON ERROR` and `TO WEEK`."""


def quoted_expression(text: str) -> str:
    """An expression as Flink keeps it: names in back ticks, keywords in capitals."""
    name_ends = 0

    def word(found: re.Match[str]) -> str:
        nonlocal name_ends
        if found["interval"]:
            # SECONDS is another word for SECOND.
            return re.sub(r"(?<=\w)S\b", "", found["interval"].upper())
        if found["kept"]:
            return found["kept"]
        name, call = found["name"], found["call"]
        if call is not None:
            return f"{name.upper()}{call}"
        before = text[: found.start()].rstrip()
        # Two values are never side by side: a word behind one is syntax, such as PLACING.
        behind_value = before.endswith(_VALUE_ENDS) or (before and len(before) == name_ends)
        if name.upper() in _KEYWORDS or behind_value or _BEFORE_SYNTAX.search(before):
            return name.upper()
        name_ends = found.end()
        return f"`{name}`"

    return _WORD.sub(word, text)


def create_statement(path: tuple[str, ...], entry: TableEntry, temporary: bool) -> str:
    """The statement that makes a table or view again."""
    name = quoted(path)
    kind = "TEMPORARY " if temporary else ""
    if entry.is_view:
        columns = ",\n".join(f"  {quoted([c.name])}" for c in entry.columns)
        text = f"CREATE {kind}VIEW {name} (\n{columns}\n)\n"
        if entry.comment:
            text += f"COMMENT {text_literal(entry.comment)}\n"
        return f"{text}AS {entry.view_text or ''}\n"
    lines = [_column_line(c) for c in entry.columns]
    if entry.watermark is not None:
        column = quoted(entry.watermark.column)
        lines.append(f"WATERMARK FOR {column} AS {watermark_text(entry.watermark)}")
    if entry.primary_key:
        label = entry.primary_key_name or "PK_" + "_".join(entry.primary_key)
        key = _listed(entry.primary_key)
        lines.append(f"CONSTRAINT {quoted([label])} PRIMARY KEY ({key}) NOT ENFORCED")
    text = f"CREATE {kind}{entry.kind} {name}"
    if lines:
        body = ",\n".join(f"  {x}" for x in lines)
        text += f" (\n{body}\n)"
    if entry.comment:
        text += f"\nCOMMENT {text_literal(entry.comment)}"
    if entry.distribution is not None:
        text += f"\n{_distribution(entry.distribution)}"
    if entry.partition_keys:
        text += f"\nPARTITIONED BY ({_listed(entry.partition_keys)})"
    text = f"{text}\n{with_clause(entry.options)}"
    filled = entry.materialization
    if filled is not None:
        text += (
            f"START_MODE = {filled.start}\nFRESHNESS = {filled.freshness}\n"
            f"REFRESH_MODE = {filled.mode}\nAS {filled.query}\n"
        )
    return text


def create_model_statement(path: tuple[str, ...], entry: ModelEntry, temporary: bool) -> str:
    """The statement that makes a model again."""
    text = f"CREATE {'TEMPORARY ' if temporary else ''}MODEL {quoted(path)}\n"
    for word, columns in (("INPUT", entry.inputs), ("OUTPUT", entry.outputs)):
        if columns:
            text += f"{word} ({', '.join(map(_column_line, columns))})\n"
    if entry.comment:
        text += f"COMMENT {text_literal(entry.comment)}\n"
    return text + with_clause(entry.options)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(quoted([name]) for name in names)


def _distribution(distribution: s.TableDistribution) -> str:
    words = ["DISTRIBUTED"]
    if distribution.keys:
        words += ["BY", f"{distribution.kind}({_listed(distribution.keys)})"]
    if distribution.buckets:
        words += ["INTO", str(distribution.buckets), "BUCKETS"]
    return " ".join(words)


def _column_line(column: s.ColumnDefinition) -> str:
    if column.type is None:
        text = f"{quoted([column.name])} AS {computed_text(column)}"
    else:
        text = f"{quoted([column.name])} {sql_type_text(column.type)}"
    extras = extras_text(column)
    if column.metadata and extras:
        text += f" {extras}"
    return f"{text} COMMENT {text_literal(column.comment)}" if column.comment else text


def sql_type_text(type_: Any) -> str:
    """A type as SHOW CREATE TABLE writes it."""
    text = re.sub(r"\bSTRING\b", "VARCHAR(2147483647)", type_.sql_text())
    return re.sub(r"\bBYTES\b", "VARBINARY(2147483647)", text)


def with_clause(options: Mapping[str, str]) -> str:
    """WITH and options, one on each line."""
    pairs = [f"  {text_literal(k)} = {text_literal(v)}" for k, v in sorted(options.items())]
    return "WITH (\n" + ",\n".join(pairs) + "\n)\n"
