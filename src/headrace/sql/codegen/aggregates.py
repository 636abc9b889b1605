"""Code for aggregate functions over an accumulator that is a list.

Each function has a *recipe*: how many places it needs in the list, what they start with, and the
lines that add a row, take one back, merge another accumulator, and give the value. One function
does a whole batch of rows for all aggregates of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.sql import types as t
from headrace.sql.codegen.arithmetic import decimal_argument
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.expressions import AggregateCall
from headrace.sql.types import DataType

Lines = list[str]


@dataclass
class Recipe:
    """How an aggregate is computed; `a` is the accumulator, `x` the argument, `b` another one.

    Attributes:
        initial: What the places start with, as code.
        add: Lines for a row whose argument is not NULL.
        remove: Lines that take such a row back; None if that cannot be done.
        merge: Lines that add the accumulator `b`; None if that cannot be done.
        value: Code for the result.
        nulls: Whether rows with NULL count as well.
    """

    initial: list[str]
    add: Lines
    remove: Lines | None
    merge: Lines | None
    value: str
    nulls: bool = False


@dataclass
class Place:
    """Where a recipe works: the writer for references, and the first place in the list."""

    writer: CodeWriter
    at: int
    call: AggregateCall

    def slot(self, offset: int = 0, of: str = "a") -> str:
        return f"{of}[{self.at + offset}]"

    @property
    def argument_type(self) -> DataType:
        return self.call.arg_types[0]


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
    from decimal import Decimal

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
        counted = _counted_values(p)
        return Recipe(*counted, f"({pick}({a}) if {a} else None)")

    return recipe


def _counted_values(p: Place) -> tuple[list[str], Lines, Lines, Lines]:
    """A dict from value to how often it is there."""
    a, b = p.slot(), p.slot(of="b")
    add = [f"{a}[x] = {a}.get(x, 0) + 1"]
    remove = [
        f"n = {a}.get(x, 0) - 1",
        f"if n: {a}[x] = n",
        f"else: {a}.pop(x, None)",
    ]
    merge = [
        f"for x, n in {b}.items():",
        f"    n += {a}.get(x, 0)",
        f"    if n: {a}[x] = n",
        f"    else: {a}.pop(x, None)",
    ]
    return ["{}"], add, remove, merge


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
    initial, add, remove, merge = _counted_values(p)
    return Recipe(initial, add, remove, merge, f"({pick.format(a)} if {a} else None)")


def _of_inserts(retracts: bool, line: str) -> Lines | None:
    """A merge of what only ever grows: a part of the rows cannot take back what it never had."""
    return None if retracts else [line]


def _joined(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    separator = p.writer.constant(p.call.constants[0] if p.call.constants else ",")
    return Recipe(
        ["[]"],
        [f"{a}.append(x)"],
        [f"if x in {a}: {a}.remove(x)"],
        _of_inserts(retracts, f"{a}.extend({b})"),
        f"({separator}.join({a}) if {a} else None)",
    )


def _collect(p: Place, retracts: bool) -> Recipe:
    a = p.slot()
    return Recipe(*_counted_values(p), f"dict({a})")


def _array(p: Place, retracts: bool) -> Recipe:
    a, b = p.slot(), p.slot(of="b")
    return Recipe(
        ["[]"],
        [f"{a}.append(x)"],
        [f"if x in {a}: {a}.remove(x)"],
        _of_inserts(retracts, f"{a}.extend({b})"),
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
    initial, _, _, merge = _counted_values(p)
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
    merge = _of_inserts(retracts, f"{a}.update({b})")
    return Recipe(["{}"], add, remove, merge, value, nulls=True)


def _json_array(p: Place, retracts: bool) -> Recipe:
    recipe = _array(p, retracts)
    text = p.writer.reference("json_functions:array_text")
    recipe.value = f"{text}({p.slot()}, {p.writer.constant(p.call.constants[0])})"
    return recipe


def _row_number(p: Place, retracts: bool) -> Recipe:
    a = p.slot()
    return Recipe(["0"], [f"{a} += 1"], None, None, a, nulls=True)


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


def _user(p: Place, retracts: bool) -> Recipe:
    """A user's aggregate function, which has its own accumulator."""
    function, a, b = p.writer.constant(p.call.function), p.slot(), p.slot(of="b")
    arguments = "(x,)" if len(p.call.args) == 1 else "x" if p.call.args else "()"
    return Recipe(
        [f"{function}.create()"],
        [f"{function}.accumulate({a}, {arguments})"],
        [f"{function}.retract({a}, {arguments})"],
        _of_inserts(retracts or not p.call.function.mergeable, f"{function}.merge({a}, {b})"),
        f"{function}.value({a})",
        nulls=True,
    )


_RECIPES: dict[str, Callable[[Place, bool], Recipe]] = {
    "COUNT": _count,
    "SUM": _sum,
    "SUM0": _sum,
    "$SUM0": _sum,
    "AVG": _average,
    "MIN": _extreme("<", "min"),
    "MAX": _extreme(">", "max"),
    "FIRST_VALUE": _first,
    "LAST_VALUE": _last,
    "SINGLE_VALUE": _last,
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
    "LAG": _lag,
}
_ORDERED = frozenset({"ROW_NUMBER", "LAG"})

SUPPORTED = frozenset(_RECIPES) - _ORDERED
"""Aggregates of any rows."""

SUPPORTED_OVER = frozenset(_RECIPES)
"""Aggregates of rows in an order as well."""


@dataclass(frozen=True)
class AggregateCode:
    """What an aggregation operator runs.

    Attributes:
        add: `run(keys, rows, accumulators, load)` adds a batch; `load(key)` makes what is missing.
        merge: `run(a, b)` adds accumulator b to a.
        create: `run()` gives an empty accumulator, whose first place counts rows.
        value: `run(a)` gives the results as a tuple.
        mergeable: Whether rows are best aggregated before the exchange already.
        functions: Users' functions, to be opened and closed with the operator.
        combinable: Whether `merge` may be used: also with DISTINCT, but with all values.
    """

    add: GeneratedCode
    merge: GeneratedCode
    create: GeneratedCode
    value: GeneratedCode
    mergeable: bool
    functions: tuple[Any, ...] = ()
    combinable: bool = True


def aggregate_code(
    calls: Sequence[AggregateCall], changelog: bool, zone: str = "UTC", order: bool = False
) -> AggregateCode:
    """Code for some aggregates; `changelog` says whether rows may be taken back."""
    calls = [_for_slots(c, zone) for c in calls]
    add, merge, create, value = (CodeWriter(zone) for _ in range(4))
    # One layout, with references written to the function that needs them.
    layout = [_place(add, calls, changelog), _place(value, calls, changelog)]
    merging = _place(merge, calls, changelog)
    creating = _place(create, calls, changelog)
    _write_add(add, calls, layout[0], changelog)
    with value.block("def run(a):"):
        value.line(f"return ({''.join(r.value + ', ' for r in layout[1])})")
    initial = [place for r in creating for place in r.initial]
    with create.block("def run():"):
        create.line(f"return [{', '.join(['0', *initial])}]")
    combinable = all(r.merge is not None for r in merging)
    mergeable = combinable and not any(c.distinct for c in calls)
    with merge.block("def run(a, b):"):
        merge.line("a[0] += b[0]")
        for recipe in merging:
            for line in recipe.merge or ():
                merge.line(line)
    functions = tuple(c.function for c in calls if _is_user(c))
    codes = (add.finish(), merge.finish(), create.finish(), value.finish())
    return AggregateCode(*codes, mergeable, functions, combinable)


def _is_user(call: AggregateCall) -> bool:
    return hasattr(call.function, "accumulate")


def _for_slots(call: AggregateCall, zone: str) -> AggregateCall:
    """With a user's function as slots use it: on internal values."""
    if not hasattr(call.function, "bound"):
        return call
    return replace(call, function=call.function.bound(call.arg_types, call.type, zone))


def _place(writer: CodeWriter, calls: Sequence[AggregateCall], changelog: bool) -> list[Recipe]:
    recipes = []
    at = 1
    for call in calls:
        distinct = call.distinct and call.function.name not in ("MIN", "MAX")
        inner = Place(writer, at + distinct, call)
        make = _user if _is_user(call) else _RECIPES[call.function.name]
        recipe = make(inner, changelog)
        if distinct:
            recipe = _distinct(Place(writer, at, call), recipe, changelog)
        recipes.append(recipe)
        at += len(recipe.initial)
    return recipes


def _distinct(p: Place, inner: Recipe, changelog: bool) -> Recipe:
    """Counts each value, and hands on those that come for the first or go for the last time."""
    seen = p.slot()
    other = p.slot(of="b")
    if not changelog:
        add = [f"if x not in {seen}:", f"    {seen}[x] = 1", *("    " + x for x in inner.add)]
        merge = [f"for x in {other}:", *("    " + x for x in add)]
        return Recipe(["{}", *inner.initial], add, None, merge, inner.value, False)
    add = [
        f"n = {seen}.get(x, 0) + 1",
        f"if n: {seen}[x] = n",
        f"else: del {seen}[x]",
        "if n == 1:",
        *("    " + x for x in inner.add),
    ]
    remove = [
        f"n = {seen}.get(x, 0) - 1",
        f"if n: {seen}[x] = n",
        f"else: del {seen}[x]",
        "if n == 0:",
        *("    " + x for x in inner.remove or ["pass"]),
    ]
    merge = [
        f"for x, m in {other}.items():",
        f"    o = {seen}.get(x, 0)",
        f"    if o + m: {seen}[x] = o + m",
        f"    else: del {seen}[x]",
        "    if o <= 0 < o + m:",
        *("        " + x for x in inner.add),
        "    elif o + m <= 0 < o:",
        *("        " + x for x in inner.remove or ["pass"]),
    ]
    return Recipe(["{}", *inner.initial], add, remove, merge, inner.value, False)


def _write_add(
    writer: CodeWriter, calls: Sequence[AggregateCall], recipes: list[Recipe], changelog: bool
) -> None:
    with writer.block("def run(keys, rows, accumulators, load):"):
        writer.line("get = accumulators.get")
        with writer.block("for k, r in zip(keys, rows):"):
            writer.line("a = get(k)")
            writer.line("if a is None: a = accumulators[k] = load(k)")
            if not changelog:
                writer.line("a[0] += 1")
                _write_rows(writer, calls, [(r.add, r.nulls) for r in recipes])
                return
            with writer.block("if r[-1] & 1:"):
                writer.line("a[0] -= 1")
                _write_rows(writer, calls, [(r.remove or ["pass"], r.nulls) for r in recipes])
            with writer.block("else:"):
                writer.line("a[0] += 1")
                _write_rows(writer, calls, [(r.add, r.nulls) for r in recipes])


def _write_rows(
    writer: CodeWriter, calls: Sequence[AggregateCall], steps: list[tuple[Lines, bool]]
) -> None:
    for call, (lines, nulls) in zip(calls, steps, strict=True):
        tests = [] if call.filter is None else [f"r[{call.filter}]"]
        arguments = [f"r[{i}]" for i in call.args]
        if len(arguments) == 1:
            writer.line(f"x = {arguments[0]}")
        elif arguments:
            writer.line(f"x = ({', '.join(arguments)},)")
        if not nulls:
            nullable = [n for n, x in zip(arguments, call.arg_types, strict=True) if x.is_nullable]
            tests += [f"{'x' if len(arguments) == 1 else n} is not None" for n in nullable]
        if tests:
            with writer.block(f"if {' and '.join(tests)}:"):
                for line in lines:
                    writer.line(line)
        else:
            for line in lines:
                writer.line(line)
