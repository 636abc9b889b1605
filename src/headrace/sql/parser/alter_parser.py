"""Reads DROP and ALTER."""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import TokenType

from headrace.sql import statements as s
from headrace.sql.parser.create_parser import CreateParser

__all__ = ["AlterParser"]


class AlterParser(CreateParser):
    """Changes of what is there."""

    def drop_statement(self) -> s.Statement:
        """DROP and what follows it."""
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        token, kind = self._curr, self._kind()
        if temporary and kind == "MATERIALIZED TABLE":
            self.raise_error("DROP TEMPORARY MATERIALIZED TABLE is not supported.", token)
        if_exists = self.if_exists()
        path = self.path()
        cascade = bool(self._match_texts(("CASCADE",)))
        self._match_texts(("RESTRICT",))
        return s.Drop(kind, path, if_exists, temporary, system, cascade)

    def alter_statement(self) -> s.Statement:
        """ALTER and what follows it."""
        kind = self._kind()
        if_exists = self.if_exists()
        path = self.path()
        if kind == "MATERIALIZED TABLE":
            refreshing = self._refreshing(path)
            if refreshing is not None:
                return refreshing
        elif self._match_text_seq("RENAME"):
            if self._match_text_seq("TO"):
                return s.Alter(kind, path, "rename", self.path(), if_exists)
            old = self.name()
            self.expect("TO")
            return s.Alter(kind, path, "rename column", (old, self.name()), if_exists)
        if kind == "FUNCTION":
            return self._alter_function(path, if_exists)
        if self._match_texts(("SET",)):
            return s.Alter(kind, path, "set", self.options(), if_exists)
        if kind == "CATALOG" and self._match_texts(("COMMENT",)):
            return s.Alter(kind, path, "comment", self.string(), if_exists)
        if self._match_texts(("RESET",)):
            self._match_l_paren()
            keys = [] if self._check(TokenType.R_PAREN) else self._parse_csv(self.string)
            self._match_r_paren()
            return s.Alter(kind, path, "reset", keys, if_exists)
        start = self.start_mode() if kind == "MATERIALIZED TABLE" else None
        if self._match(TokenType.ALIAS):
            first = self._curr
            query = self.parse_query()
            return s.Alter(kind, path, "as", (query, self.text_since(first), start), if_exists)
        if start is not None:
            self.raise_error("Expecting AS and a query")
        if self._match_texts(("ADD", "MODIFY")):
            change = self._prev.text.lower()
            if change == "add" and (self._at("PARTITION") or self._at("IF")):
                return self._add_partitions(path, if_exists)
            if self._match_text_seq("DISTRIBUTION"):
                value = (change, self.distribution())
                return s.Alter(kind, path, "distribution", value, if_exists)
            return s.Alter(kind, path, change, self._added_elements(), if_exists)
        if self._match_texts(("DROP",)):
            if self._at("PARTITION") or self._at("IF"):
                return self._drop_partitions(path, if_exists)
            return s.Alter(kind, path, "drop", self._dropped(), if_exists)
        self.raise_error(f"this change of a {kind.lower()} is not supported")
        raise AssertionError

    def _kind(self) -> str:
        """TABLE, VIEW and the like; a materialized table has two words."""
        kind = self.word()
        if kind == "MATERIALIZED":
            self.expect("TABLE")
            return "MATERIALIZED TABLE"
        return kind

    def _refreshing(self, path: s.Path) -> s.Alter | None:
        """What is done to a materialized table alone."""
        if self._match_text_seq("SUSPEND"):
            return s.Alter("MATERIALIZED TABLE", path, "suspend")
        if self._match_text_seq("RESUME"):
            options = self.options() if self._match_text_seq("WITH") else {}
            return s.Alter("MATERIALIZED TABLE", path, "resume", options)
        if self._match_text_seq("REFRESH"):
            wanted = self.partition() if self._match_texts(("PARTITION",)) else {}
            return s.Alter("MATERIALIZED TABLE", path, "refresh", wanted)
        return None

    def _alter_function(self, path: s.Path, if_exists: bool) -> s.Statement:
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and the function's place in single quotes")
        identifier = self.string()
        language = self.word() if self._match_text_seq("LANGUAGE") else "JAVA"
        return s.Alter("FUNCTION", path, "function", (identifier, language), if_exists)

    def _add_partitions(self, path: s.Path, if_exists: bool) -> s.Statement:
        ignore = self.if_not_exists()
        found: list[tuple[dict[str, str], dict[str, str]]] = []
        while self._match_texts(("PARTITION",)):
            spec = self.partition()
            found.append((spec, self.options() if self._match_text_seq("WITH") else {}))
        return s.Alter("TABLE", path, "add partitions", (found, ignore), if_exists)

    def _drop_partitions(self, path: s.Path, if_exists: bool) -> s.Statement:
        ignore = self.if_exists()
        found = []
        while self._match_texts(("PARTITION",)):
            found.append(self.partition())
            self._match(TokenType.COMMA)
        return s.Alter("TABLE", path, "drop partitions", (found, ignore), if_exists)

    def _added_elements(self) -> dict[str, Any]:
        body: dict[str, Any] = {"columns": [], "positions": {}}
        wrapped = self._match(TokenType.L_PAREN)
        while True:
            before = len(body["columns"])
            self._table_element(body)
            if len(body["columns"]) > before:
                name = body["columns"][-1].name
                if self._match_texts(("FIRST",)):
                    body["positions"][name] = None
                elif self._match_texts(("AFTER",)):
                    body["positions"][name] = self.name()
            if not wrapped or not self._match(TokenType.COMMA):
                break
        if wrapped:
            self._match_r_paren()
        return body

    def _dropped(self) -> tuple[str, Any]:
        if self._match_texts(("WATERMARK",)):
            return "watermark", None
        if self._match(TokenType.PRIMARY_KEY) or self._match_text_seq("PRIMARY", "KEY"):
            return "primary key", None
        if self._match_text_seq("DISTRIBUTION"):
            return "distribution", None
        if self._match_texts(("CONSTRAINT",)):
            return "constraint", self.name()
        names = self.names() if self._check(TokenType.L_PAREN) else (self.name(),)
        return "columns", names
