"""Binds expressions: names to columns, calls to functions, and types to everything.

Functions whose arguments are not bound one by one have a form in `special_forms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.special_forms import form_of
from headrace.sql.codegen.casts import castable
from headrace.sql.functions.registry import Function, FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, TimeAttribute
from headrace.sql.types import DataType
from headrace.sql.types.implicit_casts import casts_implicitly
from headrace.sql.types.type_rules import (
    common_type,
    comparable,
    is_approximate,
)

_OF_ELEMENTS = frozenset(
    {"ARRAY_APPEND", "ARRAY_CONTAINS", "ARRAY_POSITION", "ARRAY_PREPEND", "ARRAY_REMOVE"}
)
"""Functions of an array and of a value that is, or may become, one of its elements."""

_COMPARISONS = frozenset(
    {
        "EQUALS",
        "NOT_EQUALS",
        "LESS_THAN",
        "LESS_THAN_OR_EQUAL",
        "GREATER_THAN",
        "GREATER_THAN_OR_EQUAL",
        "IS_DISTINCT_FROM",
        "IS_NOT_DISTINCT_FROM",
    }
)


class ExpressionBinder:
    """Binds expressions over one scope."""

    def __init__(self, context: BindingContext, scope: Scope) -> None:
        self.context = context
        self.scope = scope

    def bind(self, node: x.Node) -> Expression:
        """The bound form of a node."""
        if isinstance(node, x.Name):
            if isinstance(node, x.PositionedName):
                return self.scope.schema.column(node.index)
            return self.scope.resolve(node.parts, node.span)
        if isinstance(node, x.Constant):
            return Literal(node.type, node.value)
        if isinstance(node, x.Apply):
            return self.apply(node)
        if isinstance(node, x.CastTo):
            return self.cast(self.bind(node.value), node.type, node.lenient, node.span)
        if isinstance(node, x.CaseWhen):
            return self._case(node)
        if isinstance(node, x.Alias):
            return self.bind(node.value)
        if isinstance(node, x.Subquery):
            raise self.context.error(
                "subqueries are supported in SELECT, WHERE, HAVING and ON, but not here",
                node.span,
            )
        raise self.context.error(f"{type(node).__name__} is not allowed here", node.span)

    def condition(self, node: x.Node, clause: str) -> Expression:
        """The bound form of a condition."""
        return self.checked_condition(self.bind(node), clause, node.span)

    def checked_condition(self, bound: Expression, clause: str, span: x.Span | None) -> Expression:
        """An expression that a clause takes as its condition."""
        if not isinstance(bound.type, t.BooleanType | t.NullType):
            raise self.context.error(
                f"{clause} clause must be a condition, but is {bound.type.sql_text()}", span
            )
        return bound

    # Calls.

    def apply(self, node: x.Apply) -> Expression:
        if node.over is not None:
            raise self.context.error("OVER is not allowed here", node.span)
        name = node.function
        if not isinstance(name, str):
            return self._user_call(name, [self.bind(a) for a in node.args], node.span)
        if node.distinct or node.condition is not None:
            self._check_aggregate(name, node)
        function = self.context.registry.find(name)
        called = node.method or (name if node.by_name or function is None else None)
        if called is not None:
            user = self.context.find_function((called,))
            if user is not None:
                return self._user_call(user, [self.bind(a) for a in node.args], node.span)
        form = form_of(node)
        if form is not None:
            return form(self, node)
        if function is None or (node.by_name and function.hidden):
            raise self.unknown_function(node)
        self._check_scalar(function, node.span)
        return self.call(function, [self.bind(a) for a in node.args], node.span)

    def _check_aggregate(self, name: str, node: x.Apply) -> None:
        """Refuses what only an aggregate function may have."""
        function = self.context.find_function((name,)) or self.context.registry.find(name.upper())
        if function is not None and function.kind is not FunctionKind.AGGREGATE:
            word = "DISTINCT" if node.distinct else "FILTER"
            raise self.context.error(
                f"{word} is for aggregate functions, and {name.upper()} is none", node.span
            )

    def unknown_function(self, node: x.Apply) -> Exception:
        name = str(node.function)
        if node.span is None and name.startswith("$"):
            return self.context.error("Window properties can only be used on windowed tables.")
        near = self.context.registry.nearest(name)
        hint = f", did you mean {near}?" if near else ""
        if node.span is None:
            return self.context.error(f"Undefined function: {name}{hint}")
        return self.context.error(
            f"No match found for function signature {name.upper()}{hint}", node.span
        )

    def call(
        self, function: Function, args: Sequence[Expression], span: x.Span | None = None
    ) -> Expression:
        """A call of a built-in function, with casts of its arguments."""
        args = list(args)
        name = function.name
        if name in _COMPARISONS and len(args) == 2:
            args = self.comparable_arguments(name, args, span)
        if name == "ITEM":
            self._check_index(args[0], args[1], span)
        if name in ("AND", "OR") and len(args) > 1:
            args = [self._boolean(a, span) for a in args]
        function, types, result = self._overload(function, args, span)
        args = [self.coerce(a, x_) for a, x_ in zip(args, types, strict=True)]
        args = self._common_arguments(name, args, result, span)
        if name in ("AND", "OR", "NOT"):
            result = t.BooleanType(any(a.type.is_nullable for a in args))
        time = TimeAttribute.PROCTIME if name == "PROCTIME" else None
        return Call(result, function, tuple(args), time=time)

    def _overload(
        self, function: Function, args: Sequence[Expression], span: x.Span | None
    ) -> tuple[Function, Sequence[DataType], DataType]:
        """The first function of the name that takes the arguments, their types and its result."""
        given = [a.type for a in args]
        for overload in self.context.registry.overloads(function.name):
            bound = overload.bind(given)
            if bound is not None:
                return (overload, *bound)
        raise self._cannot_apply(function.name, given, span)

    def _cannot_apply(self, name: str, given: Sequence[DataType], span: x.Span | None) -> Exception:
        shown = ", ".join(type_.sql_text() for type_ in given)
        message = f"Cannot apply '{name}' to arguments of type ({shown})"
        # What has no place in a text is of the Table API.
        call = f"Invalid function call:\n{name}({shown})\n" if span is None else ""
        return self.context.error(f"{call}{message}", span)

    def named(self, name: str, *args: Expression, span: x.Span | None = None) -> Expression:
        """A call of a built-in function by name."""
        function = self.context.registry.find(name)
        assert function is not None, name
        return self.call(function, args, span)

    def _user_call(
        self, function: Any, args: Sequence[Expression], span: x.Span | None
    ) -> Expression:
        self._check_scalar(function, span)
        try:
            if hasattr(function, "call"):
                zone = self.context.zone
                called: Call = function.call([fold(a, zone) for a in args], zone)
                return called
            types, result = function.bind([a.type for a in args])
        except TypeError as error:
            raise self.context.error(str(error), span) from None
        if types is not None:
            args = [self.coerce(a, x_) for a, x_ in zip(args, types, strict=True)]
        if getattr(function, "takes_constants", False):
            args = [fold(a, self.context.zone) for a in args]
        return Call(result, function, tuple(args))

    def _check_scalar(self, function: Any, span: x.Span | None) -> None:
        kind = getattr(function, "kind", FunctionKind.SCALAR)
        if kind is FunctionKind.TABLE:
            raise self.context.error(
                f"Cannot call table function here: '{function.name}'. Join its rows: with "
                "LATERAL TABLE(...) in SQL, with join_lateral() or flat_map() in the Table API",
                span,
            )
        # A process table function says itself where it belongs.
        if kind not in (FunctionKind.SCALAR, FunctionKind.PROCESS_TABLE):
            what = kind.value.lower().replace("_", " ")
            raise self.context.error(f"{what} function {function.name} is not allowed here", span)

    def _boolean(self, e: Expression, span: x.Span | None) -> Expression:
        if isinstance(e.type, t.NullType):
            return Literal(t.BooleanType(), None)
        if not isinstance(e.type, t.BooleanType):
            raise self.context.error(f"{e} is {e.type.sql_text()}, not BOOLEAN", span)
        return e

    def comparable_arguments(
        self, name: str, args: list[Expression], span: x.Span | None
    ) -> list[Expression]:
        left, right = args
        wanted = comparable(left.type, right.type)
        if wanted is None:
            raise self.context.error(
                f"Cannot compare {left.type.sql_text()} with {right.type.sql_text()}; "
                "cast one of them",
                span,
            )
        return [self.for_comparison(a, wanted) for a in args]

    def for_comparison(self, e: Expression, wanted: DataType) -> Expression:
        if type(e.type) is type(wanted) and not isinstance(wanted, t.ArrayType):
            return e
        exact = isinstance(e.type, t.IntegralType | t.DecimalType)
        if exact and isinstance(wanted, t.IntegralType | t.DecimalType):
            return e
        if isinstance(e.type, t.IntegralType) and is_approximate(wanted):
            return e
        if isinstance(e.type, t.CharType | t.VarCharType) and isinstance(
            wanted, t.CharType | t.VarCharType
        ):
            return e
        return self.cast(e, wanted)

    def _common_arguments(
        self, name: str, args: list[Expression], result: DataType, span: x.Span | None
    ) -> list[Expression]:
        """Branches of conditional functions and elements of arrays have one type."""
        if name in ("COALESCE", "IFNULL", "GREATEST", "LEAST"):
            return [self.coerce(a, result) for a in args]
        if name == "IF":
            return [args[0], *(self.coerce(a, result) for a in args[1:])]
        if name == "ARRAY" and isinstance(result, t.ArrayType):
            return [self.coerce(a, result.element_type) for a in args]
        if name == "MAP" and isinstance(result, t.MapType):
            wanted = (result.key_type, result.value_type)
            return [self.coerce(a, wanted[i % 2]) for i, a in enumerate(args)]
        if name in _OF_ELEMENTS and isinstance(args[0].type, t.ArrayType):
            element = args[0].type.element_type
            if not casts_implicitly(args[1].type, element, nulls=False):
                given = args[1].type.sql_text()
                raise self.context.error(
                    f"Invalid input arguments: {name} takes no {given} with an array of "
                    f"{element.sql_text()}",
                    span,
                )
            return [args[0], self.coerce(args[1], element)]
        return args

    def _check_index(self, container: Expression, key: Expression, span: x.Span | None) -> None:
        value = getattr(key, "value", None)
        if isinstance(container.type, t.ArrayType) and isinstance(value, int) and value < 1:
            raise self.context.error(
                f"Array element access needs an index starting at 1 but was {value}.", span
            )

    def aggregate_arguments(
        self, function: Any, args: Sequence[Expression], span: x.Span | None
    ) -> tuple[list[Expression], DataType]:
        """The arguments of an aggregate function as the types that it takes, and its result's."""
        bound = function.bind([a.type for a in args])
        if bound is None:
            raise self._cannot_apply(function.name, [a.type for a in args], span)
        types, result = bound
        if types is None:
            return list(args), result
        return [self.coerce(a, w) for a, w in zip(args, types, strict=True)], result

    # Types.

    def coerce(self, e: Expression, wanted: DataType) -> Expression:
        """The value as another type, nullability apart; nothing is lost by it."""
        if e.type.same_but_null(wanted) or isinstance(wanted, t.NullType):
            return e
        if isinstance(e, Literal) and e.value is None:
            return Literal(wanted.nullable(), None)
        text = isinstance(e.type, t.CharType | t.VarCharType)
        # The type of a cast says what it does: it cuts or fills up the text.
        text = text and not (isinstance(e, Call) and e.function.name in ("CAST", "TRY_CAST"))
        if text and isinstance(wanted, t.VarCharType) and wanted.length >= e.type.length:  # type: ignore[attr-defined]
            # The same text: only the type changes.
            return replace(e, type=wanted.with_nullable(e.type.is_nullable), time=None)
        return self.cast(e, wanted)

    def cast(
        self,
        e: Expression,
        target: DataType,
        lenient: bool = False,
        span: x.Span | None = None,
    ) -> Expression:
        """CAST, or TRY_CAST."""
        if not castable(e.type, target):
            raise self.context.error(
                f"Cast function cannot convert value of type {e.type.sql_text()} to type "
                f"{target.sql_text()}",
                span,
            )
        if isinstance(e, Literal) and e.value is None:
            return Literal(target.nullable(), None)
        nullable = e.type.is_nullable or (lenient and not e.type.same_but_null(target))
        result = target.with_nullable(nullable)
        if e.type.same_but_null(target) and e.time is None:
            return replace(e, type=result) if isinstance(e, Call) else e
        function = self.context.registry.find("TRY_CAST" if lenient else "CAST")
        return Call(result, function, (e,))

    # Special forms.

    def _case(self, node: x.CaseWhen) -> Expression:
        conditions = [self._boolean(self.bind(c), c.span) for c, _ in node.branches]
        results = [self.bind(r) for _, r in node.branches]
        last: Expression = Literal(t.NullType(), None)
        if node.otherwise is not None:
            last = self.bind(node.otherwise)
        results.append(last)
        type_ = common_type([r.type for r in results])
        if type_ is None:
            given = ", ".join(r.type.sql_text() for r in results)
            raise self.context.error(f"the results of CASE have no common type: {given}", node.span)
        results = [self.coerce(r, type_) for r in results]
        args = [a for pair in zip(conditions, results[:-1], strict=True) for a in pair]
        return Call(type_, self.context.registry.find("CASE"), (*args, results[-1]))


def column_index(e: Expression) -> int | None:
    """The position if the expression is a column alone."""
    return e.index if isinstance(e, Column) else None
