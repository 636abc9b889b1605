"""Recipes of aggregate functions, by name."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from headrace.sql import types as t
from headrace.sql.codegen.arithmetic import decimal_argument
from headrace.sql.codegen.bitmap_recipes import BITMAP_RECIPES
from headrace.sql.codegen.recipe import Lines, Place, Recipe, counted_values
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.types import DataType

__all__ = [
    "RECIPES",
    "SUPPORTED",
    "SUPPORTED_OVER",
    "Lines",
    "Place",
    "Recipe",
    "merges",
    "user_recipe",
]


def _count(p: Place, retracts: bool) -> Recipe:
    a = p.slot()
    return Recipe(
        ["0"], [f"{a} += 1"], [f"{a} -= 1"], [f"{a} += {p.slot(of='b')}"], a, not p.call.args
    )


def _added(p: Place, target: str, value: str, sign: str) -> str:
    """`target` with a value added, in the width of the result."""
    type_ = p.call.type
    total = f"{target} {sign} {value}"
    if isinstance(type_, t.IntegralType):
        # The sum is brought into its width when it is read.
        return f"{target} = {total}"
    if isinstance(type_, t.FloatType):
        # Flink adds in 32 bits, and so its sums show.
        return f"{target} = {p.writer.reference('arithmetic:float32')}({total})"
    if isinstance(type_, t.DecimalType):
        exact = p.writer.reference(f"arithmetic:{'plus' if sign == '+' else 'minus'}")
        return f"{target} = {exact}({target}, {value})"
    return f"{target} = {total}"


def _in_width(p: Place, code: str, type_: DataType) -> str:
    if isinstance(type_, t.IntegralType):
        return f"{p.writer.reference(f'arithmetic:wrap{type_.bits}')}({code})"
    if isinstance(type_, t.DecimalType):
        fit = p.writer.reference("arithmetic:fit_decimal")
        return f"{fit}({code}, {type_.precision}, {type_.scale})"
    if isinstance(type_, t.FloatType):
        return f"{p.writer.reference('arithmetic:float32')}({code})"
    return code


def _sum(p: Place, retracts: bool) -> Recipe:
    """The sum and, where rows may be taken back, how many values are in it."""
    total, count = p.slot(), p.slot(1)
    zero = "0.0" if isinstance(p.call.type, t.FloatType | t.DoubleType) else "0"
    if isinstance(p.call.type, t.DecimalType):
        zero = p.writer.constant(_zero())
    value = _in_width(p, total, p.call.type)
    empty = "None" if p.call.function.name == "SUM" else zero
    return Recipe(
        [zero, "0"],
        [_added(p, total, "x", "+"), f"{count} += 1"],
        [_added(p, total, "x", "-"), f"{count} -= 1"],
        [_added(p, total, p.slot(of="b"), "+"), f"{count} += {p.slot(1, 'b')}"],
        f"({value} if {count} else {empty})",
    )


def _zero() -> object:
    return Decimal(0)


def _average(p: Place, retracts: bool) -> Recipe:
    recipe = _sum(p, retracts)
    total, count = p.slot(), p.slot(1)
    type_ = p.call.type
    if isinstance(type_, t.IntegralType):
        value = f"{p.writer.reference('arithmetic:divide_whole')}({total}, {count})"
    elif isinstance(type_, t.DecimalType):
        divide = p.writer.reference("arithmetic:divide_decimal")
        of = decimal_argument(p.writer, count, t.IntType())
        value = f"{divide}({total}, {of}, {type_.precision}, {type_.scale})"
    else:
        value = _in_width(p, f"{total} / {count}", type_)
    recipe.value = f"({value} if {count} else None)"
    return recipe


def _extreme(better: str, pick: str) -> Callable[[Place, bool], Recipe]:
    def recipe(p: Place, retracts: bool) -> Recipe:
        a, b = p.slot(), p.slot(of="b")
        if not retracts:
            add = [f"if {a} is None or x {better} {a}: {a} = x"]
            merge = [f"if {b} is not None and ({a} is None or {b} {better} {a}): {a} = {b}"]
            return Recipe(["None"], add, None, merge, a)
        counted = counted_values(p)
        return Recipe(*counted, f"({pick}({a}) if {a} else None)")

    return recipe


def _first(p: Place, retracts: bool) -> Recipe:
    a, there = p.slot(), p.slot(1)
    if retracts:
        return _ordered_values(p, "next(iter({0}))")
    b, b_there = p.slot(of="b"), p.slot(1, "b")
    return Recipe(
        ["None", "False"],
        [f"if not {there}: {a} = x; {there} = True"],
        None,
        [f"if {b_there} and not {there}: {a} = {b}; {there} = True"],
        a,
    )


def _last(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    if retracts:
        return _ordered_values(p, "next(reversed({0}))")
    return Recipe(["None"], [f"{a} = x"], None, [f"if {b} is not None: {a} = {b}"], a)


def _ordered_values(p: Place, pick: str) -> Recipe:
    """Values in the order in which they came."""
    a = p.slot()
    initial, add, remove, merge = counted_values(p)
    return Recipe(initial, add, remove, merge, f"({pick.format(a)} if {a} else None)")


def _single(p: Place, retracts: bool) -> Recipe:
    """The only value; NULL is one as well. A change may bring the new one before the old goes."""
    initial, add, remove, merge = counted_values(p)
    value = f"{p.writer.reference('containers:only_value')}({p.slot()})"
    return Recipe(initial, add, remove, merge, value, nulls=True)


def _joined(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    separator = p.writer.constant(p.call.constants[0] if p.call.constants else ",")
    return Recipe(
        ["[]"],
        [f"{a}.append(x)"],
        [f"if x in {a}: {a}.remove(x)"],
        [f"{a}.extend({b})"],
        f"({separator}.join({a}) if {a} else None)",
    )


def _collect(p: Place, retracts: bool) -> Recipe:
    a = p.slot()
    return Recipe(*counted_values(p), f"dict({a})")


def _array(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    return Recipe(
        ["[]"],
        [f"{a}.append(x)"],
        [f"if x in {a}: {a}.remove(x)"],
        [f"{a}.extend({b})"],
        f"(tuple({a}) if {a} else None)",
        nulls=True,
    )


def _spread(sample: bool, root: bool) -> Callable[[Place, bool], Recipe]:
    """Variance and standard deviation, by Welford's method: count, mean, squared deviations."""

    def recipe(p: Place, retracts: bool) -> Recipe:
        zero = p.writer.constant(_zero()) if isinstance(p.call.type, t.DecimalType) else "0.0"
        count, mean, squares = (p.slot(i) for i in range(3))
        combine = p.writer.reference("spread:combine")
        value = f"{p.writer.reference('spread:spread')}({count}, {squares}, {sample}, {root})"
        if isinstance(p.call.type, t.IntegralType):
            value = f"{p.writer.reference('spread:whole')}({value})"
        elif isinstance(p.call.type, t.DecimalType):
            fit = p.writer.reference("spread:fitted")
            value = f"{fit}({value}, {p.call.type.precision}, {p.call.type.scale})"
        return Recipe(
            ["0", zero, zero],
            [
                f"{count} += 1",
                f"d = x - {mean}",
                f"{mean} += d / {count}",
                f"{squares} += d * (x - {mean})",
            ],
            [f"{p.writer.reference('spread:remove')}(a, {p.at}, x)"],
            [f"{combine}(a, b, {p.at})"],
            value,
        )

    return recipe


def _percentile(p: Place, retracts: bool) -> Recipe:
    """How often each value is there; the last argument may say how often a row counts."""
    a = p.slot()
    initial, _, _, merge = counted_values(p)
    weighted = len(p.call.args) > 1
    value, count = ("x[0]", "x[1]") if weighted else ("x", "1")
    change = [f"n = {a}.get({value}, 0) {{0}} {count}", f"if n: {a}[{value}] = n"]
    change.append(f"else: {a}.pop({value}, None)")
    result = p.writer.reference("spread:percentile")
    wanted = p.writer.constant(p.call.constants[0])
    return Recipe(
        initial,
        [x.format("+") for x in change],
        [x.format("-") for x in change],
        merge,
        f"({result}({a}, {wanted}) if {a} else None)",
    )


def _json_object(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    text = p.writer.reference("json_functions:object_text")
    value = f"{text}({a}.items(), {p.writer.constant(p.call.constants[0])})"
    add = [f"{a}[x[0]] = x[1]"]
    remove = [f"if {a}.get(x[0]) == x[1]: {a}.pop(x[0], None)"]
    merge = [f"{a}.update({b})"]
    return Recipe(["{}"], add, remove, merge, value, nulls=True)


def _json_array(p: Place, retracts: bool) -> Recipe:
    recipe = _array(p, retracts)
    text = p.writer.reference("json_functions:array_text")
    recipe.value = f"{text}({p.slot()}, {p.writer.constant(p.call.constants[0])})"
    return recipe


def _row_number(p: Place, retracts: bool) -> Recipe:
    a = p.slot()
    return Recipe(["0"], [f"{a} += 1"], None, None, a, nulls=True)


def _place(dense: bool) -> Callable[[Place, bool], Recipe]:
    """RANK and DENSE_RANK of rows that come in order; the argument is what they are ordered by."""

    def recipe(p: Place, retracts: bool) -> Recipe:
        rank, last, count = (p.slot(i) for i in range(3))
        after = f"{rank} + 1" if dense else count
        add = [f"{count} += 1", f"if x != {last}: {rank} = {after}; {last} = x"]
        return Recipe(["0", "None", "0"], add, None, None, rank)

    return recipe


def _lag(p: Place, retracts: bool) -> Recipe:
    """The last values, as many as are looked back."""
    a = p.slot()
    constants = p.call.constants
    distance = constants[0] if constants else 1
    default = constants[1] if len(constants) > 1 else None
    add = [f"{a}.append(x)", f"if len({a}) > {distance + 1}: del {a}[0]"]
    otherwise = p.writer.constant(default)
    value = f"({a}[0] if len({a}) > {distance} else {otherwise})"
    return Recipe(["[]"], add, None, None, value, nulls=True)


def user_recipe(p: Place, retracts: bool) -> Recipe:
    """A user's aggregate function, which has its own accumulator."""
    function, a, b = p.writer.constant(p.call.function), p.slot(), p.slot(of="b")
    arguments = "(x,)" if len(p.call.args) == 1 else "x" if p.call.args else "()"
    return Recipe(
        [f"{function}.create()"],
        [f"{function}.accumulate({a}, {arguments})"],
        [f"{function}.retract({a}, {arguments})"],
        [f"{function}.merge({a}, {b})"],
        f"{function}.value({a})",
        nulls=True,
    )


RECIPES: dict[str, Callable[[Place, bool], Recipe]] = {
    "COUNT": _count,
    "SUM": _sum,
    "SUM0": _sum,
    "$SUM0": _sum,
    "AVG": _average,
    "MIN": _extreme("<", "min"),
    "MAX": _extreme(">", "max"),
    "FIRST_VALUE": _first,
    "LAST_VALUE": _last,
    "SINGLE_VALUE": _single,
    "LISTAGG": _joined,
    "COLLECT": _collect,
    "ARRAY_AGG": _array,
    "STDDEV_POP": _spread(False, True),
    "STDDEV_SAMP": _spread(True, True),
    "STDDEV": _spread(True, True),
    "VAR_POP": _spread(False, False),
    "VAR_SAMP": _spread(True, False),
    "VARIANCE": _spread(True, False),
    "PERCENTILE": _percentile,
    "JSON_OBJECTAGG": _json_object,
    "JSON_ARRAYAGG": _json_array,
    "ROW_NUMBER": _row_number,
    "RANK": _place(False),
    "DENSE_RANK": _place(True),
    "LAG": _lag,
    **BITMAP_RECIPES,
}
_ORDERED = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "LAG"})
_GROWING = frozenset(
    {"LISTAGG", "ARRAY_AGG", "JSON_OBJECTAGG", "JSON_ARRAYAGG"}
    | {name for name in BITMAP_RECIPES if name.startswith(("BITMAP_AND", "BITMAP_OR"))}
)


def merges(call: AggregateCall, retracts: bool) -> bool:
    """Whether accumulators of parts of the rows can be put together.

    Some cannot where rows are taken back: a part of the rows cannot take back what it never had.
    """
    if hasattr(call.function, "bound"):
        return call.function.mergeable and not retracts
    name = call.function.name
    return name not in _ORDERED and not (retracts and name in _GROWING)


SUPPORTED = frozenset(RECIPES) - _ORDERED
"""Aggregates of any rows."""

SUPPORTED_OVER = frozenset(RECIPES)
"""Aggregates of rows in an order as well."""
