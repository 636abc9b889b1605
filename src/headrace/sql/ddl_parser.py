"""Reads statements: DDL, SET, SHOW, INSERT and the rest; queries inside go to sqlglot."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.sql import statements as s
from headrace.sql.dialect import FlinkParser
from headrace.sql.from_ast import expression_node
from headrace.sql.hints import hint_options

_SHOW_KINDS = (
    "CURRENT CATALOG",
    "CURRENT DATABASE",
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE CATALOG",
    "USER FUNCTIONS",
    "FULL MODULES",
    "CATALOGS",
    "DATABASES",
    "TABLES",
    "VIEWS",
    "COLUMNS",
    "FUNCTIONS",
    "MODULES",
    "PARTITIONS",
    "JARS",
    "JOBS",
    "PROCEDURES",
    "MODELS",
)


class StatementParser(FlinkParser):
    """One statement from the tokens of one statement."""

    def parse_statement(self) -> s.Statement:
        word = self._curr.text.upper() if self._curr else ""
        method = getattr(self, f"_statement_{word.lower()}", None)
        if method is not None and self._curr.token_type != TokenType.IDENTIFIER:
            self._advance()
            statement: s.Statement = method()
            return statement
        return s.Query(self.parse_query())

    def parse_query(self) -> Any:
        start = self._curr
        if self._match(TokenType.TABLE):
            # TABLE t is short for SELECT * FROM t.
            table: Any = self._parse_table_parts()
            return exp.select("*").from_(table)
        word = start.text.upper() if start else ""
        if word in _UNSUPPORTED:
            self.raise_error(f"{word} is not supported yet", start)
        query = self._parse_statement()
        if query is None or query.key not in _QUERY_KEYS:
            self.raise_error("Expecting a statement", start)
        return query

    # Small pieces.

    def expect(self, *words: str) -> None:
        if not self._match_text_seq(*words):
            found = self._curr.text if self._curr else "the end"
            self.raise_error(f"Expecting {' '.join(words)} but found {found}")

    def name(self) -> str:
        token = self._curr
        if token is None or token.token_type in (TokenType.STRING, TokenType.NUMBER):
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
            if value is None:
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

    # CREATE.

    def _statement_create(self) -> s.Statement:
        replace = bool(self._match_text_seq("OR", "REPLACE"))
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        token, kind = self._curr, self.word()
        if kind == "TABLE":
            return self._create_table(temporary, replace)
        if kind == "VIEW":
            return self._create_view(temporary)
        if kind == "FUNCTION":
            return self._create_function(temporary, system)
        if_not_exists = self.if_not_exists()
        if kind == "DATABASE":
            path, comment = self.path(), self.comment()
            options = self.options() if self._match_text_seq("WITH") else {}
            return s.CreateDatabase(path, options, comment, if_not_exists)
        if kind == "CATALOG":
            name, comment = self.name(), self.comment()
            options = self.options() if self._match_text_seq("WITH") else {}
            return s.CreateCatalog(name, options, comment, if_not_exists)
        self.raise_error(f"CREATE {kind} is not supported yet", token)
        raise AssertionError

    def _create_table(self, temporary: bool, replace: bool) -> s.Statement:
        if_not_exists = self.if_not_exists()
        path = self.path()
        body: dict[str, Any] = {"columns": []}
        if self._match(TokenType.L_PAREN):
            while True:
                self._table_element(body)
                if not self._match(TokenType.COMMA):
                    break
            self._match_r_paren()
        comment = self.comment()
        if self._match_text_seq("DISTRIBUTED"):
            self._skip_distribution()
        partitioned: tuple[str, ...] = ()
        if self._match_texts(("PARTITIONED BY",)) or self._match_text_seq("PARTITIONED", "BY"):
            partitioned = self.names()
        options = self.options() if self._match_text_seq("WITH") else {}
        like = self._like() if self._match_text_seq("LIKE") else None
        query = self.parse_query() if self._match(TokenType.ALIAS) else None
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
            like,
            query,
            temporary,
            if_not_exists,
        )

    def _skip_distribution(self) -> None:
        self.expect("BY")
        self._match_texts(("HASH", "RANGE"))
        self.names()
        if self._match_text_seq("INTO"):
            self.word()
            self.expect("BUCKETS")

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

    def _at(self, *words: str) -> bool:
        return bool(self._match_text_seq(*words, advance=False))

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

    # DROP, ALTER, USE.

    def _statement_drop(self) -> s.Statement:
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        kind = self.word()
        if_exists = self.if_exists()
        path = self.path()
        cascade = bool(self._match_texts(("CASCADE",)))
        self._match_texts(("RESTRICT",))
        return s.Drop(kind, path, if_exists, temporary, system, cascade)

    def _statement_alter(self) -> s.Statement:
        kind = self.word()
        if_exists = self.if_exists()
        path = self.path()
        if self._match_text_seq("RENAME"):
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
            keys = self._parse_csv(self.string)
            self._match_r_paren()
            return s.Alter(kind, path, "reset", keys, if_exists)
        if self._match(TokenType.ALIAS):
            first = self._curr
            query = self.parse_query()
            return s.Alter(kind, path, "as", (query, self.text_since(first)), if_exists)
        if self._match_texts(("ADD", "MODIFY")):
            change = self._prev.text.lower()
            if change == "add" and (self._at("PARTITION") or self._at("IF")):
                return self._add_partitions(path, if_exists)
            return s.Alter(kind, path, change, self._added_elements(), if_exists)
        if self._match_texts(("DROP",)):
            if self._at("PARTITION") or self._at("IF"):
                return self._drop_partitions(path, if_exists)
            return s.Alter(kind, path, "drop", self._dropped(), if_exists)
        self.raise_error(f"this change of a {kind.lower()} is not supported")
        raise AssertionError

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
        if self._match_texts(("CONSTRAINT",)):
            return "constraint", self.name()
        names = self.names() if self._check(TokenType.L_PAREN) else (self.name(),)
        return "columns", names

    def _statement_use(self) -> s.Statement:
        if self._match_text_seq("CATALOG"):
            return s.Use("CATALOG", (self.name(),))
        if self._match_text_seq("MODULES"):
            return s.Use("MODULES", tuple(self._parse_csv(self.name)))
        return s.Use("DATABASE", self.path())

    # SET, SHOW, DESCRIBE, EXPLAIN.

    def _statement_set(self) -> s.Statement:
        if not self._curr:
            return s.SetOption()
        key = self._setting()
        self.expect("=")
        return s.SetOption(key, self._setting())

    def _statement_reset(self) -> s.Statement:
        return s.ResetOption(self._setting() if self._curr else None)

    def _setting(self) -> str:
        """Text in quotes, or what stands there without."""
        if self._check(TokenType.STRING):
            return self.string()
        first = self._curr
        while self._curr and not self._check(TokenType.EQ):
            self._advance()
        return self.text_since(first)

    def _statement_show(self) -> s.Statement:
        path: s.Path
        for kind in _SHOW_KINDS:
            if self._match_text_seq(*kind.split()):
                if kind.startswith("CREATE"):
                    return s.Show(kind, self.path())
                if kind == "PARTITIONS":
                    path = self.path()
                    wanted = self.partition() if self._match_texts(("PARTITION",)) else {}
                    return s.Show(kind, path, partition=wanted)
                break
        else:
            self.raise_error("Expecting what to show, such as TABLES")
        path = ()
        if self._match(TokenType.FROM) or self._match(TokenType.IN):
            path = self.path()
        negated = bool(self._match_text_seq("NOT"))
        insensitive = bool(self._match_texts(("ILIKE",)))
        pattern = None
        if insensitive or self._match_texts(("LIKE",)):
            pattern = self.string()
        return s.Show(kind, path, pattern, negated, insensitive)

    def _statement_describe(self) -> s.Statement:
        kind = "TABLE"
        if self._match_texts(("CATALOG", "DATABASE", "FUNCTION", "JOB")):
            kind = self._prev.text.upper()
        extended = bool(self._match_texts(("EXTENDED",)))
        return s.Describe(kind, self.path(), extended)

    _statement_desc = _statement_describe

    def _statement_explain(self) -> s.Statement:
        details = []
        if self._match_text_seq("PLAN", "FOR"):
            pass
        else:
            while self._match_texts(
                ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
            ):
                details.append(self._prev.text.upper())
                self._match(TokenType.COMMA)
        return s.Explain(self.parse_statement(), tuple(details))

    # INSERT and statement sets.

    def _statement_insert(self) -> s.Statement:
        overwrite = bool(self._match_texts(("OVERWRITE",)))
        if not overwrite:
            self.expect("INTO")
        self._match_texts(("TABLE",))
        hint_token = self._curr
        path = self.path()
        hints = hint_options([*(hint_token.comments or ()), *(self._prev.comments or ())])
        partition: dict[str, Any] = {}
        if self._match_texts(("PARTITION",)):
            self._match_l_paren()
            while not self._match(TokenType.R_PAREN):
                key = self.name()
                self.expect("=")
                partition[key] = expression_node(self._parse_assignment())
                self._match(TokenType.COMMA)
        columns: tuple[str, ...] = ()
        if self._check(TokenType.L_PAREN) and not self._is_query_ahead():
            columns = self.names()
        return s.Insert(path, self.parse_query(), columns, partition, overwrite, hints)

    def _is_query_ahead(self) -> bool:
        following = self._next
        return bool(following) and following.text.upper() in ("SELECT", "VALUES", "WITH", "(")

    def _statement_execute(self) -> s.Statement:
        if self._match_text_seq("STATEMENT", "SET"):
            if not self._match_texts(("BEGIN",)):
                self.raise_error("Expecting BEGIN")
            return self._first_of_set()
        return self.parse_statement()

    def _statement_begin(self) -> s.Statement:
        self.expect("STATEMENT", "SET")
        return self._first_of_set()

    def _first_of_set(self) -> s.Statement:
        """The first INSERT follows without a semicolon, or on its own."""
        if not self._curr:
            return s.BeginStatementSet()
        first = self.parse_statement()
        if not isinstance(first, s.Insert):
            self.raise_error("Only INSERT statements are allowed in a statement set")
        assert isinstance(first, s.Insert)
        return s.BeginStatementSet(first)

    def _statement_end(self) -> s.Statement:
        return s.EndStatementSet()

    # Modules, jobs.

    def _statement_load(self) -> s.Statement:
        self.expect("MODULE")
        name = self.name()
        options = self.options() if self._match_text_seq("WITH") else {}
        return s.LoadModule(name, options)

    def _statement_unload(self) -> s.Statement:
        self.expect("MODULE")
        return s.LoadModule(self.name(), unload=True)

    def _statement_analyze(self) -> s.Statement:
        self.expect("TABLE")
        path = self.path()
        while self._curr:
            self._advance()
        return s.AnalyzeTable(path)

    def _statement_stop(self) -> s.Statement:
        self.expect("JOB")
        job = self.string()
        savepoint = drain = False
        while self._match_text_seq("WITH"):
            if not self._match_texts(("SAVEPOINT", "DRAIN")):
                self.raise_error("Expecting SAVEPOINT or DRAIN")
            savepoint = savepoint or self._prev.text.upper() == "SAVEPOINT"
            drain = drain or self._prev.text.upper() == "DRAIN"
        return s.JobStatement("STOP", job, savepoint, drain)


_UNSUPPORTED = frozenset({"CALL", "DELETE", "MERGE", "TRUNCATE", "UPDATE"})
"""First words of statements that Flink has, for tables that can change rows in place."""

_QUERY_KEYS = frozenset({"select", "union", "except", "intersect", "values", "subquery", "table"})
