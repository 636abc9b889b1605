"""Pieces that statements are made of: names, paths, texts, options, queries."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.sql import statements as s
from headrace.sql.parser.dialect import FlinkParser

__all__ = ["StatementPieces", "nearest"]

_UNSUPPORTED = frozenset({"MERGE"})
"""First words of statements that are known, but not here."""

_QUERY_KEYS = frozenset({"select", "union", "except", "intersect", "values", "subquery", "table"})


def nearest(word: str, known: Iterable[str]) -> str:
    """`, did you mean X?` if a word is like one that may stand there."""
    found = difflib.get_close_matches(word, known, 1, 0.6)
    return f", did you mean {found[0]}?" if found and found[0] != word else ""


class StatementPieces(FlinkParser):
    """Reads pieces; parsers of statements build on it."""

    #: Words that statements begin with, for messages.
    first_words: ClassVar[Sequence[str]] = ("SELECT",)

    def parse_query(self) -> Any:
        start = self._curr
        if self._match(TokenType.TABLE):
            # TABLE t is short for SELECT * FROM t.
            table: Any = self._parse_table_parts()
            return exp.select("*").from_(table)
        word = start.text.upper() if start else ""
        if word in _UNSUPPORTED:
            self.raise_error(f"{word} is not supported yet", start)
        query: Any = self._parse_values() or self._parse_statement()
        if query is None or query.key not in _QUERY_KEYS:
            self.raise_error(f"Expecting a statement{nearest(word, self.first_words)}", start)
        return query

    def _parse_values(self) -> Any:
        """`VALUES 1, 2` or `VALUES ROW(1, 2)`: rows without parentheses around them."""
        ahead = self._next
        if not self._curr or self._curr.token_type is not TokenType.VALUES:
            return None
        if ahead and ahead.token_type is TokenType.L_PAREN:
            return None
        values: Any = self._parse_derived_table_values()
        return self._parse_query_modifiers(self._parse_set_operations(values))

    def expect(self, *words: str) -> None:
        if not self._match_text_seq(*words):
            found = self._curr.text if self._curr else "the end"
            self.raise_error(f"Expecting {' '.join(words)} but found {found}")

    def name(self) -> str:
        token = self._curr
        if not token or token.token_type in (TokenType.STRING, TokenType.NUMBER):
            self.raise_error("Expecting a name")
        self._advance()
        return str(token.text)

    def path(self) -> s.Path:
        parts = [self.name()]
        while self._match(TokenType.DOT):
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        if not self._match(TokenType.STRING):
            self.raise_error("Expecting text in single quotes")
        return str(self._prev.text)

    def comment(self) -> str | None:
        return self.string() if self._match_texts(("COMMENT",)) else None

    def names(self) -> tuple[str, ...]:
        self._match_l_paren()
        found = [self.name()]
        while self._match(TokenType.COMMA):
            found.append(self.name())
        self._match_r_paren()
        return tuple(found)

    def options(self) -> dict[str, str]:
        """('key' = 'value', ...)."""
        self._match_l_paren()
        found: dict[str, str] = {}
        while not self._match(TokenType.R_PAREN):
            key = self.string()
            self.expect("=")
            found[key] = self.string()
            if not self._match(TokenType.COMMA) and not self._check(TokenType.R_PAREN):
                self.raise_error("Expecting , or ) between options")
        return found

    def partition(self) -> dict[str, str]:
        """(key = value, ...): values are text, however they are written."""
        self._match_l_paren()
        found: dict[str, str] = {}
        while not self._match(TokenType.R_PAREN):
            key = self.name()
            self.expect("=")
            value = self._curr
            if not value:
                self.raise_error("Expecting the value of a partition key")
            self._advance()
            found[key] = str(value.text)
            if not self._match(TokenType.COMMA) and not self._check(TokenType.R_PAREN):
                self.raise_error("Expecting , or ) in a partition")
        return found

    def _check(self, kind: Any) -> bool:
        return bool(self._curr and self._curr.token_type == kind)

    def if_not_exists(self) -> bool:
        return bool(self._match_text_seq("IF", "NOT", "EXISTS"))

    def if_exists(self) -> bool:
        return bool(self._match_text_seq("IF", "EXISTS"))

    def text_since(self, first: Any) -> str:
        """The statement's text from a token up to here."""
        return str(self.sql[first.start : self._prev.end + 1])

    def _at(self, *words: str) -> bool:
        return bool(self._match_text_seq(*words, advance=False))
