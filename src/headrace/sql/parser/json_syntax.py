"""The syntax of JSON functions: their options are written as words between the arguments."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.sql.parser.tree_nodes import TypeNode
from headrace.sql.types.data_types import DataTypes

__all__ = ["JsonSyntax"]


class JsonSyntax:
    """Methods of the parser. Options become arguments of the function, as constants."""

    def parse_json_path(self: Any, name: str) -> Any:
        """JSON_EXISTS, JSON_VALUE and JSON_QUERY: text, path and options."""
        value = self._parse_bitwise()
        self._match(TokenType.COMMA)
        path = self._parse_bitwise()
        returning = None
        if self._match_text_seq("RETURNING"):
            returning = self.parse_type()
        read = {
            "JSON_EXISTS": self._exists_options,
            "JSON_VALUE": self._value_options,
            "JSON_QUERY": self._query_options,
        }
        call = self.call(name, value, path, *read[name]())
        if returning is not None:
            return self.call(f"{name}_RETURNING", call, self.expression(TypeNode(this=returning)))
        return call

    def _exists_options(self: Any) -> list[Any]:
        if self._match_texts(("TRUE", "FALSE", "UNKNOWN", "ERROR")):
            behavior = self._prev.text.upper()
            self._on("ERROR")
            return [exp.Literal.string(behavior)]
        return []

    def _value_options(self: Any) -> list[Any]:
        found = {"EMPTY": ("NULL", exp.null()), "ERROR": ("NULL", exp.null())}
        while self._match_texts(("NULL", "ERROR", "DEFAULT")):
            behavior = self._prev.text.upper()
            default = self._parse_bitwise() if behavior == "DEFAULT" else exp.null()
            if not isinstance(default, exp.Null):
                default = self._text_of(default)
            found[self._on("EMPTY", "ERROR")] = (behavior, default)
        return [x for b, d in found.values() for x in (exp.Literal.string(b), d)]

    def _text_of(self: Any, value: Any) -> Any:
        return self.call("CAST", value, self.expression(TypeNode(this=DataTypes.STRING())))

    def _query_options(self: Any) -> list[Any]:
        wrapper = "WITHOUT"
        if self._match_text_seq("WITHOUT"):
            self._match_text_seq("ARRAY")
            self._match_text_seq("WRAPPER")
        elif self._match_text_seq("WITH"):
            wrapper = "UNCONDITIONAL"
            if self._match_texts(("CONDITIONAL", "UNCONDITIONAL")):
                wrapper = self._prev.text.upper()
            self._match_text_seq("ARRAY")
            self._match_text_seq("WRAPPER")
        found = {"EMPTY": "NULL", "ERROR": "NULL"}
        while self._match_texts(("NULL", "ERROR", "EMPTY")):
            behavior = self._prev.text.upper()
            if behavior == "EMPTY":
                self._match_texts(("ARRAY", "OBJECT"))
                behavior = f"EMPTY {self._prev.text.upper()}"
            found[self._on("EMPTY", "ERROR")] = behavior
        return [exp.Literal.string(x) for x in (wrapper, *found.values())]

    def _on(self: Any, *words: str) -> str:
        """The word of ON EMPTY or ON ERROR."""
        if not self._match(TokenType.ON) or not self._match_texts(words):
            self.raise_error(f"Expecting ON {' or '.join(words)}")
        return str(self._prev.text.upper())

    def parse_json_object(self: Any, name: str) -> Any:
        """JSON_OBJECT and JSON_OBJECTAGG: keys and values."""
        parts: list[Any] = []
        while not self._at_end_of_json():
            if self._is_word("KEY"):
                self._advance()
            parts.append(self._parse_bitwise())
            if not (self._match(TokenType.COLON) or self._match_text_seq("VALUE")):
                self.raise_error(f"Expecting VALUE in {name}")
            parts.append(self.call("JSON_ELEMENT", self._parse_assignment()))
            if not self._match(TokenType.COMMA):
                break
        return self.call(name, self._on_null("NULL"), *parts)

    def parse_json_array(self: Any, name: str) -> Any:
        """JSON_ARRAY and JSON_ARRAYAGG: values."""
        parts: list[Any] = []
        while not self._at_end_of_json():
            parts.append(self.call("JSON_ELEMENT", self._parse_assignment()))
            if not self._match(TokenType.COMMA):
                break
        return self.call(name, self._on_null("ABSENT"), *parts)

    def _on_null(self: Any, default: str) -> Any:
        if self._match_texts(("NULL", "ABSENT")):
            default = self._prev.text.upper()
            if not self._match(TokenType.ON) or not self._match(TokenType.NULL):
                self.raise_error("Expecting ON NULL")
        return exp.Literal.string(default)

    def _at_end_of_json(self: Any) -> bool:
        if not self._curr or self._curr.token_type == TokenType.R_PAREN:
            return True
        on = self._next is not None and self._next.token_type == TokenType.ON
        return on and self._curr.text.upper() in ("NULL", "ABSENT")

    def _is_word(self: Any, word: str) -> bool:
        """Whether a word comes next that is not an expression by itself."""
        if not self._curr or self._curr.text.upper() != word or self._next is None:
            return False
        return self._next.text.upper() not in ("VALUE", ":", ".", "(", ",")
