"""What every translation of a node to an operator uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.calc import value_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.operators.emission import Emission
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import Call, Expression, SortKey
from headrace.sql.types import RowField, RowType

__all__ = ["Operator", "Table", "emission_of", "packed", "sort_order", "takes_changes"]


@dataclass(frozen=True)
class Operator:
    """The name that graphs show, what slots run, and perhaps the uid that finds its state."""

    name: str
    spec: OperatorSpec
    uid: str | None = None


Table = dict[type[n.Node], Callable[[Any, PlanSettings], Operator]]
"""For each kind of node what makes its operator."""


def takes_changes(node: n.Node, settings: PlanSettings) -> bool:
    """Whether rows of a plan end with their kind."""
    return not settings.batch and not is_append_only(node)


def emission_of(node: n.Node, settings: PlanSettings) -> Emission:
    """When an operator whose results change emits."""
    every_change = node.every_change and not settings.batch
    return Emission.EVERY_CHANGE if every_change else settings.emission


def sort_order(keys: Sequence[SortKey]) -> tuple[tuple[int, bool, bool], ...]:
    """Column, descending, nulls first."""
    return tuple((k.index, k.descending, k.nulls_first) for k in keys)


def packed(arguments: Sequence[Expression], zone: str) -> GeneratedCode:
    """Code that makes a row of some arguments."""
    row = RowType([RowField(f"f{i}", a.type) for i, a in enumerate(arguments)], False)
    return value_code(Call(row, builtin_registry().find("ROW"), tuple(arguments)), zone)
