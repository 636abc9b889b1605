"""Recipes of the aggregates of bitmaps."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.codegen.recipe import Place, Recipe, counted_values

__all__ = ["BITMAP_RECIPES"]

_Maker = Callable[[Place, bool], Recipe]


def _result(p: Place, bitmap: str, there: str) -> str:
    """A bitmap, or how many numbers are in it; NULL of no values."""
    cardinality = p.call.function.name.endswith("_CARDINALITY_AGG")
    return f"({f'len({bitmap})' if cardinality else bitmap} if {there} else None)"


def _build(p: Place, retracts: bool) -> Recipe:
    build, a = p.writer.reference("bitmaps:build"), p.slot()
    return Recipe(*counted_values(p), _result(p, f"{build}({a})", a))


def _combined(operator: str) -> _Maker:
    """Bitmaps that only come are combined at once."""

    def recipe(p: Place, retracts: bool) -> Recipe:
        a, b = p.slot(), p.slot(of="b")
        add = [f"{a} = x if {a} is None else {a} {operator} x"]
        merge = [f"if {b} is not None: {a} = {b} if {a} is None else {a} {operator} {b}"]
        return Recipe(["None"], add, None, merge, _result(p, a, f"{a} is not None"))

    return recipe


def _toggled(p: Place, retracts: bool) -> Recipe:
    """XOR takes a bitmap back as it adds it; besides, how many bitmaps there are."""
    a, count = p.slot(), p.slot(1)
    toggle = f"{a} = {a} ^ x"
    merge = [f"{a} = {a} ^ {p.slot(of='b')}", f"{count} += {p.slot(1, 'b')}"]
    return Recipe(
        ["frozenset()", "0"],
        [toggle, f"{count} += 1"],
        [toggle, f"{count} -= 1"],
        merge,
        _result(p, a, count),
    )


def _counted(of_all: bool) -> _Maker:
    """In how many bitmaps each number is, and how many bitmaps there are."""

    def recipe(p: Place, retracts: bool) -> Recipe:
        a, count = p.slot(), p.slot(1)
        change = p.writer.reference("bitmaps:change_counts")
        condition = f"n == {count}" if of_all else "n > 0"
        bitmap = f"frozenset(x for x, n in {a}.items() if {condition})"
        return Recipe(
            ["{}", "0"],
            [f"{change}({a}, x, 1)", f"{count} += 1"],
            [f"{change}({a}, x, -1)", f"{count} -= 1"],
            None,
            _result(p, bitmap, count),
        )

    return recipe


def _either(inserts: _Maker, changes: _Maker) -> _Maker:
    def recipe(p: Place, retracts: bool) -> Recipe:
        return (changes if retracts else inserts)(p, retracts)

    return recipe


_KINDS: dict[str, _Maker] = {
    "BUILD": _build,
    "AND": _either(_combined("&"), _counted(True)),
    "OR": _either(_combined("|"), _counted(False)),
    "XOR": _toggled,
}

BITMAP_RECIPES: dict[str, _Maker] = {
    f"BITMAP_{kind}_{suffix}": make
    for kind, make in _KINDS.items()
    for suffix in ("AGG", "CARDINALITY_AGG")
}
