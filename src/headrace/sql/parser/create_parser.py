"""Reads CREATE: tables with their columns, views, functions, models, databases and catalogs."""

from __future__ import annotations

import dataclasses
from typing import Any

from sqlglot.tokenizer_core import TokenType

from headrace.sql import statements as s
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.parser.statement_pieces import StatementPieces, nearest

__all__ = ["CreateParser"]

_STARTS = ("FROM_BEGINNING", "FROM_NOW", "FROM_TIMESTAMP")
_START_MODES = (*_STARTS, *(f"RESUME_OR_{start}" for start in _STARTS))


class CreateParser(StatementPieces):
    """CREATE, and the columns and keys that ALTER TABLE has as well."""

    def create_statement(self) -> s.Statement:
        """CREATE and what follows it."""
        replace = bool(self._match_text_seq("OR", "REPLACE"))
        or_alter = bool(self._match_text_seq("OR", "ALTER"))
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        token, kind = self._curr, self.word()
        if kind == "MATERIALIZED":
            if temporary or replace:
                what = "CREATE TEMPORARY" if temporary else "REPLACE"
                self.raise_error(f"{what} MATERIALIZED TABLE is not supported.", token)
            return self._create_materialized_table(or_alter)
        if or_alter:
            self.raise_error("Expecting MATERIALIZED TABLE after OR ALTER", token)
        if kind == "TABLE":
            return self._create_table(temporary, replace)
        if kind == "VIEW":
            return self._create_view(temporary)
        if kind == "FUNCTION":
            return self._create_function(temporary, system)
        if kind == "MODEL":
            return self._create_model(temporary)
        if_not_exists = self.if_not_exists()
        if kind == "DATABASE":
            path, comment = self.path(), self.comment()
            options = self.options() if self._match_text_seq("WITH") else {}
            return s.CreateDatabase(path, options, comment, if_not_exists)
        if kind == "CATALOG":
            name, comment = self.name(), self.comment()
            options = self.options() if self._match_text_seq("WITH") else {}
            return s.CreateCatalog(name, options, comment, if_not_exists)
        kinds = ("TABLE", "MATERIALIZED", "VIEW", "FUNCTION", "MODEL", "DATABASE", "CATALOG")
        hint = nearest(kind, kinds)
        self.raise_error(f"CREATE {kind} is not supported yet{hint}", token)
        raise AssertionError

    def _create_table(self, temporary: bool, replace: bool) -> s.Statement:
        if_not_exists = self.if_not_exists()
        table = self._table(self.path())
        like = self._like() if self._match_text_seq("LIKE") else None
        query = self.parse_query() if self._match(TokenType.ALIAS) else None
        return dataclasses.replace(
            table, like=like, query=query, temporary=temporary, if_not_exists=if_not_exists
        )

    def _table(self, path: s.Path) -> s.CreateTable:
        """Columns, keys and options of a table."""
        body: dict[str, Any] = {"columns": []}
        if self._match(TokenType.L_PAREN):
            while True:
                self._table_element(body)
                if not self._match(TokenType.COMMA):
                    break
            self._match_r_paren()
        comment = self.comment()
        distribution = self.distribution() if self._match_text_seq("DISTRIBUTED") else None
        partitioned: tuple[str, ...] = ()
        if self._match_texts(("PARTITIONED BY",)) or self._match_text_seq("PARTITIONED", "BY"):
            partitioned = self.names()
        options = self.options() if self._match_text_seq("WITH") else {}
        keys = body.get("primary_key", ())
        keys = keys or tuple(c.name for c in body["columns"] if c.primary_key)
        return s.CreateTable(
            path,
            tuple(body["columns"]),
            body.get("watermark"),
            keys,
            body.get("primary_key_name"),
            partitioned,
            options,
            comment,
            distribution,
        )

    def _create_materialized_table(self, or_alter: bool) -> s.Statement:
        self.expect("TABLE")
        path = self.path()
        names: tuple[str, ...] = ()
        if self._check(TokenType.L_PAREN) and self._is_list_of_names():
            names = self.names()
        table = self._table(path)
        start = self.start_mode()
        freshness = self._freshness() if self._match_text_seq("FRESHNESS") else None
        mode = None
        if self._match_text_seq("REFRESH_MODE"):
            self.expect("=")
            if not self._match_texts(("CONTINUOUS", "FULL")):
                self.raise_error("Expecting CONTINUOUS or FULL")
            mode = self._prev.text.upper()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and a query")
        first = self._curr
        query = self.parse_query()
        return s.CreateMaterializedTable(
            table, query, self.text_since(first), names, start, freshness, mode, or_alter
        )

    def start_mode(self) -> tuple[str, ...] | None:
        """START_MODE: its word, and the words of its interval or timestamp."""
        if not self._match_text_seq("START_MODE"):
            return None
        self.expect("=")
        if not self._match_texts(_START_MODES):
            self.raise_error(f"Expecting one of {', '.join(_START_MODES)}")
        kind = self._prev.text.upper()
        if kind.endswith("TIMESTAMP"):
            self._match_l_paren()
            self.expect("TIMESTAMP")
            zone = "LOCAL" if self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE") else ""
            words: tuple[str, ...] = (kind, self.string(), zone)
        elif kind.endswith("NOW") and self._match(TokenType.L_PAREN):
            self.expect("INTERVAL")
            words = (kind, *self._interval())
        else:
            return (kind,)
        self._match_r_paren()
        return words

    def _is_list_of_names(self) -> bool:
        """Whether there are no types in the parentheses that begin here."""
        after = self._tokens[self._index + 2 : self._index + 3]
        return bool(after) and after[0].token_type in (TokenType.COMMA, TokenType.R_PAREN)

    def _freshness(self) -> tuple[str, str]:
        self.expect("=")
        if not self._match_text_seq("INTERVAL"):
            self.raise_error(
                "MATERIALIZED TABLE only supports define interval type FRESHNESS, please refer to "
                "the materialized table document."
            )
        return self._interval()

    def _interval(self) -> tuple[str, str]:
        """The number and the unit behind INTERVAL."""
        sign = "-" if self._match(TokenType.DASH) else ""
        return sign + self.string(), self.word()

    def distribution(self) -> s.TableDistribution:
        """Into which buckets rows go: by columns, into a number of them, or both."""
        kind = ""
        keys: tuple[str, ...] = ()
        by = self._match_text_seq("BY")
        if by:
            kind = self._prev.text.upper() if self._match_texts(("HASH", "RANGE")) else ""
            keys = self.names()
        buckets = None
        if not by or self._at("INTO"):
            self.expect("INTO")
            token = self._curr
            if not self._match(TokenType.NUMBER) or not token.text.isdigit():
                self.raise_error("Expecting a number of buckets", token)
            buckets = int(token.text)
            self.expect("BUCKETS")
        return s.TableDistribution(keys, kind, buckets)

    def _table_element(self, body: dict[str, Any]) -> None:
        if self._match_text_seq("WATERMARK", "FOR"):
            body["watermark"] = self._watermark()
            return
        constraint = self.name() if self._match_text_seq("CONSTRAINT") else None
        if self._check(TokenType.PRIMARY_KEY) or constraint or self._at("PRIMARY", "KEY"):
            if not self._match(TokenType.PRIMARY_KEY):
                self.expect("PRIMARY", "KEY")
            body["primary_key"] = self.names()
            body["primary_key_name"] = constraint
            self._not_enforced()
            return
        body["columns"].append(self.column())

    def _not_enforced(self) -> None:
        if not self._match_text_seq("NOT", "ENFORCED"):
            self.raise_error(
                "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT "
                "ENFORCED controls if the constraint checks are performed on the incoming/outgoing "
                "data. Flink does not own the data therefore the only supported mode is the NOT "
                "ENFORCED mode"
            )

    def _watermark(self) -> s.WatermarkDefinition:
        column = self.path()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and an expression")
        first = self._curr
        node = expression_node(self._parse_assignment())
        return s.WatermarkDefinition(column, node, self.text_since(first))

    def column(self) -> s.ColumnDefinition:
        name = self.name()
        if self._match(TokenType.ALIAS):
            first = self._curr
            node = expression_node(self._parse_assignment())
            text = self.text_since(first)
            return s.ColumnDefinition(
                name, expression=node, expression_text=text, comment=self.comment()
            )
        type_ = self.parse_type()
        if self._match_texts(("METADATA",)):
            key = self.string() if self._match(TokenType.FROM) else None
            virtual = bool(self._match_texts(("VIRTUAL",)))
            return s.ColumnDefinition(
                name,
                type_,
                metadata=True,
                metadata_key=key,
                virtual=virtual,
                comment=self.comment(),
            )
        primary = False
        if self._match(TokenType.PRIMARY_KEY) or self._match_text_seq("PRIMARY", "KEY"):
            primary = True
            self._not_enforced()
        return s.ColumnDefinition(name, type_, comment=self.comment(), primary_key=primary)

    def _like(self) -> s.LikeClause:
        table = self.path()
        features = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                features.append((self.word(), self.word()))
        return s.LikeClause(table, tuple(features))

    def _create_view(self, temporary: bool) -> s.Statement:
        if_not_exists = self.if_not_exists()
        path = self.path()
        columns = self.names() if self._check(TokenType.L_PAREN) else ()
        comment = self.comment()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and a query")
        first = self._curr
        query = self.parse_query()
        return s.CreateView(
            path, query, self.text_since(first), columns, comment, temporary, if_not_exists
        )

    def _create_function(self, temporary: bool, system: bool) -> s.Statement:
        if_not_exists = self.if_not_exists()
        path = self.path()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and the function's place in single quotes")
        identifier = self.string()
        language = self.word() if self._match_text_seq("LANGUAGE") else "JAVA"
        return s.CreateFunction(path, identifier, language, temporary, system, if_not_exists)

    def _create_model(self, temporary: bool) -> s.Statement:
        if_not_exists = self.if_not_exists()
        path = self.path()
        inputs = self._model_columns() if self._match_text_seq("INPUT") else ()
        outputs = self._model_columns() if self._match_text_seq("OUTPUT") else ()
        comment = self.comment()
        options = self.options() if self._match_text_seq("WITH") else {}
        return s.CreateModel(path, inputs, outputs, options, comment, temporary, if_not_exists)

    def _model_columns(self) -> tuple[s.ColumnDefinition, ...]:
        self._match_l_paren()
        columns = self._parse_csv(self.column)
        self._match_r_paren()
        return tuple(columns)
