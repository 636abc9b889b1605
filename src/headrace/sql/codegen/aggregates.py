"""Code for aggregate functions over an accumulator that is a list.

Each function has a *recipe*: how many places it needs in the list, what they start with, and the
lines that add a row, take one back, merge another accumulator, and give the value. One function
does a whole batch of rows for all aggregates of a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.codegen.arithmetic import may_be_null
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.codegen.recipes import (
    RECIPES,
    SUPPORTED,
    SUPPORTED_OVER,
    Lines,
    Place,
    Recipe,
    merges,
    user_recipe,
)
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.plan.expressions import AggregateCall

__all__ = [
    "SUPPORTED_OVER",
    "AggregateCode",
    "aggregate_code",
    "aggregates_early",
    "check_supported",
]


def check_supported(calls: Sequence[AggregateCall], supported: frozenset[str] = SUPPORTED) -> None:
    """Refuses aggregates that are not supported."""
    for call in calls:
        name = call.function.name
        if not hasattr(call.function, "bound") and name not in supported:
            raise SqlError(f"aggregate function {name} is not supported here yet")


def aggregates_early(calls: Sequence[AggregateCall], changelog: bool) -> bool:
    """Whether rows are best aggregated before the exchange already."""
    return not any(c.distinct for c in calls) and all(merges(c, changelog) for c in calls)


@dataclass(frozen=True)
class AggregateCode:
    """What an aggregation operator runs.

    Attributes:
        add: `run(keys, rows, accumulators, load)` adds a batch; `load(key)` makes what is missing.
        merge: `run(a, b)` adds accumulator b to a.
        merge_all: `run(accumulators, pairs, load)` does so for pairs of key and accumulator;
            `load(key, b)` makes what is missing, unless it is `b` itself.
        create: `run()` gives an empty accumulator, whose first place counts rows.
        value: `run(a)` gives the results as a tuple.
        rows: `run(pairs, single, columns)` gives rows of pairs of key and accumulator: the key,
            which is one value if `single`, the results, and further columns.
        mergeable: Whether rows are best aggregated before the exchange already.
        functions: Users' functions, to be opened and closed with the operator.
        combinable: Whether `merge` may be used: also with DISTINCT, but with all values.
    """

    add: GeneratedCode
    merge: GeneratedCode
    merge_all: GeneratedCode
    create: GeneratedCode
    value: GeneratedCode
    rows: GeneratedCode
    mergeable: bool
    functions: tuple[Any, ...] = ()
    combinable: bool = True


def aggregate_code(
    calls: Sequence[AggregateCall], changelog: bool, zone: str = "UTC", order: bool = False
) -> AggregateCode:
    """Code for some aggregates; `changelog` says whether rows may be taken back."""
    mergeable = aggregates_early(calls, changelog)
    combinable = all(merges(c, changelog) for c in calls)
    calls = [_for_slots(c, zone) for c in calls]
    add, merge, merge_all, create, value, rows = (CodeWriter(zone) for _ in range(6))
    # One layout, with references written to the function that needs them.
    layout = [_place(add, calls, changelog), _place(value, calls, changelog)]
    merging = _place(merge, calls, changelog)
    creating = _place(create, calls, changelog)
    _write_add(add, calls, layout[0], changelog)
    with value.block("def run(a):"):
        value.line(f"return ({_values(layout[1])})")
    with rows.block("def run(pairs, single, columns):"):
        values = _values(_place(rows, calls, changelog))
        rows.line(f"if single: return [(k, {values}*columns) for k, a in pairs]")
        rows.line(f"return [(*k, {values}*columns) for k, a in pairs]")
    initial = [place for r in creating for place in r.initial]
    with create.block("def run():"):
        create.line(f"return [{', '.join(['0', *initial])}]")
    with merge.block("def run(a, b):"):
        _write_merge(merge, merging)
    with (
        merge_all.block("def run(accumulators, pairs, load):"),
        merge_all.block("for k, b in pairs:"),
    ):
        merge_all.line("a = accumulators.get(k)")
        with merge_all.block("if a is None:"):
            merge_all.line("a = accumulators[k] = load(k, b)")
            merge_all.line("if a is b: continue")
        _write_merge(merge_all, _place(merge_all, calls, changelog))
    functions = tuple(c.function for c in calls if _is_user(c))
    codes = (
        add.finish(),
        merge.finish(),
        merge_all.finish(),
        create.finish(),
        value.finish(),
        rows.finish(),
    )
    return AggregateCode(*codes, mergeable, functions, combinable)


def _values(recipes: Sequence[Recipe]) -> str:
    return "".join(f"{r.value}, " for r in recipes)


def _write_merge(writer: CodeWriter, recipes: Sequence[Recipe]) -> None:
    writer.line("a[0] += b[0]")
    for recipe in recipes:
        for line in recipe.merge or ():
            writer.line(line)


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
        make = user_recipe if _is_user(call) else RECIPES[call.function.name]
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
        return Recipe(["{}", *inner.initial], add, None, merge, inner.value, inner.nulls)
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
    return Recipe(["{}", *inner.initial], add, remove, merge, inner.value, inner.nulls)


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
    """Lines of all calls; a filter is looked at once for all that have it, and so is a value."""
    groups: dict[int | None, dict[tuple[str, str], Lines]] = {}
    for call, (lines, nulls) in zip(calls, steps, strict=True):
        arguments = [f"r[{i}]" for i in call.args]
        value = arguments[0] if len(arguments) == 1 else "".join(f"{a}, " for a in arguments)
        nullable: list[str] = []
        if not nulls:
            types = zip(arguments, call.arg_types, strict=True)
            nullable = [name for name, type_ in types if may_be_null(type_)]
        present = " and ".join(
            f"{'x' if len(arguments) == 1 else name} is not None" for name in nullable
        )
        groups.setdefault(call.filter, {}).setdefault((value, present), []).extend(lines)
    for column, by_value in groups.items():
        with _under(writer, "" if column is None else f"r[{column}]"):
            for (value, present), lines in by_value.items():
                if value:
                    writer.line(f"x = {value}")
                with _under(writer, present):
                    for line in lines:
                        writer.line(line)


def _under(writer: CodeWriter, test: str) -> AbstractContextManager[None]:
    return writer.block(f"if {test}:") if test else nullcontext()
