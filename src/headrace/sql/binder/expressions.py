"""Binds expressions: names to columns, calls to functions, and types to everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.objects import bind_object_of, bind_object_update
from headrace.sql.binder.scope import Scope, field_of
from headrace.sql.codegen.casts import castable
from headrace.sql.functions.registry import Function, FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, TimeAttribute
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import (
    common_type,
    comparable,
    is_approximate,
    is_interval,
    is_temporal,
    string_type,
)

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
_TIME_PARTS = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK"}
    | {"HOUR", "MINUTE", "SECOND"}
)
_MAKES_JSON = frozenset({"JSON", "JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG"})
_UNITS = {"DAYOFMONTH": "DAY", "SQL_TSI_DAY": "DAY"}


class ExpressionBinder:
    """Binds expressions over one scope."""

    def __init__(self, context: BindingContext, scope: Scope) -> None:
        self.context = context
        self.scope = scope

    def bind(self, node: x.Node) -> Expression:
        """The bound form of a node."""
        if isinstance(node, x.Name):
            index = getattr(node, "index", None)
            if index is not None:
                return self.scope.schema.column(index)
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
                "subqueries are supported in WHERE, and as values in SELECT, but not here",
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
        upper = name.upper()
        if node.distinct or node.condition is not None:
            self._check_aggregate(name, node)
        special = getattr(self, f"_apply_{upper.lower()}", None)
        if special is not None:
            bound: Expression = special(node)
            return bound
        function = self._builtin(upper, node)
        if function is None:
            user = self.context.find_function((name,))
            if user is not None:
                return self._user_call(user, [self.bind(a) for a in node.args], node.span)
            raise self.unknown_function(node)
        if function.kind is not FunctionKind.SCALAR:
            raise self.context.error(
                f"aggregate function {function.name} is not allowed here", node.span
            )
        return self.call(function, [self.bind(a) for a in node.args], node.span)

    def _arguments(self, node: x.Apply, count: int) -> tuple[x.Node, ...]:
        """The arguments of a function that takes a certain number of them."""
        if len(node.args) != count:
            raise self.context.error(
                f"{str(node.function).upper()} takes {count} arguments, but {len(node.args)} are "
                "given",
                node.span,
            )
        return node.args

    def _constant_text(self, node: x.Node, of: x.Apply) -> str:
        """An argument that is the same for all rows."""
        if not isinstance(node, x.Constant) or not isinstance(node.value, str):
            raise self.context.error(
                f"{str(of.function).upper()} takes a constant text here", node.span or of.span
            )
        return node.value

    def _check_aggregate(self, name: str, node: x.Apply) -> None:
        """Refuses what only an aggregate function may have."""
        function = self.context.find_function((name,)) or self.context.registry.find(name.upper())
        if function is not None and function.kind is not FunctionKind.AGGREGATE:
            word = "DISTINCT" if node.distinct else "FILTER"
            raise self.context.error(
                f"{word} is for aggregate functions, and {name.upper()} is none", node.span
            )

    def _builtin(self, name: str, node: x.Apply) -> Function | None:
        if self.context.find_function((name,)) is not None:
            return None
        return self.context.registry.find(name)

    def unknown_function(self, node: x.Apply) -> Exception:
        name = str(node.function)
        near = self.context.registry.nearest(name)
        hint = f", did you mean {near}?" if near else ""
        return self.context.error(f"No match found for function {name.upper()}{hint}", node.span)

    def call(
        self, function: Function, args: Sequence[Expression], span: x.Span | None = None
    ) -> Expression:
        """A call of a built-in function, with casts of its arguments."""
        args = list(args)
        name = function.name
        if name in _COMPARISONS and len(args) == 2:
            args = self._comparable_arguments(name, args, span)
        if name in ("AND", "OR") and len(args) > 1:
            args = [self._boolean(a, span) for a in args]
        bound = function.bind([a.type for a in args])
        if bound is None:
            given = ", ".join(a.type.sql_text() for a in args)
            raise self.context.error(f"Cannot apply '{name}' to arguments of type ({given})", span)
        types, result = bound
        args = [self.coerce(a, x_) for a, x_ in zip(args, types, strict=True)]
        args = self._common_arguments(name, args, result)
        if name in ("AND", "OR", "NOT"):
            result = t.BooleanType(any(a.type.is_nullable for a in args))
        time = TimeAttribute.PROCTIME if name == "PROCTIME" else None
        return Call(result, function, tuple(args), time=time)

    def named(self, name: str, *args: Expression, span: x.Span | None = None) -> Expression:
        """A call of a built-in function by name."""
        function = self.context.registry.find(name)
        assert function is not None, name
        return self.call(function, args, span)

    def _user_call(
        self, function: Any, args: Sequence[Expression], span: x.Span | None
    ) -> Expression:
        try:
            types, result = function.bind([a.type for a in args])
        except TypeError as error:
            raise self.context.error(str(error), span) from None
        if types is not None:
            args = [self.coerce(a, x_) for a, x_ in zip(args, types, strict=True)]
        return Call(result, function, tuple(args))

    def _boolean(self, e: Expression, span: x.Span | None) -> Expression:
        if isinstance(e.type, t.NullType):
            return Literal(t.BooleanType(), None)
        if not isinstance(e.type, t.BooleanType):
            raise self.context.error(f"{e} is {e.type.sql_text()}, not BOOLEAN", span)
        return e

    def _comparable_arguments(
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
        return [self._for_comparison(a, wanted) for a in args]

    def _for_comparison(self, e: Expression, wanted: DataType) -> Expression:
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
        self, name: str, args: list[Expression], result: DataType
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
        return args

    def aggregate_arguments(
        self, function: Any, args: Sequence[Expression], span: x.Span | None
    ) -> tuple[list[Expression], DataType]:
        """The arguments of an aggregate function as the types that it takes, and its result's."""
        bound = function.bind([a.type for a in args])
        if bound is None:
            given = ", ".join(a.type.sql_text() for a in args)
            raise self.context.error(
                f"Cannot apply '{function.name}' to arguments of type ({given})", span
            )
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

    def _apply_in(self, node: x.Apply) -> Expression:
        name = str(node.function).upper()
        if len(node.args) < 2:
            raise self.context.error(f"{name} takes a value and a list of values", node.span)
        value, *items = (self.bind(a) for a in node.args)
        if common_type([i.type for i in items]) is None:
            given = ", ".join(i.type.sql_text() for i in items)
            raise self.context.error(
                f"Values in expression list must have compatible types, not {given}", node.span
            )
        wanted = common_type([value.type, *(i.type for i in items)])
        constants = all(isinstance(i, Literal) for i in items)
        if constants and wanted is not None:
            from headrace.sql.binder.constants import fold

            items = [fold(self._for_comparison(i, wanted), self.context.zone) for i in items]
            constants = all(isinstance(i, Literal) for i in items)
        if constants and wanted is not None:
            null = any(i.value is None for i in items if isinstance(i, Literal))
            type_ = t.BooleanType(value.type.is_nullable or null)
            compared = self._for_comparison(value, wanted)
            return Call(type_, self.context.registry.find(name), (compared, *items))
        equal = [self.named("EQUALS", value, i, span=node.span) for i in items]
        result = equal[0] if len(equal) == 1 else self.named("OR", *equal)
        return self.named("NOT", result) if name == "NOT_IN" else result

    _apply_not_in = _apply_in

    def _apply_between(self, node: x.Apply) -> Expression:
        value, low, high = (self.bind(a) for a in self._arguments(node, 3))
        result = self.named(
            "AND",
            self.named("GREATER_THAN_OR_EQUAL", value, low, span=node.span),
            self.named("LESS_THAN_OR_EQUAL", value, high, span=node.span),
        )
        return self.named("NOT", result) if node.function == "NOT_BETWEEN" else result

    _apply_not_between = _apply_between

    def _apply_nullif(self, node: x.Apply) -> Expression:
        left, right = (self.bind(a) for a in self._arguments(node, 2))
        args = self._comparable_arguments("NULLIF", [left, right], node.span)
        if args[0] is not left:
            args[0] = left
        return Call(left.type.nullable(), self.context.registry.find("NULLIF"), tuple(args))

    def _apply_get(self, node: x.Apply) -> Expression:
        row, name = self._arguments(node, 2)
        bound = self.bind(row)
        number = name.value if isinstance(name, x.Constant) else None
        if isinstance(number, int) and isinstance(bound.type, t.RowType):
            names = bound.type.names
            if not 0 <= number < len(names):
                raise self.context.error(f"the row has {len(names)} fields", node.span)
            return field_of(self.context, bound, names[number], node.span)
        return field_of(self.context, bound, self._constant_text(name, node), node.span)

    def _local(self, e: Expression) -> Expression:
        """A time as TIMESTAMP, for functions of the calendar."""
        if isinstance(e.type, t.TimestampType):
            return e
        if isinstance(e.type, t.TimeType):
            return self.named("REINTERPRET", e)
        return self.cast(e, t.TimestampType(getattr(e.type, "precision", 0)))

    def _apply_extract(self, node: x.Apply) -> Expression:
        unit, value = self._arguments(node, 2)
        bound = self.bind(value)
        word = self._constant_text(unit, node).upper()
        name = _UNITS.get(word, word)
        if not is_temporal(bound.type):
            raise self.context.error(
                f"Cannot apply 'EXTRACT' to arguments of type {bound.type.sql_text()}", node.span
            )
        constant = Literal(t.CharType(len(name), False), name)
        return self.named("EXTRACT", constant, self._local(bound))

    def _apply_floor_time(self, node: x.Apply) -> Expression:
        value, unit = self._arguments(node, 2)
        bound = self.bind(value)
        name = Literal(t.CharType(8, False), self._constant_text(unit, node).upper())
        if not is_temporal(bound.type):
            raise self.context.error(f"{bound} is no time", node.span)
        result = self.named(str(node.function), self._local(bound), name)
        return self.cast(result, bound.type)

    _apply_ceil_time = _apply_floor_time

    def _apply_timestampdiff(self, node: x.Apply) -> Expression:
        unit, start, end = self._arguments(node, 3)
        name = self._unit_name(unit)
        first, last = self.bind(start), self.bind(end)
        for e in (first, last):
            if not is_temporal(e.type):
                raise self.context.error(f"{e} is no time", node.span)
        constant = Literal(t.CharType(8, False), name)
        return self.named("TIMESTAMPDIFF", constant, self._local(first), self._local(last))

    def _apply_timestampadd(self, node: x.Apply) -> Expression:
        from headrace.sql.types.intervals import interval_constant

        unit, count, value = self._arguments(node, 3)
        one = interval_constant("1", self._unit_name(unit))
        interval = x.Apply("TIMES", (count, one))
        return self.bind(x.Apply("PLUS", (value, interval), span=node.span))

    def _unit_name(self, node: x.Node) -> str:
        text = node.parts[0] if isinstance(node, x.Name) else str(getattr(node, "value", ""))
        return text.upper().removeprefix("SQL_TSI_").removesuffix("S")

    def _apply_to_timestamp_ltz(self, node: x.Apply) -> Expression:
        args = [self.bind(a) for a in node.args]
        text = bool(args) and isinstance(args[0].type, t.CharType | t.VarCharType)
        name = "TO_TIMESTAMP_LTZ_OF" if text else "TO_TIMESTAMP_LTZ"
        return self.named(name, *args, span=node.span)

    def _apply_current_watermark(self, node: x.Apply) -> Expression:
        args = [self.bind(a) for a in node.args]
        if len(args) != 1 or args[0].time is not TimeAttribute.ROWTIME:
            raise self.context.error(
                "CURRENT_WATERMARK() must be called with a single rowtime attribute argument",
                node.span,
            )
        return self.named("CURRENT_WATERMARK", *args, span=node.span)

    def _apply_current_database(self, node: x.Apply) -> Expression:
        return Literal(string_type(False), self.context.database)

    def _apply_split_index(self, node: x.Apply) -> Expression:
        args = [self.bind(a) for a in node.args]
        code = len(args) > 1 and isinstance(args[1].type, t.IntegralType)
        name = "SPLIT_INDEX_CODE" if code else "SPLIT_INDEX"
        return self.named(name, *args, span=node.span)

    def _apply_unix_timestamp(self, node: x.Apply) -> Expression:
        args = [self.bind(a) for a in node.args]
        return self.named("UNIX_TIMESTAMP_OF" if args else "UNIX_TIMESTAMP", *args, span=node.span)

    def _apply_date_format(self, node: x.Apply) -> Expression:
        args = [self.bind(a) for a in node.args]
        zoned = bool(args) and isinstance(args[0].type, t.LocalZonedTimestampType)
        if args and isinstance(args[0].type, t.DateType):
            args[0] = self._local(args[0])
        return self.named("DATE_FORMAT_LTZ" if zoned else "DATE_FORMAT", *args, span=node.span)

    def _part(self, node: x.Apply) -> Expression:
        unit = str(node.function).upper()
        self._arguments(node, 1)
        constant = x.Constant(unit, t.CharType(len(unit), False))
        return self._apply_extract(x.Apply("EXTRACT", (constant, *node.args), span=node.span))

    _apply_year = _apply_quarter = _apply_month = _apply_week = _part
    _apply_dayofyear = _apply_dayofmonth = _apply_dayofweek = _part
    _apply_hour = _apply_minute = _apply_second = _part

    def _apply_round(self, node: x.Apply) -> Expression:
        """Decimals keep as many digits as they are rounded to."""
        name = str(node.function).upper()
        bound = self.named(name, *(self.bind(a) for a in node.args), span=node.span)
        assert isinstance(bound, Call)
        type_ = bound.type
        digits = bound.args[1] if len(bound.args) > 1 else Literal(t.IntType(False), 0)
        if isinstance(type_, t.DecimalType) and isinstance(digits, Literal):
            kept = max(min(int(digits.value or 0), type_.scale), 0)
            if kept < type_.scale:
                precision = type_.precision - type_.scale + kept + 1
                bound = replace(bound, type=t.DecimalType(precision, kept, type_.is_nullable))
        return bound

    _apply_truncate = _apply_round

    def _apply_json_element(self, node: x.Apply) -> Expression:
        """A value inside of JSON: what makes JSON is put in as it is, all else is converted."""
        (value,) = self._arguments(node, 1)
        bound = self.bind(value)
        made = isinstance(value, x.Apply) and str(value.function).upper() in _MAKES_JSON
        return bound if made else self.named("JSON_STRING", bound, span=node.span)

    def _apply_overlaps(self, node: x.Apply) -> Expression:
        """Two periods, each of a start and an end or a length."""
        a, b, c, d = (self.bind(p) for p in self._arguments(node, 4))
        b = self.named("PLUS", a, b, span=node.span) if is_interval(b.type) else b
        d = self.named("PLUS", c, d, span=node.span) if is_interval(d.type) else d
        first, last = (self.named("LEAST", a, b), self.named("GREATEST", a, b))
        begin, end = (self.named("LEAST", c, d), self.named("GREATEST", c, d))
        return self.named(
            "AND",
            self.named("GREATER_THAN_OR_EQUAL", last, begin, span=node.span),
            self.named("GREATER_THAN_OR_EQUAL", end, first, span=node.span),
        )

    def _apply_row(self, node: x.Apply) -> Expression:
        return self.named("ROW", *(self.bind(a) for a in node.args), span=node.span)

    _apply_object_of = bind_object_of
    _apply_object_update = bind_object_update


def column_index(e: Expression) -> int | None:
    """The position if the expression is a column alone."""
    return e.index if isinstance(e, Column) else None
