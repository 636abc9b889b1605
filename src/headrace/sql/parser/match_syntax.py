"""The syntax of MATCH_RECOGNIZE: rows of a table that follow each other in a pattern."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.sql.plan.patterns import PatternVariable

__all__ = ["MatchRecognize", "MatchSyntax"]


class MatchRecognize(exp.Expression):
    """`table MATCH_RECOGNIZE (...)`; `pattern` has our `PatternVariable`s."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition": False,
        "order": False,
        "measures": False,
        "skip": False,
        "skip_to": False,
        "pattern": True,
        "within": False,
        "define": False,
        "alias": False,
    }


class MatchSyntax:
    """Methods of the parser."""

    def parse_match(self: Any, table: Any) -> Any:
        """What follows the word MATCH_RECOGNIZE."""
        start = self._prev
        self._match_l_paren()
        partition = self._parse_partition_by()
        order = self._parse_order()
        measures = self._match_text_seq("MEASURES") and self._parse_csv(self._measure)
        self._rows_per_match()
        skip, skip_to = self._after_match()
        if not self._match_text_seq("PATTERN"):
            self.raise_error("Expecting PATTERN (...)", self._curr or start)
        pattern = self._pattern()
        within = self._parse_assignment() if self._match_text_seq("WITHIN") else None
        define = self._match_text_seq("DEFINE") and self._parse_csv(self._definition)
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting ) at the end of MATCH_RECOGNIZE", self._curr or self._prev)
        node = self.expression(
            MatchRecognize(
                this=table,
                partition=partition or [],
                order=order,
                measures=measures or [],
                skip=skip,
                skip_to=skip_to,
                pattern=pattern,
                within=within,
                define=define or [],
                alias=self._parse_table_alias(),
            )
        )
        node.meta.update(line=start.line, col=start.col, start=start.start, end=start.end)
        return node

    def _measure(self: Any) -> Any:
        if self._match_text_seq("RUNNING"):
            self.raise_error("RUNNING is not supported: measures are FINAL", self._prev)
        self._match_text_seq("FINAL")
        measure = self._parse_expression()
        if not isinstance(measure, exp.Alias):
            self.raise_error("A measure needs a name: expression AS name", self._prev)
        return measure

    def _rows_per_match(self: Any) -> None:
        if self._match_text_seq("ALL", "ROWS", "PER", "MATCH"):
            self.raise_error("ALL ROWS PER MATCH is not supported, as in Flink", self._prev)
        self._match_text_seq("ONE", "ROW", "PER", "MATCH")

    def _after_match(self: Any) -> tuple[str, Any]:
        """PAST, NEXT, FIRST or LAST, and the variable of the last two."""
        if not self._match_text_seq("AFTER", "MATCH"):
            return "NEXT", None
        if self._match_text_seq("SKIP", "PAST", "LAST", "ROW"):
            return "PAST", None
        if self._match_text_seq("SKIP", "TO", "NEXT", "ROW"):
            return "NEXT", None
        if self._match_text_seq("SKIP", "TO"):
            kind = "LAST"
            if self._match_texts(("FIRST", "LAST")):
                kind = self._prev.text.upper()
            return kind, self._parse_id_var(any_token=True)
        self.raise_error(
            "Expecting SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO FIRST variable or SKIP TO "
            "LAST variable",
            self._curr or self._prev,
        )
        raise AssertionError

    def _definition(self: Any) -> Any:
        name = self._parse_id_var(any_token=True)
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS and a condition", self._curr or self._prev)
        return self.expression(exp.Alias(this=self._parse_assignment(), alias=name))

    # PATTERN.

    def _pattern(self: Any) -> list[PatternVariable]:
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expecting ( after PATTERN", self._curr or self._prev)
        return self._variables()  # type: ignore[no-any-return]

    def _variables(self: Any) -> list[PatternVariable]:
        """What stands between parentheses, of which the first was read."""
        found: list[PatternVariable] = []
        while not self._match(TokenType.R_PAREN):
            token = self._curr
            if not token:
                self.raise_error("Expecting ) at the end of PATTERN", self._prev)
            self._refuse(token)
            if self._match(TokenType.L_PAREN):
                found += self._group(token)
            else:
                found.append(self._repeated(self._variable(token), token))
        if not found:
            self.raise_error("PATTERN needs a variable", self._prev)
        return found

    def _refuse(self: Any, token: Any) -> None:
        """What SQL has and Flink has not."""
        if token.token_type == TokenType.PIPE:
            self.raise_error("Alternatives in PATTERN are not supported, as in Flink", token)
        if token.text.upper() == "PERMUTE":
            self.raise_error("PERMUTE is not supported, as in Flink", token)
        if token.text in ("^", "$"):
            self.raise_error("Anchors in PATTERN are not supported, as in Flink", token)

    def _group(self: Any, token: Any) -> list[PatternVariable]:
        """Variables in parentheses, which change nothing unless all are repeated together."""
        found: list[PatternVariable] = self._variables()
        opened = self._prev
        (first, *others) = found
        repeated = self._repeated(first, opened)
        if repeated is first:
            return found
        if others or (first.least, first.most) != (1, 1):
            self.raise_error("Groups of pattern variables are not supported, as in Flink", token)
        return [repeated]

    def _variable(self: Any, token: Any) -> PatternVariable:
        identifier = self._parse_id_var(any_token=True)
        if identifier is None:
            self.raise_error("Expecting a pattern variable", token)
        return PatternVariable(identifier.name, 1, 1, False, (token.start, token.end))

    def _repeated(self: Any, variable: PatternVariable, last: Any) -> PatternVariable:
        """The variable with the repetition that follows the last token, or as it is."""
        least, most = self._repetition()
        repeated = self._prev is not last
        reluctant = repeated and self._question()
        if (reluctant and (least, most) == (0, 1)) or (self._curr and self._curr.text == "??"):
            self.raise_error("?? is not supported, as in Flink: use ?", last)
        if not repeated:
            return variable
        greedy = not reluctant and least != most and (least, most) != (0, 1)
        return replace(variable, least=least, most=most, greedy=greedy)

    def _question(self: Any) -> bool:
        return bool(self._match(TokenType.PLACEHOLDER))

    def _repetition(self: Any) -> tuple[int, int | None]:
        if self._match(TokenType.STAR):
            return 0, None
        if self._match(TokenType.PLUS):
            return 1, None
        if self._question():
            return 0, 1
        if not self._match(TokenType.L_BRACE):
            return 1, 1
        opening = self._prev
        if self._curr and self._curr.token_type == TokenType.DASH:
            self.raise_error("Exclusions in PATTERN are not supported, as in Flink", opening)
        least = self._count()
        most = self._count() if self._match(TokenType.COMMA) else least
        if not self._match(TokenType.R_BRACE) or (least is None and most is None):
            self.raise_error("Expecting {n}, {n,}, {n,m} or {,m}", opening)
        if most is not None and (most < 1 or most < (least or 0)):
            self.raise_error(
                "A variable is repeated at least once, and {n,m} needs m >= n", opening
            )
        return least or 0, most

    def _count(self: Any) -> int | None:
        if not self._match(TokenType.NUMBER):
            return None
        if not self._prev.text.isdecimal():
            self.raise_error("A variable is repeated a whole number of times", self._prev)
        return int(self._prev.text)
