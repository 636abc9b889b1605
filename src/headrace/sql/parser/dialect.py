"""Flink's SQL for sqlglot: its tokens, and the expressions that are written in a special way.

Functions are not translated while they are read: each stays a name with arguments, and the binder
finds it in the registry. Statements other than queries are read by
`headrace.sql.parser.statement_parser`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from headrace.sql import types as t
from headrace.sql.parser.json_syntax import JsonSyntax
from headrace.sql.parser.match_syntax import MatchSyntax
from headrace.sql.parser.tree_nodes import (
    Form,
    ModelArgument,
    NamedArgument,
    TableArgument,
    TypeNode,
)
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["Flink", "FlinkParser"]

_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
"""Those of intervals."""

_PLAIN_WORDS = frozenset(
    {"/*+", "EXECUTE", "CALL", "SHOW", "COMMENT", "EXPLAIN", "ANALYZE", "COPY", "SESSION"}
)
"""Keywords of sqlglot that are ordinary words here."""


class FlinkTokenizer(tokens.Tokenizer):
    """Names in back ticks, text in single quotes, `x'0f'` for bytes."""

    IDENTIFIERS: ClassVar[list[Any]] = ["`"]
    QUOTES: ClassVar[list[Any]] = ["'"]
    STRING_ESCAPES: ClassVar[list[str]] = ["'"]
    HEX_STRINGS: ClassVar[list[Any]] = [("x'", "'"), ("X'", "'")]
    UNICODE_STRINGS: ClassVar[list[Any]] = [("u&'", "'"), ("U&'", "'")]
    COMMANDS: ClassVar[set[Any]] = set()
    KEYWORDS: ClassVar[dict[str, Any]] = {
        **{k: v for k, v in tokens.Tokenizer.KEYWORDS.items() if k not in _PLAIN_WORDS},
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
    }


class FlinkParser(JsonSyntax, MatchSyntax, parser.Parser):
    """Reads queries and expressions."""

    # `a = b IS TRUE` asks whether the two are equal, as in Calcite.
    IS_PREDICATE_PRECEDENCE: ClassVar[Any] = parser.IsPredicatePrecedence.EQUALITY
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CASE": lambda self: self._parse_case(),
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CAST": lambda self: self.parse_cast("CAST"),
        "TRY_CAST": lambda self: self.parse_cast("TRY_CAST"),
        "EXTRACT": lambda self: self.parse_extract(),
        "TRIM": lambda self: self.parse_trim(),
        "POSITION": lambda self: self.parse_position(),
        "SUBSTRING": lambda self: self.parse_from_for("SUBSTRING", "FROM"),
        "OVERLAY": lambda self: self.parse_overlay(),
        "CEIL": lambda self: self.parse_to_unit("CEIL"),
        "CEILING": lambda self: self.parse_to_unit("CEIL"),
        "FLOOR": lambda self: self.parse_to_unit("FLOOR"),
        "JSON_VALUE": lambda self: self.parse_json_path("JSON_VALUE"),
        "JSON_QUERY": lambda self: self.parse_json_path("JSON_QUERY"),
        "JSON_EXISTS": lambda self: self.parse_json_path("JSON_EXISTS"),
        "JSON_OBJECT": lambda self: self.parse_json_object("JSON_OBJECT"),
        "JSON_OBJECTAGG": lambda self: self.parse_json_object("JSON_OBJECTAGG"),
        "JSON_ARRAY": lambda self: self.parse_json_array("JSON_ARRAY"),
        "JSON_ARRAYAGG": lambda self: self.parse_json_array("JSON_ARRAYAGG"),
    }
    QUERY_MODIFIER_PARSERS: ClassVar[dict[Any, Any]] = {
        k: v
        for k, v in parser.Parser.QUERY_MODIFIER_PARSERS.items()
        if k != TokenType.MATCH_RECOGNIZE
    }
    COLUMN_OPERATORS: ClassVar[dict[Any, Any]] = {
        k: v for k, v in parser.Parser.COLUMN_OPERATORS.items() if k == TokenType.DOT
    }

    def _parse_csv(self, parse_method: Any, sep: Any = TokenType.COMMA) -> list[Any]:
        """A list; sqlglot would overlook that something is missing after a comma."""
        begun = False

        def element() -> Any:
            nonlocal begun
            comma = self._prev if begun else None
            begun = True
            found = parse_method()
            if found is None and comma is not None:
                self.raise_error("Expecting something after the comma", comma)
            return found

        return list(super()._parse_csv(element, sep))

    def _advance(self, times: int = 1) -> None:
        if self._index + times > self._tokens_size:
            self.raise_error("something is missing after this")
        super()._advance(times)

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        table = self._parse_explicit_table() or super()._parse_table(*args, **kwargs)
        return self.parse_match(table) if self._match(TokenType.MATCH_RECOGNIZE) else table

    def _parse_paren(self) -> Any:
        """Also `(a - b) DAY`, the time between two others."""
        literal = self._prev is not None and self._prev.token_type == TokenType.INTERVAL
        found = super()._parse_paren()
        terms = found.this if isinstance(found, exp.Paren) else None
        if literal or not isinstance(terms, exp.Sub) or self._curr.text.upper() not in _UNITS:
            return found
        units = self.word()
        if self._match_text_seq("TO"):
            units += f" TO {self.word()}"
        return self.call("MINUS_DATE", terms.this, terms.expression, exp.Literal.string(units))

    def _parse_explicit_table(self) -> Any:
        """`(TABLE t)`, which is all of a table, in FROM."""
        if self._curr.token_type != TokenType.L_PAREN or self._next.token_type != TokenType.TABLE:
            return None
        self._advance(2)
        table: Any = self._parse_table_parts()
        query = exp.select("*").from_(table)
        self._match_r_paren()
        alias = self._parse_table_alias()
        return self.expression(exp.Subquery(this=query, alias=alias))

    # Arguments of functions.

    def _parse_lambda(self, alias: bool = False) -> Any:
        if self._next and self._next.token_type == TokenType.FARROW:
            name = self._curr.text
            self._advance(2)
            return self.expression(NamedArgument(this=name, expression=self._parse_lambda()))
        if self._curr.token_type == TokenType.TABLE:
            return self.parse_table_argument()
        if self._curr.text.upper() == "MODEL" and self._next_is_name():
            self._advance()
            return self.expression(ModelArgument(this=self._parse_table_parts()))
        found = super()._parse_lambda(alias)
        if not isinstance(found, exp.Subquery):
            return found
        table = self._parse_table_clauses(found)
        # Without clauses it may be a value as well: the function knows.
        return table if table.args["partition"] or table.args["order"] else found

    def _next_is_name(self) -> bool:
        following = self._next
        return bool(following) and following.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

    def parse_table_argument(self) -> Any:
        self._advance()
        if self._curr and self._curr.token_type == TokenType.L_PAREN:
            self.raise_error("TABLE takes a name; write a query without TABLE: (SELECT ...)")
        return self._parse_table_clauses(self._parse_table_parts())

    def _parse_table_clauses(self, table: Any) -> Any:
        partition = order = None
        if self._match_text_seq("PARTITION", "BY") or self._match(TokenType.PARTITION_BY):
            partition = self._parse_one_or_more(self._parse_column)
        if self._match_text_seq("ORDER", "BY") or self._match(TokenType.ORDER_BY):
            order = exp.Order(expressions=self._parse_one_or_more(self._parse_ordered))
        return self.expression(TableArgument(this=table, partition=partition, order=order))

    def _parse_one_or_more(self, parse_method: Any) -> list[Any]:
        """A list in parentheses; without them one, since further arguments may follow."""
        if not self._match(TokenType.L_PAREN):
            return [parse_method()]
        columns = self._parse_csv(parse_method)
        self._match_r_paren()
        return columns

    def call(self, name: str, *args: Any) -> Any:
        return self.expression(Form(this=name, expressions=list(args)))

    def word(self) -> str:
        """The next token as a word in capitals."""
        text = str(self._curr.text).upper() if self._curr else ""
        self._advance()
        return text

    def _parse_types(self, *args: Any, **kwargs: Any) -> Any:
        """A type before its literal, as in DATE '...'; `parse_type` reads all others.

        sqlglot would try to read ARRAY[...] and DATE(...) as types first, all that is inside of
        them included, and then once more as values: twice the time with each level.
        """
        literal = self._next and self._next.token_type == TokenType.STRING
        return super()._parse_types(*args, **kwargs) if literal else None

    # Functions with a syntax of their own.

    def parse_cast(self, name: str) -> Any:
        value = self._parse_assignment()
        if not self._match(TokenType.ALIAS):
            self.raise_error(f"Expecting AS and a type in {name}")
        type_ = self.expression(TypeNode(this=self.parse_type()))
        return self.call(name, value, type_)

    def parse_extract(self) -> Any:
        unit = self.word()
        if not self._match(TokenType.FROM):
            self.raise_error("Expecting FROM after the unit of EXTRACT")
        return self.call("EXTRACT", exp.Literal.string(unit), self._parse_assignment())

    def parse_trim(self) -> Any:
        side = "BOTH"
        if self._match_texts(("BOTH", "LEADING", "TRAILING")):
            side = self._prev.text.upper()
        elif not self._ahead_of_from():
            return self.call("TRIM", self._parse_assignment())
        characters: Any = exp.Literal.string(" ")
        if not self._match(TokenType.FROM):
            characters = self._parse_bitwise()
            if not self._match(TokenType.FROM):
                self.raise_error("Expecting FROM in TRIM")
        return self.call(f"TRIM_{side}", self._parse_assignment(), characters)

    def _ahead_of_from(self) -> bool:
        """Whether a FROM follows before the closing parenthesis."""
        depth = 0
        for token in self._tokens[self._index :]:
            if token.token_type == TokenType.L_PAREN:
                depth += 1
            elif token.token_type == TokenType.R_PAREN:
                if depth == 0:
                    return False
                depth -= 1
            elif token.token_type == TokenType.FROM and depth == 0:
                return True
        return False

    def _parse_limit(self, *args: Any, **kwargs: Any) -> Any:
        limit = super()._parse_limit(*args, **kwargs)
        if isinstance(limit, exp.Limit) and limit.args.get("offset") is not None:
            self.raise_error("LIMIT start, count is not allowed: write LIMIT count OFFSET start")
        return limit

    def parse_position(self) -> Any:
        part = self._parse_bitwise()
        if not self._match(TokenType.IN):
            self.raise_error("Expecting IN in POSITION")
        args = [part, self._parse_bitwise()]
        if self._match(TokenType.FROM):
            args.append(self._parse_bitwise())
        return self.call("POSITION", *args)

    def parse_from_for(self, name: str, word: str) -> Any:
        args = [self._parse_assignment()]
        if self._match(TokenType.COMMA) or self._match_text_seq(word):
            args.append(self._parse_assignment())
        if self._match(TokenType.COMMA) or self._match_text_seq("FOR"):
            args.append(self._parse_assignment())
        return self.call(name, *args)

    def parse_overlay(self) -> Any:
        args = [self._parse_assignment()]
        if self._match(TokenType.COMMA) or self._match_text_seq("PLACING"):
            args.append(self._parse_assignment())
        if self._match(TokenType.COMMA) or self._match_text_seq("FROM"):
            args.append(self._parse_assignment())
        if self._match(TokenType.COMMA) or self._match_text_seq("FOR"):
            args.append(self._parse_assignment())
        return self.call("OVERLAY", *args)

    def parse_to_unit(self, name: str) -> Any:
        value = self._parse_assignment()
        if self._match_text_seq("TO"):
            return self.call(f"{name}_TIME", value, exp.Literal.string(self.word()))
        if self._match(TokenType.COMMA):
            return self.call(name, value, self._parse_assignment())
        return self.call(name, value)

    # Types.

    def parse_type(self) -> DataType:
        """A type with its nullability."""
        base = self._parse_base_type()
        while True:
            if self._match_texts(("ARRAY",)):
                base = DataTypes.ARRAY(base)
            elif self._match_texts(("MULTISET",)):
                base = DataTypes.MULTISET(base)
            elif self._match_text_seq("NOT", "NULL"):
                base = base.not_null()
            elif self._match_text_seq("NULL"):
                base = base.nullable()
            else:
                return base

    def _numbers(self, *limits: tuple[int, int]) -> list[int]:
        """Numbers in parentheses, each between its limits."""
        if not self._match(TokenType.L_PAREN):
            return []
        found: list[int] = []
        for low, high in limits or ((0, 9), (0, 9)):
            if found and not self._match(TokenType.COMMA):
                break
            token, word = self._curr, self.word()
            if not word.isdigit() or not low <= int(word) <= high:
                self.raise_error(f"Expecting a number from {low} to {high}", token)
            found.append(int(word))
        self._match_r_paren()
        return found

    def _parse_base_type(self) -> DataType:
        token = self._curr
        word = self.word()
        simple = _SIMPLE_TYPES.get(word)
        if simple is not None:
            if word == "DOUBLE":
                self._match_text_seq("PRECISION")
            made: DataType = simple()
            return made
        sized = _SIZED_TYPES.get(word)
        if sized is not None:
            if word in ("CHAR", "CHARACTER") and self._match_text_seq("VARYING"):
                sized = DataTypes.VARCHAR
            if word == "BINARY" and self._match_text_seq("VARYING"):
                sized = DataTypes.VARBINARY
            varying = sized in (DataTypes.VARCHAR, DataTypes.VARBINARY)
            default = t.MAX_LENGTH if varying else 1
            length: DataType = sized((self._numbers((1, t.MAX_LENGTH)) or [default])[0])
            return length
        if word in ("DECIMAL", "DEC", "NUMERIC"):
            precision, scale = ([*self._numbers((1, 38), (0, 38)), 0, 0])[:2]
            return DataTypes.DECIMAL(precision or 10, scale)
        if word == "TIME":
            numbers = self._numbers((0, 9)) or [0]
            self._match_text_seq("WITHOUT", "TIME", "ZONE")
            return DataTypes.TIME(numbers[0])
        if word in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            return self._parse_timestamp_type(word)
        if word == "INTERVAL":
            return self._parse_interval_type()
        if word in ("ARRAY", "MULTISET", "MAP", "ROW"):
            return self._parse_container_type(word)
        self.raise_error(f"{token.text if token else 'end of text'} is not a type", token)
        raise AssertionError

    def _parse_timestamp_type(self, word: str) -> DataType:
        precision = (self._numbers((0, 9)) or [6])[0]
        if word == "TIMESTAMP_LTZ" or self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE"):
            return DataTypes.TIMESTAMP_LTZ(precision)
        if self._match_text_seq("WITH", "TIME", "ZONE"):
            return t.ZonedTimestampType(precision)
        self._match_text_seq("WITHOUT", "TIME", "ZONE")
        return DataTypes.TIMESTAMP(precision)

    def _parse_interval_type(self) -> DataType:
        def unit() -> t.Resolution:
            name = self.word()
            make = getattr(DataTypes, name, None)
            if name not in _UNITS:
                self.raise_error(f"{name} is not a unit of an interval")
            made: t.Resolution = make(*self._numbers())  # type: ignore[misc]
            return made

        upper = unit()
        lower = unit() if self._match_text_seq("TO") else None
        return DataTypes.INTERVAL(upper, lower)

    def _parse_container_type(self, word: str) -> DataType:
        angle = bool(self._match(TokenType.LT))
        if not angle and not (word == "ROW" and self._match(TokenType.L_PAREN)):
            self.raise_error(f"Expecting < after {word}")
        if word == "ROW":
            result: DataType = DataTypes.ROW(self._parse_csv(self._parse_row_field))
        else:
            inner = self._parse_csv(self.parse_type)
            if len(inner) != (2 if word == "MAP" else 1):
                self.raise_error(f"{word} has another number of types inside")
            result = getattr(DataTypes, word)(*inner)
        self._close(angle)
        return result

    def _close(self, angle: bool) -> None:
        if not self._match(TokenType.GT if angle else TokenType.R_PAREN):
            self.raise_error("Expecting > at the end of the type")

    def _parse_row_field(self) -> t.RowField:
        found = self._parse_id_var(any_token=True)
        name = "" if found is None else found.name
        type_ = self.parse_type()
        comment = None
        if self._match_texts(("COMMENT",)) or (
            self._curr and self._curr.token_type == TokenType.STRING
        ):
            comment = self._curr.text
            self._advance()
        return t.RowField(name, type_, comment)


_SIMPLE_TYPES: dict[str, Any] = {
    "BOOLEAN": DataTypes.BOOLEAN,
    "TINYINT": DataTypes.TINYINT,
    "SMALLINT": DataTypes.SMALLINT,
    "INT": DataTypes.INT,
    "INTEGER": DataTypes.INT,
    "BIGINT": DataTypes.BIGINT,
    "FLOAT": DataTypes.FLOAT,
    "DOUBLE": DataTypes.DOUBLE,
    "STRING": DataTypes.STRING,
    "BYTES": DataTypes.BYTES,
    "BITMAP": t.BitmapType,
    "VARIANT": t.VariantType,
    "DATE": DataTypes.DATE,
    "NULL": DataTypes.NULL,
}
_SIZED_TYPES: dict[str, Any] = {
    "CHAR": DataTypes.CHAR,
    "CHARACTER": DataTypes.CHAR,
    "VARCHAR": DataTypes.VARCHAR,
    "BINARY": DataTypes.BINARY,
    "VARBINARY": DataTypes.VARBINARY,
}


class Flink(Dialect):
    """Flink's dialect of SQL."""

    Tokenizer = FlinkTokenizer
    Parser = FlinkParser
