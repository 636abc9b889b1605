"""Code for a filter and a projection together: `run(rows)` gives the new rows."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.codegen.expressions import ExpressionCompiler, row_code
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.plan.expressions import Column, Expression, Literal, columns_used


def calc_code(
    conditions: Sequence[Expression],
    projections: Sequence[Expression] | None,
    changelog: bool = False,
    zone: str = "UTC",
) -> GeneratedCode:
    """Rows for which all conditions are TRUE, with new columns.

    Args:
        conditions: Looked at in this order.
        projections: The new columns; None keeps rows as they are.
        changelog: Whether rows end with their kind, which stays at the end.
        zone: The session's time zone.
    """
    writer = CodeWriter(zone)
    loaded: set[int] = set()
    compiler = ExpressionCompiler(writer, lambda i: f"c{i}")

    def load(expressions: Sequence[Expression]) -> None:
        for index in sorted(set().union(*map(columns_used, expressions)) - loaded):
            writer.line(f"c{index} = r[{index}]")
            loaded.add(index)

    with writer.block("def run(rows):"):
        if not conditions and projections is not None and _columns_only(projections):
            writer.line(f"return [{_picked(projections, changelog)} for r in rows]")
            return writer.finish()
        writer.line("out = []")
        writer.line("append = out.append")
        with writer.block("for r in rows:"):
            for condition in conditions:
                load([condition])
                writer.line(f"if not {compiler.condition(condition)}: continue")
            if projections is None:
                writer.line("append(r)")
            elif _columns_only(projections):
                writer.line(f"append({_picked(projections, changelog)})")
            else:
                load(projections)
                parts = [compiler.value(p) for p in projections]
                parts += ["r[-1]"] * changelog
                writer.line(f"append({row_code(parts)})")
        writer.line("return out")
    return writer.finish()


def value_code(expression: Expression, zone: str = "UTC") -> GeneratedCode:
    """`run(rows)` gives the value of the expression for each row."""
    writer = CodeWriter(zone)
    compiler = ExpressionCompiler(writer, lambda i: f"c{i}")
    with writer.block("def run(rows):"):
        writer.line("out = []")
        with writer.block("for r in rows:"):
            for index in sorted(columns_used(expression)):
                writer.line(f"c{index} = r[{index}]")
            writer.line(f"out.append({compiler.value(expression)})")
        writer.line("return out")
    return writer.finish()


def literal_of(expression: Expression, zone: str = "UTC") -> Literal | None:
    """The value of an expression without columns.

    None if it cannot be computed: then it stays as it is, and fails where a row needs it.
    """
    try:
        (value,) = value_code(expression, zone).load()([()])
    except Exception:  # noqa: BLE001 - a function may raise anything, and will again
        return None
    return Literal(expression.type, value)


def _columns_only(projections: Sequence[Expression]) -> bool:
    return all(isinstance(p, Column) for p in projections)


def _picked(projections: Sequence[Expression], changelog: bool) -> str:
    parts = [f"r[{p.index}]" for p in projections if isinstance(p, Column)]
    parts += ["r[-1]"] * changelog
    return row_code(parts)
