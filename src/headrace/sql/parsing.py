"""From text to statements, with errors that show the place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from headrace.common.errors import SqlError, SqlParseError
from headrace.sql import statements as s
from headrace.sql.parser.dialect import Flink
from headrace.sql.parser.excerpts import located, underlined
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.parser.statement_parser import StatementParser
from headrace.sql.parser.syntax import Node, Span
from headrace.sql.room import with_room
from headrace.sql.types import DataType

__all__ = [
    "parse_expression",
    "parse_statement",
    "parse_statements",
    "parse_type_text",
]

T = TypeVar("T")


@with_room
def parse_statements(text: str) -> list[s.Statement]:
    """All statements of a script, separated by semicolons."""
    found = [_parsed(chunk, text, _Parser.parse_statement) for chunk in _chunks(text)]
    return _joined_sets(found)


def parse_statement(text: str) -> s.Statement:
    """The only statement of a text."""
    found = parse_statements(text)
    if len(found) != 1:
        raise SqlError(f"only single statement supported, but there are {len(found)}: {text!r}")
    return found[0]


@with_room
def parse_expression(text: str) -> Node:
    """An expression alone."""
    return _parsed(_tokens(text), text, lambda p: expression_node(p._parse_expression()))


@with_room
def parse_type_text(text: str) -> DataType:
    """A type alone, such as `ROW<a INT, b STRING NOT NULL>`."""
    return _parsed(_tokens(text), text, _Parser.parse_type)


def _tokens(text: str) -> list[Any]:
    try:
        return list(Flink().tokenize(text))
    except TokenError as error:
        span = _unterminated(text)
        reason = "this does not end" if span else str(error).splitlines()[0]
        raise underlined(f"the text cannot be read: {reason}", text, span, SqlParseError) from None


def _chunks(text: str) -> list[list[Any]]:
    chunks: list[list[Any]] = [[]]
    for token in _tokens(text):
        if token.token_type == TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [c for c in chunks if c]


class _Parser(StatementParser):
    def whole(self, tokens: list[Any], text: str, rule: Callable[[_Parser], T]) -> T:
        """What a rule makes of all tokens."""
        self.reset()
        self.sql = text
        self._chunks = [tokens]
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()
        found = rule(self)
        if self._curr:
            self.raise_error("this was not expected here")
        self.check_errors()
        return found


def _parsed(tokens: list[Any], text: str, rule: Callable[[_Parser], T]) -> T:
    try:
        return _Parser(dialect=Flink()).whole(tokens, text, rule)
    except ParseError as error:
        raise _translated(error, text) from None
    except SqlError as error:
        located(error, text)
        raise


def _joined_sets(found: list[s.Statement]) -> list[s.Statement]:
    """INSERTs between BEGIN STATEMENT SET and END become one statement, which may be explained."""
    out: list[s.Statement] = []
    inside: list[s.Insert] | None = None
    explain: s.Explain | None = None
    for statement in found:
        begin = statement.statement if isinstance(statement, s.Explain) else statement
        if isinstance(begin, s.BeginStatementSet):
            explain = statement if isinstance(statement, s.Explain) else None
            inside = [] if begin.first is None else [begin.first]
        elif isinstance(statement, s.EndStatementSet) and inside is not None:
            block = s.StatementSetBlock(tuple(inside))
            out.append(block if explain is None else replace(explain, statement=block))
            inside = None
        elif inside is not None and isinstance(statement, s.Insert):
            inside.append(statement)
        else:
            out.append(statement)
    if inside is not None:
        out += [s.BeginStatementSet(), *inside]
    return out


def _translated(error: ParseError, text: str) -> SqlParseError:
    detail = error.errors[0] if error.errors else {}
    line, column = detail.get("line"), detail.get("col") or 0
    message = detail.get("description") or str(error)
    if message.startswith("Required keyword"):
        message = "something is missing after this"
    # sqlglot shows whole tokens where the word is enough.
    message = re.sub(r"<Token .*?text: (.*?), line: .*?>", r"\1", message)
    if not line:
        return SqlParseError(message)
    highlight = detail.get("highlight") or " "
    lines = text.splitlines()
    # sqlglot counts the column at the last character of the token.
    start = max(column - len(highlight), 0)
    shown = lines[line - 1] if line <= len(lines) else ""
    mark = " " * start + "^" * max(len(highlight.splitlines()[0]), 1)
    return SqlParseError(f"{message}\n    {shown}\n    {mark}", (line, start + 1))


def _unterminated(text: str) -> Span | None:
    """The quote or comment that does not end."""
    position = 0
    while position < len(text):
        for pattern in (r"'(?:[^']|'')*'", r"`[^`]*`", r"--[^\n]*", r"/\*.*?\*/"):
            match = re.compile(pattern, re.DOTALL).match(text, position)
            if match is not None:
                position = match.end()
                break
        else:
            if text[position] in "'`" or text.startswith("/*", position):
                return (position, position)
            position += 1
    return None
