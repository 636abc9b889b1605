"""Operators that look at one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from headrace.sql.codegen.calc import calc_code, value_code
from headrace.sql.codegen.column_calc import column_calc
from headrace.sql.operators.changes.specs import (
    ConstraintSpec,
    FromChangelogSpec,
    ResolveConflictsSpec,
    ToChangelogSpec,
    UpsertMaterializeSpec,
)
from headrace.sql.operators.groups.specs import ExpandSpec
from headrace.sql.operators.specs import (
    BatchedCallsSpec,
    CalcSpec,
    CorrelateSpec,
    HashableRowsSpec,
    WatermarkSpec,
)
from headrace.sql.physical.nodes import (
    Calc,
    ConstraintEnforcer,
    HashableRows,
    MarkInserts,
    ResolveConflicts,
    UpsertMaterialize,
)
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.batch_tables import MLPredictTableFunction, VectorSearchTableFunction
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.translation.operators import Operator, Table, packed, takes_changes
from headrace.sql.types import IntType

__all__ = ["OPERATORS"]


def _calc(node: Calc, settings: PlanSettings) -> Operator:
    changelog = takes_changes(node.input, settings)
    code = calc_code(node.conditions, node.projections, changelog, settings.zone)
    columns = None if changelog else column_calc(node.conditions, node.projections)
    return Operator("Calc", CalcSpec(code, columns))


def _hashable_rows(node: HashableRows, settings: PlanSettings) -> Operator:
    spec = HashableRowsSpec(tuple((i, node.schema[i].type) for i in node.columns))
    return Operator(spec.kind, spec)


def _mark_inserts(node: MarkInserts, settings: PlanSettings) -> Operator:
    columns = [*node.schema.columns(), Literal(IntType(False), 0)]
    return Operator("Calc", CalcSpec(calc_code((), columns, False, settings.zone)))


def _watermark_assigner(node: n.WatermarkAssigner, settings: PlanSettings) -> Operator:
    code = None if node.watermark is None else value_code(node.watermark, settings.zone)
    follows = node.watermark is not None and _follows_column(node.watermark, node.column)
    rise_ms = settings.watermark_interval_ms if settings.every_change else None
    spec = WatermarkSpec(node.column, code, settings.idle_timeout_ms, follows, rise_ms)
    return Operator("WatermarkAssigner", spec)


def _follows_column(e: Expression, column: int) -> bool:
    """Whether a watermark is its column, perhaps less an interval."""
    if isinstance(e, Column):
        return e.index == column
    if isinstance(e, Call) and getattr(e.function, "name", "") == "MINUS":
        return _follows_column(e.args[0], column) and isinstance(e.args[1], Literal)
    return False


def _expand(node: n.Expand, settings: PlanSettings) -> Operator:
    sets = []
    for chosen, number in zip(node.sets, node.numbers, strict=True):
        width = len(node.input.schema)
        kept = tuple(i not in node.group or i in chosen for i in range(width))
        sets.append((kept, number))
    return Operator("Expand", ExpandSpec(tuple(sets), takes_changes(node.input, settings)))


def _batched_calls(node: n.BatchedCalls, settings: PlanSettings) -> Operator:
    changelog = takes_changes(node.input, settings)
    arguments = [node.varying(call) for call in node.calls]
    functions = tuple(map(partial(_batch_bound, settings), node.calls, arguments))
    spec = BatchedCallsSpec(
        tuple(packed(given, settings.zone) for given in arguments),
        functions,
        changelog,
        min(settings.arrow_batch_size, settings.bundle_size),
        None if changelog else _argument_places(arguments, functions),
    )
    return Operator("BatchedCalls", spec)


def _batch_bound(settings: PlanSettings, call: Call, varying: tuple[Expression, ...]) -> Any:
    types = tuple(a.type for a in varying)
    if len(varying) == len(call.args):
        return call.function.batch_bound(types, call.type, settings)
    constants = [(i, a.type, a.value) for i, a in enumerate(call.args) if isinstance(a, Literal)]
    return call.function.batch_bound(types, call.type, settings, constants)


def _argument_places(
    arguments: Sequence[tuple[Expression, ...]], functions: Sequence[Any]
) -> tuple[tuple[int, ...], ...] | None:
    """The columns that are the functions' arguments, if nothing else is and all take columns."""
    if not all(getattr(function, "takes_columns", False) for function in functions):
        return None
    places = [[a.index for a in given if isinstance(a, Column)] for given in arguments]
    if any(not p or len(p) < len(given) for p, given in zip(places, arguments, strict=True)):
        return None
    return tuple(map(tuple, places))


def _correlate(node: n.Correlate, settings: PlanSettings) -> Operator:
    function = node.function
    types = tuple(a.type for a in node.arguments)
    if getattr(function, "batched", False):
        function = function.batch_bound(types, node.schema.row_type, settings)
    elif hasattr(function, "bound"):
        function = function.bound(types, None, settings.zone)
    condition = None
    if node.condition is not None:
        condition = calc_code(conjuncts(node.condition), None, True, settings.zone)
    spec = CorrelateSpec(
        packed(node.arguments, settings.zone),
        function,
        len(node.schema) - len(node.input.schema),
        node.outer,
        takes_changes(node.input, settings),
        condition,
    )
    return Operator(type(node).__name__, spec)


def _constraint_enforcer(node: ConstraintEnforcer, settings: PlanSettings) -> Operator:
    wanted = settings.sinks
    checked = tuple((i, node.declared[i].type) for i in node.checked)
    spec = ConstraintSpec(
        tuple(node.declared.names),
        node.not_null,
        checked,
        wanted.lengths,
        wanted.nested == "ROWS_AND_COLLECTIONS",
        wanted.drop_null,
    )
    return Operator(spec.kind, spec)


def _upsert_materialize(node: UpsertMaterialize, settings: PlanSettings) -> Operator:
    spec = UpsertMaterializeSpec(settings.state_ttl_ms)
    return Operator(spec.kind, spec)


def _resolve_conflicts(node: ResolveConflicts, settings: PlanSettings) -> Operator:
    spec = ResolveConflictsSpec(
        tuple(node.schema[i].name for i in node.keys),
        node.row_key,
        node.action == "ERROR",
        takes_changes(node.input, settings),
        settings.state_ttl_ms,
    )
    return Operator(spec.kind, spec)


def _to_changelog(node: n.ToChangelog, settings: PlanSettings) -> Operator:
    spec = ToChangelogSpec(node.codes, takes_changes(node.input, settings))
    return Operator(spec.kind, spec)


def _from_changelog(node: n.FromChangelog, settings: PlanSettings) -> Operator:
    spec = FromChangelogSpec(node.op, node.kinds)
    return Operator(spec.kind, spec)


OPERATORS: Table = {
    n.ToChangelog: _to_changelog,
    n.FromChangelog: _from_changelog,
    ConstraintEnforcer: _constraint_enforcer,
    UpsertMaterialize: _upsert_materialize,
    ResolveConflicts: _resolve_conflicts,
    Calc: _calc,
    MarkInserts: _mark_inserts,
    HashableRows: _hashable_rows,
    n.WatermarkAssigner: _watermark_assigner,
    n.Expand: _expand,
    n.BatchedCalls: _batched_calls,
    n.Correlate: _correlate,
    MLPredictTableFunction: _correlate,
    VectorSearchTableFunction: _correlate,
}
