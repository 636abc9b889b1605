"""Functions with a form of their own: how their arguments are bound depends on the function.

`form_of` finds the form of a call. Some forms can be called by name, those of syntax cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.binder.objects import bind_object_of, bind_object_update
from headrace.sql.binder.scope import field_of
from headrace.sql.parser import syntax as x
from headrace.sql.plan.expressions import Call, Expression, Literal, TimeAttribute
from headrace.sql.types.intervals import interval_constant, interval_type
from headrace.sql.types.type_rules import (
    common_type,
    is_character,
    is_interval,
    is_temporal,
    string_type,
)

if TYPE_CHECKING:
    from headrace.sql.binder.expressions import ExpressionBinder

__all__ = ["form_of"]

Form = Callable[["ExpressionBinder", x.Apply], Expression]

_MAKES_JSON = frozenset({"JSON", "JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG"})
_UNITS = {"DAYOFMONTH": "DAY", "SQL_TSI_DAY": "DAY"}


def form_of(node: x.Apply) -> Form | None:
    """The form of a call, or None if its arguments are bound like those of other functions."""
    name = str(node.function).upper()
    return _CALLED.get(name) or (None if node.by_name else _SYNTAX.get(name))


def _arguments(binder: ExpressionBinder, node: x.Apply, count: int) -> tuple[x.Node, ...]:
    """The arguments of a function that takes a certain number of them."""
    if len(node.args) != count:
        raise binder.context.error(
            f"{str(node.function).upper()} takes {count} arguments, but {len(node.args)} are given",
            node.span,
        )
    return node.args


def _constant_text(binder: ExpressionBinder, node: x.Node, of: x.Apply) -> str:
    """An argument that is the same for all rows."""
    if not isinstance(node, x.Constant) or not isinstance(node.value, str):
        raise binder.context.error(
            f"{str(of.function).upper()} takes a constant text here", node.span or of.span
        )
    return node.value


def _in(binder: ExpressionBinder, node: x.Apply) -> Expression:
    name = str(node.function).upper()
    if len(node.args) < 2:
        raise binder.context.error(f"{name} takes a value and a list of values", node.span)
    rows = [a.args for a in node.args if isinstance(a, x.Apply) and a.function == "ROW"]
    if len(rows) == len(node.args) and len({len(r) for r in rows}) == 1:
        return _in_rows(binder, rows, node)
    value, *items = (binder.bind(a) for a in node.args)
    if common_type([i.type for i in items]) is None:
        given = ", ".join(i.type.sql_text() for i in items)
        raise binder.context.error(
            f"Values in expression list must have compatible types, not {given}", node.span
        )
    wanted = common_type([value.type, *(i.type for i in items)])
    constants = all(isinstance(i, Literal) for i in items)
    if constants and wanted is not None:
        items = [fold(binder.for_comparison(i, wanted), binder.context.zone) for i in items]
        constants = all(isinstance(i, Literal) for i in items)
    if constants and wanted is not None:
        null = any(i.value is None for i in items if isinstance(i, Literal))
        type_ = t.BooleanType(value.type.is_nullable or null)
        compared = binder.for_comparison(value, wanted)
        return Call(type_, binder.context.registry.find(name), (compared, *items))
    equal = [binder.named("EQUALS", value, i, span=node.span) for i in items]
    result = equal[0] if len(equal) == 1 else binder.named("OR", *equal)
    return binder.named("NOT", result) if name == "NOT_IN" else result


def _in_rows(
    binder: ExpressionBinder, rows: Sequence[Sequence[x.Node]], node: x.Apply
) -> Expression:
    """One of several rows: those with NULL may be equal, or not."""
    value, *items = ([binder.bind(cell) for cell in row] for row in rows)
    equal = []
    for item in items:
        pairs = zip(value, item, strict=True)
        cells = [binder.named("EQUALS", a, b, span=node.span) for a, b in pairs]
        equal.append(cells[0] if len(cells) == 1 else binder.named("AND", *cells))
    result = equal[0] if len(equal) == 1 else binder.named("OR", *equal)
    return binder.named("NOT", result) if str(node.function).upper() == "NOT_IN" else result


def _between(binder: ExpressionBinder, node: x.Apply) -> Expression:
    value, low, high = (binder.bind(a) for a in _arguments(binder, node, 3))
    result = binder.named(
        "AND",
        binder.named("GREATER_THAN_OR_EQUAL", value, low, span=node.span),
        binder.named("LESS_THAN_OR_EQUAL", value, high, span=node.span),
    )
    return binder.named("NOT", result) if node.function == "NOT_BETWEEN" else result


def _nullif(binder: ExpressionBinder, node: x.Apply) -> Expression:
    left, right = (binder.bind(a) for a in _arguments(binder, node, 2))
    args = binder.comparable_arguments("NULLIF", [left, right], node.span)
    if args[0] is not left:
        args[0] = left
    return Call(left.type.nullable(), binder.context.registry.find("NULLIF"), tuple(args))


def _get(binder: ExpressionBinder, node: x.Apply) -> Expression:
    row, name = _arguments(binder, node, 2)
    bound = binder.bind(row)
    number = name.value if isinstance(name, x.Constant) else None
    if isinstance(number, int) and isinstance(bound.type, t.RowType):
        names = bound.type.names
        if not 0 <= number < len(names):
            raise binder.context.error(f"the row has {len(names)} fields", node.span)
        return field_of(binder.context, bound, names[number], node.span)
    return field_of(binder.context, bound, _constant_text(binder, name, node), node.span)


def _local(binder: ExpressionBinder, e: Expression) -> Expression:
    """A time as TIMESTAMP, for functions of the calendar."""
    if isinstance(e.type, t.TimestampType):
        return e
    if isinstance(e.type, t.TimeType):
        return binder.named("REINTERPRET", e)
    return binder.cast(e, t.TimestampType(getattr(e.type, "precision", 0)))


_OF_TIMES = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND", "EPOCH")


def _extract(binder: ExpressionBinder, node: x.Apply) -> Expression:
    unit, value = _arguments(binder, node, 2)
    bound = binder.bind(value)
    word = _constant_text(binder, unit, node).upper()
    name = _UNITS.get(word, word)
    constant = Literal(t.CharType(len(name), False), name)
    if is_interval(bound.type):
        months = isinstance(bound.type, t.YearMonthIntervalType)
        if (name in ("YEAR", "QUARTER", "MONTH")) != months:
            raise binder.context.error(
                f"{name} is not a part of {bound.type.sql_text()}", node.span
            )
        return binder.named("EXTRACT_INTERVAL", constant, bound)
    if not is_temporal(bound.type):
        raise binder.context.error(
            f"Cannot apply 'EXTRACT' to arguments of type {bound.type.sql_text()}", node.span
        )
    if isinstance(bound.type, t.TimeType) and name not in _OF_TIMES:
        raise binder.context.error(f"unit {name} can not be applied to time variable", node.span)
    return binder.named("EXTRACT", constant, _local(binder, bound))


def _floor_time(binder: ExpressionBinder, node: x.Apply) -> Expression:
    value, unit = _arguments(binder, node, 2)
    bound = binder.bind(value)
    name = Literal(t.CharType(8, False), _constant_text(binder, unit, node).upper())
    if not is_temporal(bound.type):
        raise binder.context.error(f"{bound} is not a time", node.span)
    result = binder.named(str(node.function), _local(binder, bound), name)
    return binder.cast(result, bound.type)


def _timestampdiff(binder: ExpressionBinder, node: x.Apply) -> Expression:
    unit, start, end = _arguments(binder, node, 3)
    name = _unit_name(unit)
    first, last = binder.bind(start), binder.bind(end)
    for e in (first, last):
        if not is_temporal(e.type):
            raise binder.context.error(f"{e} is not a time", node.span)
    constant = Literal(t.CharType(8, False), name)
    return binder.named("TIMESTAMPDIFF", constant, _local(binder, first), _local(binder, last))


def _minus_date(binder: ExpressionBinder, node: x.Apply) -> Expression:
    end, start, units = _arguments(binder, node, 3)
    first, last = binder.bind(start), binder.bind(end)
    if not is_temporal(first.type) or not is_temporal(last.type):
        raise binder.context.error(
            f"Cannot apply '-' to arguments of type {last.type.sql_text()} and "
            f"{first.type.sql_text()}",
            node.span,
        )
    type_ = interval_type(_constant_text(binder, units, node))
    unit = "MONTH" if isinstance(type_, t.YearMonthIntervalType) else "MILLISECOND"
    constant = Literal(t.CharType(11, False), unit)
    arguments = (constant, _local(binder, first), _local(binder, last))
    between = binder.named("TIME_BETWEEN", *arguments)
    return replace(between, type=type_.with_nullable(between.type.is_nullable))


def _timestampadd(binder: ExpressionBinder, node: x.Apply) -> Expression:
    unit, count, value = _arguments(binder, node, 3)
    one = interval_constant("1", _unit_name(unit))
    interval = binder.bind(x.Apply("TIMES", (count, one)))
    time = binder.bind(value)
    if isinstance(time.type, t.DateType) and _unit_name(unit) in ("HOUR", "MINUTE", "SECOND"):
        time = binder.cast(time, t.TimestampType(6))
    return binder.named("PLUS", time, interval, span=node.span)


def _unit_name(node: x.Node) -> str:
    text = node.parts[0] if isinstance(node, x.Name) else str(getattr(node, "value", ""))
    return text.upper().removeprefix("SQL_TSI_").removesuffix("S")


def _current_watermark(binder: ExpressionBinder, node: x.Apply) -> Expression:
    args = [binder.bind(a) for a in node.args]
    if len(args) != 1 or args[0].time is not TimeAttribute.ROWTIME:
        raise binder.context.error(
            "CURRENT_WATERMARK() must be called with a single rowtime attribute argument",
            node.span,
        )
    return binder.named("CURRENT_WATERMARK", *args, span=node.span)


def _current_database(binder: ExpressionBinder, node: x.Apply) -> Expression:
    return Literal(string_type(False), binder.context.database)


def _date_format(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """A date counts as its midnight."""
    args = [binder.bind(a) for a in node.args]
    if args and isinstance(args[0].type, t.DateType):
        args[0] = _local(binder, args[0])
    return binder.named("DATE_FORMAT", *args, span=node.span)


def _to_timestamp_ltz(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """It has as many digits as its precision says, or its pattern."""
    args = [binder.bind(a) for a in node.args]
    found = binder.named("TO_TIMESTAMP_LTZ", *args, span=node.span)
    given = args[1].value if len(args) > 1 and isinstance(args[1], Literal) else None
    digits = given.count("S") if isinstance(given, str) else given or 0
    if not 3 < digits <= 9:
        return found
    return replace(found, type=t.LocalZonedTimestampType(digits, found.type.is_nullable))


def _part(binder: ExpressionBinder, node: x.Apply) -> Expression:
    unit = str(node.function).upper()
    _arguments(binder, node, 1)
    constant = x.Constant(unit, t.CharType(len(unit), False))
    return _extract(binder, x.Apply("EXTRACT", (constant, *node.args), span=node.span))


def _round(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """Decimals keep as many digits as they are rounded to."""
    name = str(node.function).upper()
    bound = binder.named(name, *(binder.bind(a) for a in node.args), span=node.span)
    assert isinstance(bound, Call)
    type_ = bound.type
    digits = bound.args[1] if len(bound.args) > 1 else Literal(t.IntType(False), 0)
    if isinstance(type_, t.DecimalType) and isinstance(digits, Literal):
        kept = max(min(int(digits.value or 0), type_.scale), 0)
        if kept < type_.scale:
            precision = type_.precision - type_.scale + kept + 1
            bound = replace(bound, type=t.DecimalType(precision, kept, type_.is_nullable))
    return bound


def _json_element(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """A value inside of JSON: what makes JSON is put in as it is, all else is converted."""
    (value,) = _arguments(binder, node, 1)
    bound = binder.bind(value)
    made = isinstance(value, x.Apply) and str(value.function).upper() in _MAKES_JSON
    return bound if made else binder.named("JSON_STRING", bound, span=node.span)


def _overlaps(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """Two periods, each of a start and an end or a length."""
    a, b, c, d = (binder.bind(p) for p in _arguments(binder, node, 4))
    b = binder.named("PLUS", a, b, span=node.span) if is_interval(b.type) else b
    d = binder.named("PLUS", c, d, span=node.span) if is_interval(d.type) else d
    first, last = (binder.named("LEAST", a, b), binder.named("GREATEST", a, b))
    begin, end = (binder.named("LEAST", c, d), binder.named("GREATEST", c, d))
    return binder.named(
        "AND",
        binder.named("GREATER_THAN_OR_EQUAL", last, begin, span=node.span),
        binder.named("GREATER_THAN_OR_EQUAL", end, first, span=node.span),
    )


def _plus(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """The Table API's `+`, which also joins texts."""
    left, right = (binder.bind(a) for a in node.args)
    if any(isinstance(a.type, t.CharType | t.VarCharType) for a in (left, right)):
        text = string_type()
        return binder.named(
            "CONCAT", binder.cast(left, text), binder.cast(right, text), span=node.span
        )
    return binder.named("PLUS", left, right, span=node.span)


def _equals(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """As in Flink, a text is no number: an order of the two is asked for, but no equality."""
    args = [binder.bind(a) for a in node.args]
    types = [a.type for a in args]
    text = any(is_character(type_) for type_ in types)
    if node.span is not None and text and any(isinstance(x_, t.NumericType) for x_ in types):
        a, b = (type_.sql_text() for type_ in types)
        raise binder.context.error(
            f"implicit type conversion between {a} and {b} is not supported now: CAST one of the "
            "two",
            node.span,
        )
    return binder.named(str(node.function), *args, span=node.span)


_CALLED: dict[str, Form] = {
    "CURRENT_DATABASE": _current_database,
    "CURRENT_WATERMARK": _current_watermark,
    "DATE_FORMAT": _date_format,
    "EXTRACT": _extract,
    "NULLIF": _nullif,
    "OBJECT_OF": bind_object_of,
    "OBJECT_UPDATE": bind_object_update,
    "ROUND": _round,
    "TIMESTAMPADD": _timestampadd,
    "TIMESTAMPDIFF": _timestampdiff,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "TRUNCATE": _round,
    **dict.fromkeys(("YEAR", "QUARTER", "MONTH", "WEEK", "HOUR", "MINUTE", "SECOND"), _part),
    **dict.fromkeys(("DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK"), _part),
}
"""Forms that users call by name."""

_SYNTAX: dict[str, Form] = {
    "$PLUS": _plus,
    "BETWEEN": _between,
    "CEIL_TIME": _floor_time,
    "EQUALS": _equals,
    "NOT_EQUALS": _equals,
    "FLOOR_TIME": _floor_time,
    "GET": _get,
    "IN": _in,
    "JSON_ELEMENT": _json_element,
    "MINUS_DATE": _minus_date,
    "NOT_BETWEEN": _between,
    "NOT_IN": _in,
    "OVERLAPS": _overlaps,
}
"""Forms that stand for operators and for functions with a syntax of their own."""
