"""Functions of numbers, conditions and aggregates, as methods of expressions."""

from __future__ import annotations

from typing import Any

from headrace.sql.table_api.expression_nodes import unary
from headrace.table.expression_methods.texts import TextFunctions

__all__ = ["NumberFunctions"]


class NumberFunctions(TextFunctions):
    """Numbers, conditions and aggregates."""

    abs = unary("abs", "ABS", "Without its sign.")
    acos = unary("acos", "ACOS", "The arc cosine.")
    asin = unary("asin", "ASIN", "The arc sine.")
    atan = unary("atan", "ATAN", "The arc tangent.")
    bin = unary("bin", "BIN", "Binary digits.")
    cos = unary("cos", "COS", "The cosine.")
    cosh = unary("cosh", "COSH", "The hyperbolic cosine.")
    cot = unary("cot", "COT", "The cotangent.")
    degrees = unary("degrees", "DEGREES", "Radians in degrees.")
    exp = unary("exp", "EXP", "e to its power.")
    ln = unary("ln", "LN", "The natural logarithm.")
    log10 = unary("log10", "LOG10", "The logarithm to the base 10.")
    log2 = unary("log2", "LOG2", "The logarithm to the base 2.")
    radians = unary("radians", "RADIANS", "Degrees in radians.")
    sign = unary("sign", "SIGN", "-1, 0 or 1.")
    sin = unary("sin", "SIN", "The sine.")
    sinh = unary("sinh", "SINH", "The hyperbolic sine.")
    sqrt = unary("sqrt", "SQRT", "The square root.")
    tan = unary("tan", "TAN", "The tangent.")
    tanh = unary("tanh", "TANH", "The hyperbolic tangent.")

    is_null = unary("isNull", "IS_NULL", "Whether it is NULL.")
    is_not_null = unary("isNotNull", "IS_NOT_NULL", "Whether it is not NULL.")
    is_true = unary("isTrue", "IS_TRUE", "Whether it is TRUE.")
    is_false = unary("isFalse", "IS_FALSE", "Whether it is FALSE.")
    is_not_true = unary("isNotTrue", "IS_NOT_TRUE", "Whether it is FALSE or NULL.")
    is_not_false = unary("isNotFalse", "IS_NOT_FALSE", "Whether it is TRUE or NULL.")

    avg = unary("avg", "AVG", "The average of a group.")
    count = unary("count", "COUNT", "How many values a group has that are not NULL.")
    max = unary("max", "MAX", "The largest value of a group.")
    min = unary("min", "MIN", "The smallest value of a group.")
    sum = unary("sum", "SUM", "The sum of a group; NULL without values.")
    sum0 = unary("sum0", "SUM0", "The sum of a group; 0 without values.")
    collect = unary("collect", "COLLECT", "All values of a group as a multiset.")
    array_agg = unary("ARRAY_AGG", "ARRAY_AGG", "All values of a group as an array.")
    first_value = unary("first_value", "FIRST_VALUE", "The first value of a group.")
    last_value = unary("last_value", "LAST_VALUE", "The last value of a group.")
    stddev_pop = unary("stddevPop", "STDDEV_POP", "The standard deviation of all.")
    stddev_samp = unary("stddevSamp", "STDDEV_SAMP", "The standard deviation of a sample.")
    var_pop = unary("varPop", "VAR_POP", "The variance of all.")
    var_samp = unary("varSamp", "VAR_SAMP", "The variance of a sample.")

    def log(self, base: Any = None) -> Any:
        """The logarithm, natural unless a base is given."""
        return self._call("log", "LOG", *([self] if base is None else [base, self]))

    def round(self, places: Any) -> Any:
        """Rounded to places behind the point."""
        return self._own("round", "ROUND", places)

    def truncate(self, n: Any = 0) -> Any:
        """Cut after places behind the point."""
        return self._own("truncate", "TRUNCATE", n)

    def between(self, lower_bound: Any, upper_bound: Any) -> Any:
        """Whether it is between two values, both included."""
        return self._call("between", "BETWEEN", self, lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Any:
        """Whether it is not between two values."""
        return self._call("notBetween", "NOT_BETWEEN", self, lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Any:
        """One value where the condition is TRUE, another one elsewhere."""
        return self._call("ifThenElse", "IF", self, if_true, if_false)

    def if_null(self, null_replacement: Any) -> Any:
        """Another value where it is NULL."""
        return self._call("IFNULL", "IFNULL", self, null_replacement)

    def list_agg(self, separator: Any = None) -> Any:
        """All texts of a group in one, with a separator."""
        return self._call("listAgg", "LISTAGG", self, "," if separator is None else separator)

    def percentile(self, percentage: Any, frequency: Any = None) -> Any:
        """A percentile of a group."""
        return self._own("PERCENTILE", "PERCENTILE", percentage, frequency)


def _bitmap(name: str, arguments: int, doc: str) -> Any:
    """A function of bitmaps."""
    if arguments == 0:

        def alone(self: Any) -> Any:
            return self._own(name, name)

        alone.__doc__ = doc
        return alone

    def with_other(self: Any, bitmap2: Any) -> Any:
        return self._own(name, name, bitmap2)

    with_other.__doc__ = doc
    return with_other


class BitmapFunctions(NumberFunctions):
    """Functions of bitmaps: sets of whole numbers of 32 bits without sign."""

    bitmap_and = _bitmap("BITMAP_AND", 1, "Elements of both.")
    bitmap_andnot = _bitmap("BITMAP_ANDNOT", 1, "Elements that the other one does not have.")
    bitmap_or = _bitmap("BITMAP_OR", 1, "Elements of either.")
    bitmap_xor = _bitmap("BITMAP_XOR", 1, "Elements of one alone.")
    bitmap_and_agg = _bitmap("BITMAP_AND_AGG", 0, "Elements of all.")
    bitmap_and_cardinality_agg = _bitmap("BITMAP_AND_CARDINALITY_AGG", 0, "How many all have.")
    bitmap_or_agg = _bitmap("BITMAP_OR_AGG", 0, "Elements of any.")
    bitmap_or_cardinality_agg = _bitmap("BITMAP_OR_CARDINALITY_AGG", 0, "How many any has.")
    bitmap_xor_agg = _bitmap("BITMAP_XOR_AGG", 0, "Elements of an odd number.")
    bitmap_xor_cardinality_agg = _bitmap("BITMAP_XOR_CARDINALITY_AGG", 0, "How many of them.")
    bitmap_build = _bitmap("BITMAP_BUILD", 0, "The bitmap of an array.")
    bitmap_build_agg = _bitmap("BITMAP_BUILD_AGG", 0, "The bitmap of a group.")
    bitmap_build_cardinality_agg = _bitmap("BITMAP_BUILD_CARDINALITY_AGG", 0, "Its size.")
    bitmap_cardinality = _bitmap("BITMAP_CARDINALITY", 0, "How many elements it has.")
    bitmap_from_bytes = _bitmap("BITMAP_FROM_BYTES", 0, "The bitmap of bytes.")
    bitmap_to_array = _bitmap("BITMAP_TO_ARRAY", 0, "Its elements.")
    bitmap_to_bytes = _bitmap("BITMAP_TO_BYTES", 0, "Its bytes.")
    bitmap_to_string = _bitmap("BITMAP_TO_STRING", 0, "Its elements as text.")
