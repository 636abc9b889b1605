"""Expressions to Spark's SQL, where both mean exactly the same.

Spark runs with `spark.sql.ansi.enabled` off and UTC as its time zone. Columns are `c0`, `c1` and so
on, and hold internal values: a timestamp is a BIGINT of microseconds, a date an INT of days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from headrace.sql import types as t
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, expression_text
from headrace.sql.segments.decimals import Digits, quotient_is_exact, result_of
from headrace.sql.segments.patterns import takes_part
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = [
    "UnsupportedBySparkError",
    "column_name",
    "compared_text",
    "quoted",
    "spark_text",
    "storage",
]

_EXACT = 1 << 53
_COMPARISONS = {
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}
_WHOLE = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_SIMPLE: dict[type[DataType], str] = {
    t.DoubleType: "DOUBLE",
    t.FloatType: "FLOAT",
    t.BooleanType: "BOOLEAN",
    t.DateType: "INT",
    t.VarBinaryType: "BINARY",
}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_FLOATS = t.FloatType | t.DoubleType
_EXACT_NUMBERS = t.IntegralType | t.DecimalType
_MOST_DIGITS = 38
_LONG = 2000
_SHOWN = 100


class UnsupportedBySparkError(Exception):
    """Something that stays with headrace's own operators."""


def column_name(index: int) -> str:
    """The name of a column inside Spark."""
    return f"c{index}"


def storage(type_: DataType) -> str:
    """Spark's type for internal values of a type."""
    if isinstance(type_, t.IntegralType):
        return _WHOLE[type_.bits]
    if isinstance(type_, t.DecimalType):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if isinstance(type_, t.TimeType | t.DayTimeIntervalType) or is_timestamp(type_):
        return "BIGINT"
    if is_character(type_):
        return "STRING"
    found = _SIMPLE.get(type(type_))
    if found is None:
        raise UnsupportedBySparkError(type_.sql_text())
    return found


def spark_text(e: Expression) -> str:
    """The expression in Spark's SQL.

    Raises:
        UnsupportedBySparkError: Spark has nothing that means the same.
    """
    if isinstance(e, Column):
        storage(e.type)
        return column_name(e.index)
    if isinstance(e, Literal):
        return _literal(e)
    if not isinstance(e, Call):
        raise UnsupportedBySparkError(type(e).__name__)
    name = getattr(e.function, "name", "")
    if hasattr(e.function, "spark_text"):
        text: str = e.function.spark_text(e)
        return text
    if hasattr(e.function, "bound"):
        raise UnsupportedBySparkError(f"the user's function {name}")
    if name in _COMPARISONS:
        return compared_text(name, *e.args)
    if name in _ARITHMETIC:
        return _calculated(name, e)
    special = _FUNCTIONS.get(name)
    if special is None:
        raise UnsupportedBySparkError(name)
    return special(e)


def _literal(e: Literal) -> str:
    if isinstance(e.type, t.NullType):
        return "NULL"
    kind = storage(e.type)
    if e.value is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(e.type, t.BooleanType):
        return "TRUE" if e.value else "FALSE"
    if kind == "STRING":
        return quoted(e.value)
    if isinstance(e.value, float) and not math.isfinite(e.value):
        raise UnsupportedBySparkError(repr(e.value))
    if not isinstance(e.value, int | float | Decimal):
        raise UnsupportedBySparkError(repr(e.value))
    return f"CAST('{e.value}' AS {kind})"


def quoted(text: str) -> str:
    """A literal of text."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def coerced(e: Expression, target: DataType) -> str:
    """The value in another type, where no value is lost."""
    text = spark_text(e)
    source, kind = e.type, storage(target)
    if isinstance(source, t.NullType):
        return f"CAST(NULL AS {kind})"
    if is_character(source) and is_character(target):
        if isinstance(target, t.CharType) and not source.same_but_null(target):
            raise UnsupportedBySparkError("CHAR")
        if target.length < source.length:  # type: ignore[attr-defined]
            raise UnsupportedBySparkError("a shorter text")
        return text
    if storage(source) == kind and type(source) is type(target):
        if is_timestamp(source) and target.precision < source.precision:  # type: ignore[attr-defined]
            raise UnsupportedBySparkError("a shorter time")
        return text
    if not _widens(source, target):
        raise UnsupportedBySparkError(f"{source.sql_text()} to {target.sql_text()}")
    return f"CAST({text} AS {kind})"


def _widens(source: DataType, target: DataType) -> bool:
    if isinstance(source, t.IntegralType):
        if isinstance(target, t.IntegralType):
            return target.bits >= source.bits
        if isinstance(target, t.DecimalType):
            return target.precision - target.scale >= _DIGITS[source.bits]
        return isinstance(target, t.DoubleType)
    if isinstance(source, t.DecimalType) and isinstance(target, t.DecimalType):
        whole = target.precision - target.scale >= source.precision - source.scale
        return whole and target.scale >= source.scale
    return isinstance(source, t.FloatType) and isinstance(target, t.DoubleType)


# Comparisons.


def compared_text(name: str, left: Expression, right: Expression) -> str:
    """A comparison, EQUALS or another."""
    operator = _COMPARISONS[name]
    kinds = (left.type, right.type)
    if all(isinstance(k, _EXACT_NUMBERS) for k in kinds):
        return _compared_exactly(operator, left, right)
    if all(isinstance(k, _FLOATS | t.IntegralType) for k in kinds):
        return _compared_floats(operator, left, right)
    same = all(map(is_character, kinds)) or type(left.type) is type(right.type)
    if not same or isinstance(left.type, t.VarBinaryType | t.NullType):
        raise UnsupportedBySparkError(name)
    return f"({spark_text(left)} {operator} {spark_text(right)})"


def _compared_exactly(operator: str, left: Expression, right: Expression) -> str:
    """Spark compares in a decimal that holds both, if there is one."""
    digits = [_digits(x.type) for x in (left, right)]
    precision, scale = _common(digits)
    texts = [spark_text(left), spark_text(right)]
    if precision <= _MOST_DIGITS:
        return f"({texts[0]} {operator} {texts[1]})"
    # What does not fit beside the scale of the other is further from zero than that can be.
    at = 0 if digits[0][1] < scale else 1
    long, other = texts[at], texts[1 - at]
    _check_length(long)
    fitted = f"CAST({long} AS DECIMAL({_MOST_DIGITS}, {scale}))"
    known = f"{fitted} IS NULL AND {long} IS NOT NULL AND {other} IS NOT NULL"
    sides = (long, "0") if at == 0 else ("0", long)
    inside = (fitted, other) if at == 0 else (other, fitted)
    return (
        f"(CASE WHEN {known} THEN {f' {operator} '.join(sides)} "
        f"ELSE {f' {operator} '.join(inside)} END)"
    )


def _common(digits: Sequence[Digits]) -> Digits:
    """Those of a decimal that holds all values of some."""
    scale = max(s for _, s in digits)
    return max(p - s for p, s in digits) + scale, scale


def _check_comparable(first: Expression, *others: Expression) -> None:
    """Refuses values that Spark, which compares all of them in one type, would change for that."""
    kinds = [x.type for x in (first, *others)]
    if any(isinstance(kind, _FLOATS) for kind in kinds):
        raise UnsupportedBySparkError("a comparison of DOUBLE with several values, or with NULL")
    for other in others:
        if not isinstance(other.type, t.NullType):
            compared_text("EQUALS", first, other)
    digits = [_digits(kind) for kind in kinds if isinstance(kind, _EXACT_NUMBERS)]
    if digits and _common(digits)[0] > _MOST_DIGITS:
        raise UnsupportedBySparkError("a comparison of decimals that none holds all of")


def _digits(type_: DataType) -> Digits:
    if isinstance(type_, t.DecimalType):
        return type_.precision, type_.scale
    assert isinstance(type_, t.IntegralType)
    return _DIGITS[type_.bits], 0


def _compared_floats(operator: str, left: Expression, right: Expression) -> str:
    """In Spark, unlike elsewhere, NaN equals itself and is greater than all other numbers."""
    texts = [f"CAST({spark_text(e)} AS DOUBLE)" for e in (left, right)]
    unsafe = []
    for e, text in zip((left, right), texts, strict=True):
        if isinstance(e.type, t.BigIntType) and not (
            isinstance(e, Literal) and abs(e.value or 0) < _EXACT
        ):
            raise UnsupportedBySparkError("BIGINT compared with DOUBLE")
        if isinstance(e.type, _FLOATS) and not isinstance(e, Literal):
            unsafe.append(f"isnan({text})")
    compared = f"({texts[0]} {operator} {texts[1]})"
    if not unsafe:
        return compared
    of_nan = "TRUE" if operator == "<>" else "FALSE"
    # NULL stays NULL: isnan(NULL) is false.
    present = " AND ".join(f"{x} IS NOT NULL" for x in texts)
    return f"(CASE WHEN ({' OR '.join(unsafe)}) AND {present} THEN {of_nan} ELSE {compared} END)"


# Arithmetic.

_ARITHMETIC = {"PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/", "MOD": "%"}


def _calculated(name: str, e: Call) -> str:
    left, right = e.args
    result = e.type
    if isinstance(right.type, t.DayTimeIntervalType) and is_timestamp(left.type):
        if name not in ("PLUS", "MINUS") or not is_timestamp(result):
            raise UnsupportedBySparkError(name)
        millis = spark_text(right)
        return f"({spark_text(left)} {_ARITHMETIC[name]} {millis} * 1000L)"
    types = (left.type, right.type)
    if not all(isinstance(x, t.NumericType) for x in types):
        raise UnsupportedBySparkError(name)
    if isinstance(result, t.IntegralType):
        return _whole(name, left, right, result)
    if isinstance(result, t.DoubleType) and name != "MOD":
        sides = [f"CAST({spark_text(x)} AS DOUBLE)" for x in (left, right)]
        if name == "DIVIDE":
            return _divided_floats(right, *sides)
        return f"({sides[0]} {_ARITHMETIC[name]} {sides[1]})"
    if isinstance(result, t.DecimalType) and name != "MOD":
        return _decimal(name, left, right, result)
    raise UnsupportedBySparkError(name)


def _divided(
    dividend: Expression, divisor: Expression, left: str, right: str, quotient: str, reason: str
) -> str:
    """A quotient: Flink fails where Spark says NULL. What it was of is part of the reason."""
    if _is_not_zero(divisor):
        return quotient
    _check_length(left)
    names = [expression_text(x)[:_SHOWN] for x in (dividend, divisor)]
    said = f"{reason}: {names[1]} is 0"
    text = quoted(said)
    if not isinstance(dividend, Literal):
        text = f"concat({quoted(f'{said} where {names[0]} is ')}, CAST({left} AS STRING))"
    failed = f"raise_error({text})"
    return f"(CASE WHEN {right} = 0 AND {left} IS NOT NULL THEN {failed} ELSE {quotient} END)"


def _divided_floats(divisor: Expression, left: str, right: str) -> str:
    """Without an error: infinity or not a number, where Spark says NULL."""
    quotient = f"({left} / {right})"
    if _is_not_zero(divisor):
        return quotient
    _check_length(left)
    signed = f"if(CAST({right} AS STRING) LIKE '-%', '-Infinity', 'Infinity')"
    return f"(CASE WHEN {right} = 0 THEN {left} * CAST({signed} AS DOUBLE) ELSE {quotient} END)"


def _is_not_zero(divisor: Expression) -> bool:
    return isinstance(divisor, Literal) and bool(divisor.value)


def _check_length(text: str) -> None:
    """What appears twice in a text must not be long, since it may have such things inside."""
    if len(text) > _LONG:
        raise UnsupportedBySparkError("a division of something long")


def _whole(name: str, left: Expression, right: Expression, result: t.IntegralType) -> str:
    kind = storage(result)
    if name in ("DIVIDE", "MOD"):
        operator = "div" if name == "DIVIDE" else "%"
        sides = [f"CAST({spark_text(x)} AS BIGINT)" for x in (left, right)]
        quotient = f"CAST(({sides[0]} {operator} {sides[1]}) AS {kind})"
        return _divided(left, right, sides[0], sides[1], quotient, "/ by zero")
    sides = [coerced(x, result) for x in (left, right)]
    return f"({sides[0]} {_ARITHMETIC[name]} {sides[1]})"


def _decimal(name: str, left: Expression, right: Expression, result: t.DecimalType) -> str:
    (first, left_digits), (second, right_digits) = map(_as_decimal, (left, right))
    found = precision, scale = result_of(name, left_digits, right_digits)
    wanted = (result.precision, result.scale)
    text = f"({first} {_ARITHMETIC[name]} {second})"
    if name == "DIVIDE":
        if found != wanted or not quotient_is_exact(left_digits, right_digits, scale):
            raise UnsupportedBySparkError("a quotient that is rounded")
        return _divided(left, right, first, second, text, "Division by zero")
    # Spark rounds once, from all digits, to its own result.
    if found != wanted and (precision == _MOST_DIGITS or result.scale < scale):
        raise UnsupportedBySparkError("a decimal that is rounded")
    return f"CAST({text} AS {storage(result)})"


def _as_decimal(e: Expression) -> tuple[str, Digits]:
    text = spark_text(e)
    if not isinstance(e.type, _EXACT_NUMBERS):
        raise UnsupportedBySparkError("DECIMAL")
    digits = _digits(e.type)
    if isinstance(e.type, t.DecimalType):
        return text, digits
    return f"CAST({text} AS DECIMAL({digits[0]}, 0))", digits


# Functions.


def _joined(word: str) -> Callable[[Call], str]:
    return lambda e: "(" + f" {word} ".join(map(spark_text, e.args)) + ")"


def _applied(pattern: str) -> Callable[[Call], str]:
    return lambda e: pattern.format(*map(spark_text, e.args))


def _negative(e: Call) -> str:
    if not isinstance(e.type, t.IntegralType | t.DoubleType):
        raise UnsupportedBySparkError("MINUS_PREFIX")
    return f"(- {spark_text(e.args[0])})"


def _cast(e: Call) -> str:
    (value,) = e.args
    if isinstance(value.type, t.DecimalType) and isinstance(e.type, t.DecimalType):
        # Both round half up, and make NULL of what is too large.
        return f"CAST({spark_text(value)} AS {storage(e.type)})"
    if isinstance(value.type, t.DateType) and isinstance(e.type, t.TimestampType):
        return f"({spark_text(value)} * {_DAY}L)"
    return coerced(value, e.type)


def _case(e: Call) -> str:
    *branches, otherwise = e.args
    parts = [
        f"WHEN {spark_text(c)} THEN {coerced(v, e.type)}"
        for c, v in zip(branches[0::2], branches[1::2], strict=True)
    ]
    return f"(CASE {' '.join(parts)} ELSE {coerced(otherwise, e.type)} END)"


def _coalesce(e: Call) -> str:
    return f"COALESCE({', '.join(coerced(a, e.type) for a in e.args)})"


def _distinct(negation: str) -> Callable[[Call], str]:
    def text(e: Call) -> str:
        _check_comparable(*e.args)
        return f"({negation}({spark_text(e.args[0])} <=> {spark_text(e.args[1])}))"

    return text


def _null_if(e: Call) -> str:
    first, second = e.args
    test = compared_text("EQUALS", first, second)
    return f"(CASE WHEN {test} THEN CAST(NULL AS {storage(e.type)}) ELSE {spark_text(first)} END)"


def _in(e: Call) -> str:
    checked, *values = e.args
    _check_comparable(*e.args)
    word = "NOT IN" if e.function.name == "NOT_IN" else "IN"
    return f"({spark_text(checked)} {word} ({', '.join(map(spark_text, values))}))"


def _between(e: Call) -> str:
    value, low, high = e.args
    lower = compared_text("GREATER_THAN_OR_EQUAL", value, low)
    upper = compared_text("LESS_THAN_OR_EQUAL", value, high)
    return f"({lower} AND {upper})"


def _not_between(e: Call) -> str:
    return f"(NOT {_between(e)})"


def _like(e: Call) -> str:
    text, pattern, *escape = e.args
    if escape or not isinstance(pattern, Literal) or "\\" in (pattern.value or "\\"):
        raise UnsupportedBySparkError("LIKE with a pattern that is not known")
    return f"({spark_text(text)} LIKE {spark_text(pattern)})"


def _replace(e: Call) -> str:
    if not _text_constant(e.args[1]):
        raise UnsupportedBySparkError("REPLACE of nothing, which Spark leaves as it is")
    return f"replace({', '.join(map(spark_text, e.args))})"


def _split_index(e: Call) -> str:
    text, separator, number = e.args
    between = _text_constant(separator)
    index = _constant((number,), 0)
    if not between or index is None or index < 0:
        raise UnsupportedBySparkError("SPLIT_INDEX with a separator or number that is not known")
    pattern = quoted(re.sub(r"[^\w/]", r"\\\g<0>", between, flags=re.ASCII))
    # An empty text has no parts at all.
    return f"get(split(nullif({spark_text(text)}, ''), {pattern}, -1), {index})"


def _regexp_extract(e: Call) -> str:
    """The first of all matches: of a single one Spark gives an empty text where there is none."""
    text, pattern, *group = e.args
    wanted = _constant(group, 0)
    if wanted is None or not takes_part(_text_constant(pattern) or "(", wanted):
        raise UnsupportedBySparkError("REGEXP_EXTRACT of a group that may be absent")
    return f"get(regexp_extract_all({spark_text(text)}, {spark_text(pattern)}, {wanted}), 0)"


def _text_constant(e: Expression) -> str | None:
    return e.value if isinstance(e, Literal) and isinstance(e.value, str) else None


_DAY = 86_400_000_000
_CLOCK = {"HOUR": (_DAY, 24), "MINUTE": (_DAY // 24, 60), "SECOND": (_DAY // 1_440, 60)}
_CALENDAR = ("YEAR", "MONTH", "DAY")


def _extract(e: Call) -> str:
    unit, time = _text_constant(e.args[0]), e.args[1]
    if isinstance(time.type, t.TimestampType):
        micros = spark_text(time)
        if unit in _CLOCK:
            whole, parts = _CLOCK[unit]
            return f"(pmod({micros}, {whole}L) div {whole // parts}L)"
        if unit in _CALENDAR:
            return f"CAST({unit.lower()}(timestamp_micros({micros})) AS BIGINT)"
    if isinstance(time.type, t.DateType) and unit in _CALENDAR:
        return f"CAST({unit.lower()}(date_from_unix_date({spark_text(time)})) AS BIGINT)"
    raise UnsupportedBySparkError("EXTRACT")


def _date_format(e: Call) -> str:
    time, pattern = e.args
    known = _text_constant(pattern)
    plain = known is not None and re.fullmatch("(?:yyyy|MM|dd|HH|mm|ss|[-:/. ])+", known)
    if not plain or not isinstance(time.type, t.TimestampType):
        raise UnsupportedBySparkError("DATE_FORMAT")
    return f"date_format(timestamp_micros({spark_text(time)}), {spark_text(pattern)})"


def _substring(e: Call) -> str:
    text, *numbers = e.args
    for number, least in zip(numbers, (1, 0), strict=False):
        if not isinstance(number, Literal) or number.value is None or number.value < least:
            raise UnsupportedBySparkError("SUBSTRING from somewhere else")
    return f"substring({', '.join(map(spark_text, (text, *numbers)))})"


def _millis_to_time(e: Call) -> str:
    number, *precision = e.args
    if not isinstance(number.type, t.IntegralType):
        raise UnsupportedBySparkError("TO_TIMESTAMP_LTZ")
    factors: dict[int | None, str] = {0: "1000000L", 3: "1000L"}
    factor = factors.get(_constant(precision, 3))
    if factor is None:
        raise UnsupportedBySparkError("TO_TIMESTAMP_LTZ")
    return f"({coerced(number, t.BigIntType())} * {factor})"


def _constant(args: Sequence[Expression], default: int) -> int | None:
    if not args:
        return default
    (only,) = args
    return only.value if isinstance(only, Literal) else None


_FUNCTIONS: dict[str, Callable[[Call], str]] = {
    "AND": _joined("AND"),
    "OR": _joined("OR"),
    "NOT": _applied("(NOT {0})"),
    "IS_NULL": _applied("({0} IS NULL)"),
    "IS_NOT_NULL": _applied("({0} IS NOT NULL)"),
    "IS_TRUE": _applied("({0} IS TRUE)"),
    "IS_FALSE": _applied("({0} IS FALSE)"),
    "IS_NOT_TRUE": _applied("({0} IS NOT TRUE)"),
    "IS_NOT_FALSE": _applied("({0} IS NOT FALSE)"),
    "IS_DISTINCT_FROM": _distinct("NOT "),
    "IS_NOT_DISTINCT_FROM": _distinct(""),
    "MINUS_PREFIX": _negative,
    "CAST": _cast,
    "CASE": _case,
    "IF": _case,
    "COALESCE": _coalesce,
    "IFNULL": _coalesce,
    "NULLIF": _null_if,
    "IN": _in,
    "NOT_IN": _in,
    "BETWEEN": _between,
    "NOT_BETWEEN": _not_between,
    "LIKE": _like,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "CHAR_LENGTH": _applied("char_length({0})"),
    "CHARACTER_LENGTH": _applied("char_length({0})"),
    "CONCAT_OPERATOR": _applied("concat({0}, {1})"),
    "UPPER": _applied("upper({0})"),
    "LOWER": _applied("lower({0})"),
    "REPLACE": _replace,
    "SPLIT_INDEX": _split_index,
    "REGEXP_EXTRACT": _regexp_extract,
    "EXTRACT": _extract,
    "DATE_FORMAT": _date_format,
    "TRIM": _applied("trim({0})"),
    "TO_TIMESTAMP_LTZ": _millis_to_time,
}
