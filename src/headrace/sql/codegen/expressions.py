"""Expressions to Python code with SQL's NULL.

`value` gives code for a value, None standing for NULL; `condition` gives code that is true where
the expression is TRUE. Calculations that need more than one expression write lines first.

Python limits how deep parentheses and blocks may be nested, SQL does not: every so many calls the
value goes into a temporary, and what would be indented too far becomes a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.codegen import arithmetic
from headrace.sql.codegen.casts import cast_code
from headrace.sql.codegen.current_watermark import CurrentWatermark
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, columns_used
from headrace.sql.types import DataType

_COMPARISONS = {
    "EQUALS": "==",
    "NOT_EQUALS": "!=",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}
_CALLS_IN_A_LINE = 16
"""Each takes up to five parentheses, of which Python reads 200."""
_DEEPEST_INDENT = 40
"""Python reads 100."""
_ELIFS = 50
"""So many of them are one block; the compiler takes each for a block inside of the one before."""
_BLOCKS_OF_COALESCE = 8


def row_code(parts: Sequence[str]) -> str:
    """A tuple of parts."""
    return f"({', '.join(parts)},)" if parts else "()"


class ExpressionCompiler:
    """Writes code for expressions over a row whose columns are in variables.

    Args:
        writer: Where lines go.
        column: The code for a column, by position.
    """

    def __init__(self, writer: CodeWriter, column: Callable[[int], str]) -> None:
        self.writer = writer
        self._column = column
        self._special: dict[str, Callable[[Call], str]] = {
            "AND": self._and,
            "OR": self._or,
            "CASE": self._case,
            "IF": self._case,
            "COALESCE": self._coalesce,
            "IFNULL": self._coalesce,
            "NULLIF": self._null_if,
            "IN": self._in,
            "NOT_IN": self._in,
            "IS_DISTINCT_FROM": self._distinct,
            "IS_NOT_DISTINCT_FROM": self._distinct,
            "CURRENT_WATERMARK": lambda c: f"{self.writer.function(CurrentWatermark())}()",
            "JSON_STRING": self._json_string,
            "TYPEOF": lambda c: self.writer.constant(c.args[0].type.sql_text()),
        }

    def value(self, e: Expression) -> str:
        """Code for the value, in parentheses where it is more than a name."""
        code = self._value(e)
        return self.writer.atom(code) if self._ends_line(e) else code

    @staticmethod
    def _ends_line(e: Expression) -> bool:
        return e.height > 0 and e.height % _CALLS_IN_A_LINE == 0

    def _value(self, e: Expression) -> str:
        if isinstance(e, Column):
            return self._column(e.index)
        if isinstance(e, Literal):
            return self.writer.constant(e.value)
        assert isinstance(e, Call)
        special = self._special.get(getattr(e.function, "name", ""))
        if special is not None:
            if self.writer.indent > _DEEPEST_INDENT:
                return self._part(e)
            return special(e)
        if not getattr(e.function, "strict", False):
            return self._lenient(e)
        checks: list[str] = []
        code = self._call(e, checks)
        if not checks:
            return f"({code})"
        nulls = " or ".join(f"{c} is None" for c in dict.fromkeys(checks))
        # As in Flink: what cannot be NULL is not TRUE.
        false = isinstance(e.type, t.BooleanType) and not e.type.is_nullable
        return f"({'False' if false else 'None'} if {nulls} else {code})"

    def condition(self, e: Expression) -> str:
        """Code that is true where the expression is TRUE, false where it is FALSE or NULL."""
        if isinstance(e, Call) and getattr(e.function, "name", "") in _COMPARISONS:
            checks: list[str] = []
            code = self._call(e, checks)
            tests = [f"{c} is not None" for c in dict.fromkeys(checks)]
            return "(" + " and ".join([*tests, code]) + ")"
        return self.value(e)

    def _part(self, e: Expression) -> str:
        with self.writer.part([self._column(i) for i in sorted(columns_used(e))]) as call:
            self.writer.line(f"return {self.value(e)}")
        return call

    # Calls that are NULL where an argument is.

    def _call(self, e: Call, checks: list[str]) -> str:
        """Code for a call if nothing in `checks`, which grows, is NULL."""
        args = [self._present(a, checks) for a in e.args]
        return self._applied(e, args)

    def _present(self, e: Expression, checks: list[str]) -> str:
        """Code for a value that is not NULL if nothing in `checks` is."""
        if isinstance(e, Call) and self._passes_null_on(e) and not self._ends_line(e):
            return f"({self._call(e, checks)})"
        code = self.value(e)
        if e.type.is_nullable if isinstance(e, Literal) else arithmetic.may_be_null(e.type):
            code = self.writer.atom(code)
            checks.append(code)
        return code

    def _passes_null_on(self, e: Call) -> bool:
        """Whether the value is NULL exactly where an argument is."""
        function = e.function
        if getattr(function, "name", "") in self._special or not getattr(function, "strict", False):
            return False
        arguments_nullable = any(a.type.is_nullable for a in e.args)
        if e.type.is_nullable and not arguments_nullable:
            return False
        if function.name in (*arithmetic.OPERATORS, "CAST"):
            types = [a.type for a in e.args]
            if arithmetic.overflows(types, e.type):
                return False
        return not any(s.nullable for s in getattr(function, "signatures", ())) and (
            function.name not in ("TRY_CAST", "ITEM")
        )

    def _applied(self, e: Call, args: Sequence[str]) -> str:
        """Code for a function of arguments that are not NULL."""
        function = e.function
        name = function.name
        types = [a.type for a in e.args]
        if name in _COMPARISONS:
            return f"{args[0]} {_COMPARISONS[name]} {args[1]}"
        if name in ("CAST", "TRY_CAST"):
            return cast_code(self.writer, args[0], types[0], e.type, name == "TRY_CAST")
        if name in arithmetic.OPERATORS:
            return arithmetic.code(self.writer, name, args, types, e.type)
        if name == "ITEM":
            return self._item(args, types[0])
        if name == "GET":
            assert isinstance(e.args[1], Literal)
            return f"{args[0]}[{e.args[1].value}]"
        if name in ("GREATEST", "LEAST"):
            pick = "max" if name == "GREATEST" else "min"
            return f"{pick}({', '.join(args)})" if len(args) > 1 else args[0]
        return self._template(e, args)

    def _template(self, e: Call, args: Sequence[str]) -> str:
        code = e.function.code
        if not code:
            raise SqlError(f"{e.function.name} is not supported here")
        if "{" in code:
            return str(code.format(*args, args=", ".join(args), row=row_code(args)))
        if e.function.zoned:
            args = [self.writer.zone_constant(), *args]
        return f"{self.writer.reference(code)}({', '.join(args)})"

    def _lenient(self, e: Call) -> str:
        """A function that wants to see NULL, or a user's function."""
        args = [self.value(a) for a in e.args]
        if hasattr(e.function, "code"):
            return f"({self._template(e, args)})"
        types = tuple(a.type for a in e.args)
        name = self.writer.function(e.function.bound(types, e.type, self.writer.zone))
        return f"{name}({', '.join(args)})"

    def _item(self, args: Sequence[str], container: DataType) -> str:
        if isinstance(container, t.MapType):
            return f"{args[0]}.get({args[1]})"
        if isinstance(container, t.VariantType):
            return f"{self.writer.reference('variants:item')}({args[0]}, {args[1]})"
        return f"{self.writer.reference('containers:item_of_array')}({args[0]}, {args[1]})"

    # Special forms.

    def _logic(self, e: Call, decisive: str, word: str) -> str:
        """AND and OR; the second operand is evaluated only if the first does not decide."""
        first, *rest = e.args
        code = self.value(first)
        nullable = first.type.is_nullable
        for operand in rest:
            with self.writer.captured() as lines:
                other = self.value(operand)
            if not lines and not nullable and not operand.type.is_nullable:
                code = f"({code} {word} {other})"
                continue
            name = self.writer.temporary()
            self.writer.line(f"{name} = {code}")
            with self.writer.block(f"if {name} is not {decisive}:"):
                self.writer.lines += lines
                second = self.writer.atom(other)
                if nullable:
                    # NULL with the decisive value is that value, NULL with the other one NULL.
                    self.writer.line(
                        f"{name} = {second} if {name} is not None else "
                        f"({decisive} if {second} is {decisive} else None)"
                    )
                else:
                    self.writer.line(f"{name} = {second}")
            code = name
            nullable = nullable or operand.type.is_nullable
        return code

    def _and(self, e: Call) -> str:
        return self._logic(e, "False", "and")

    def _or(self, e: Call) -> str:
        return self._logic(e, "True", "or")

    def _case(self, e: Call) -> str:
        """Condition, result, condition, result, ..., otherwise; IF is the shortest CASE."""
        *branches, otherwise = e.args
        pairs = list(zip(branches[0::2], branches[1::2], strict=True))
        name = self.writer.temporary()
        indent = self.writer.indent
        for number, (condition, result) in enumerate(pairs):
            if number and self.writer.indent >= _DEEPEST_INDENT:
                otherwise = replace(e, args=e.args[2 * number :])
                break
            with self.writer.block(f"{self._case_test(condition, number)}:"):
                self.writer.line(f"{name} = {self.value(result)}")
        with self.writer.block("else:"):
            self.writer.line(f"{name} = {self.value(otherwise)}")
        self.writer.indent = indent
        return name

    def _case_test(self, condition: Expression, number: int) -> str:
        """`if` or `elif` with a condition; one that needs lines gets them in a block of `else`."""
        if number == 0:
            return f"if {self.condition(condition)}"
        with self.writer.captured() as lines:
            test = self.condition(condition)
        if not lines and number % _ELIFS:
            return f"elif {test}"
        self.writer.line("else:")
        self.writer.indent += 1
        self.writer.lines += lines
        return f"if {test}"

    def _coalesce(self, e: Call) -> str:
        first, *rest = e.args
        name = self.writer.temporary()
        self.writer.line(f"{name} = {self.value(first)}")
        indent = self.writer.indent
        for number, other in enumerate(rest):
            if number % _BLOCKS_OF_COALESCE == 0:
                self.writer.indent = indent
            self.writer.line(f"if {name} is None:")
            self.writer.indent += 1
            self.writer.line(f"{name} = {self.value(other)}")
        self.writer.indent = indent
        return name

    def _null_if(self, e: Call) -> str:
        first = self.writer.atom(self.value(e.args[0]))
        second = self.writer.atom(self.value(e.args[1]))
        return f"(None if {first} is not None and {first} == {second} else {first})"

    def _in(self, e: Call) -> str:
        """Of constants only; the binder writes others as comparisons."""
        values = [a.value for a in e.args[1:] if isinstance(a, Literal)]
        present = frozenset(v for v in values if v is not None)
        has_null = len(present) < len(set(values))
        checked = self.writer.atom(self.value(e.args[0]))
        held = self.writer.constant(present)
        negated = e.function.name == "NOT_IN"
        if has_null:
            code = f"({not negated} if {checked} in {held} else None)"
        else:
            code = f"({checked} {'not in' if negated else 'in'} {held})"
        nullable = arithmetic.may_be_null(e.args[0].type)
        return f"(None if {checked} is None else {code})" if nullable else code

    def _json_string(self, e: Call) -> str:
        (value,) = e.args
        type_ = self.writer.constant(value.type)
        return (
            f"{self.writer.reference('json_functions:json_string')}({self.value(value)}, {type_})"
        )

    def _distinct(self, e: Call) -> str:
        left, right = (self.value(a) for a in e.args)
        return f"({left} {'!=' if e.function.name == 'IS_DISTINCT_FROM' else '=='} {right})"
