"""Quotients that Spark may compute have one value, however they are rounded before."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

from hypothesis import example, given
from hypothesis import strategies as st

from headrace.sql import types as t
from headrace.sql.functions.builtin.arithmetic import divide_decimal
from headrace.sql.segments.decimals import quotient_is_exact, result_of
from headrace.sql.types.type_rules import arithmetic_type

DIGITS = st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))


@st.composite
def numbers(draw: st.DrawFn) -> tuple[tuple[int, int], int]:
    precision, scale = draw(DIGITS)
    return (precision, scale), draw(st.integers(1, 10**precision - 1))


@given(numbers(), numbers())
@example(((15, 2), 1), ((3, 0), 8))
def test_a_quotient_is_rounded_once_or_twice_to_the_same(
    left: tuple[tuple[int, int], int], right: tuple[tuple[int, int], int]
) -> None:
    (left_digits, a), (right_digits, b) = left, right
    precision, scale = result_of("DIVIDE", left_digits, right_digits)
    if not quotient_is_exact(left_digits, right_digits, scale):
        return
    first, second = Decimal(a).scaleb(-left_digits[1]), Decimal(b).scaleb(-right_digits[1])
    with localcontext() as context:
        context.prec = 200
        once = (first / second).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    assert divide_decimal(first, second, precision, scale) == once


@given(DIGITS, DIGITS, st.sampled_from(["PLUS", "MINUS", "TIMES", "DIVIDE"]))
def test_types_are_those_of_flink(
    left: tuple[int, int], right: tuple[int, int], operator: str
) -> None:
    found = arithmetic_type(operator, t.DecimalType(*left), t.DecimalType(*right))
    assert isinstance(found, t.DecimalType)
    assert result_of(operator, left, right) == (found.precision, found.scale)
