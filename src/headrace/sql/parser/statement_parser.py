"""Reads statements: SET, SHOW, INSERT and the rest; queries inside go to sqlglot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot.tokenizer_core import TokenType

from headrace.sql import statements as s
from headrace.sql.parser.alter_parser import AlterParser
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.parser.hints import hint_options

__all__ = ["StatementParser"]

_SHOW_KINDS = (
    "CURRENT CATALOG",
    "CURRENT DATABASE",
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE CATALOG",
    "CREATE MODEL",
    "CREATE MATERIALIZED TABLE",
    "CREATE OR ALTER MATERIALIZED TABLE",
    "MATERIALIZED TABLES",
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


class StatementParser(AlterParser):
    """One statement from the tokens of one statement."""

    def parse_statement(self) -> s.Statement:
        word = self._curr.text.upper() if self._curr else ""
        read = self._READ.get(word)
        if read is not None and self._curr.token_type != TokenType.IDENTIFIER:
            self._advance()
            return read(self)
        return s.Query(self.parse_query())

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
        if self._match_texts(("CATALOG", "DATABASE", "FUNCTION", "MODEL", "JOB")):
            kind = self._prev.text.upper()
        extended = bool(self._match_texts(("EXTENDED",)))
        return s.Describe(kind, self.path(), extended)

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
        if self._match_text_seq("STATEMENT", "SET"):
            self.expect("BEGIN")
            return s.Explain(self._first_of_set(), tuple(details))
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
        query = self.parse_query()
        conflict = self._on_conflict()
        return s.Insert(path, query, columns, partition, overwrite, hints, conflict)

    def _on_conflict(self) -> s.OnConflict | None:
        first = self._curr
        if not self._match_text_seq("ON", "CONFLICT", "DO"):
            return None
        if not self._match_texts(("NOTHING", "ERROR", "DEDUPLICATE")):
            self.raise_error("Expecting NOTHING, ERROR or DEDUPLICATE")
        return s.OnConflict(self._prev.text.upper(), (first.start, self._prev.end))

    # Rows that are there.

    def _statement_delete(self) -> s.Statement:
        self.expect("FROM")
        return s.DeleteRows(self.path(), self._where())

    def _statement_update(self) -> s.Statement:
        path = self.path()
        self.expect("SET")
        assignments = self._parse_csv(self._assigned)
        return s.UpdateRows(path, tuple(assignments), self._where())

    def _assigned(self) -> tuple[str, Any]:
        name = self.name()
        self.expect("=")
        return name, expression_node(self._parse_assignment())

    def _where(self) -> Any:
        return expression_node(self._parse_assignment()) if self._match_text_seq("WHERE") else None

    def _statement_truncate(self) -> s.Statement:
        self.expect("TABLE")
        return s.TruncateTable(self.path())

    def _statement_call(self) -> s.Statement:
        path = self.path()
        self._match_l_paren()
        arguments: list[tuple[str | None, Any]] = []
        while not self._match(TokenType.R_PAREN):
            name = None
            if self._next and self._next.token_type == TokenType.FARROW:
                name = self.name()
                self._advance()
            arguments.append((name, expression_node(self._parse_assignment())))
            if not self._match(TokenType.COMMA) and not self._check(TokenType.R_PAREN):
                self.raise_error("Expecting , or ) between arguments")
        return s.Call(path, tuple(arguments))

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
        partition = None
        if self._match_text_seq("PARTITION"):
            partition = self._keys_with_values()
        self.expect("COMPUTE", "STATISTICS")
        columns: tuple[str, ...] = ()
        all_columns = False
        if self._match_text_seq("FOR"):
            all_columns = bool(self._match_text_seq("ALL"))
            self.expect("COLUMNS")
            if not all_columns:
                columns = tuple(self._parse_csv(self.name))
        return s.AnalyzeTable(path, partition, columns, all_columns)

    def _keys_with_values(self) -> tuple[tuple[str, str], ...]:
        """Partition keys, each with the text of its value if it has one."""
        self._match_l_paren()
        found: list[tuple[str, str]] = []
        while not self._match(TokenType.R_PAREN):
            key, value = self.name(), ""
            if self._match(TokenType.EQ):
                start = self._curr
                self._parse_assignment()
                value = self._find_sql(start, self._prev)
            found.append((key, value))
            self._match(TokenType.COMMA)
        return tuple(found)

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

    _READ: ClassVar[dict[str, Callable[[StatementParser], s.Statement]]] = {
        "DROP": AlterParser.drop_statement,
        "ALTER": AlterParser.alter_statement,
        "CREATE": AlterParser.create_statement,
        "USE": _statement_use,
        "SET": _statement_set,
        "RESET": _statement_reset,
        "SHOW": _statement_show,
        "DESCRIBE": _statement_describe,
        "EXPLAIN": _statement_explain,
        "INSERT": _statement_insert,
        "DELETE": _statement_delete,
        "UPDATE": _statement_update,
        "TRUNCATE": _statement_truncate,
        "CALL": _statement_call,
        "EXECUTE": _statement_execute,
        "BEGIN": _statement_begin,
        "END": _statement_end,
        "LOAD": _statement_load,
        "UNLOAD": _statement_unload,
        "ANALYZE": _statement_analyze,
        "STOP": _statement_stop,
        "DESC": _statement_describe,
    }
    """What reads on, by the first word of a statement."""
    first_words = ("SELECT", *_READ)
