"""Rows for a sink are what the table's columns are declared to be."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.physical.nodes import ConstraintEnforcer
from headrace.sql.physical.settings import PlanSettings, SinkSettings
from headrace.sql.plan import nodes as n
from headrace.sql.types.type_rules import declared_length

__all__ = ["sink_constraints"]


def sink_constraints(node: n.Node, settings: PlanSettings) -> n.Node:
    """Check columns whose values may be NULL, too long or too short for the sink."""
    if not isinstance(node, n.Sink):
        return node
    wanted = settings.sinks
    if wanted.nested == "ROWS_AND_COLLECTIONS" and wanted.lengths == "TRIM_PAD":
        raise SqlError(
            "Trimming and/or padding is not supported if constraint checking is enabled on types "
            "nested in collections."
        )
    declared, given = node.declared, node.input.schema
    not_null = tuple(
        i
        for i, (field, source) in enumerate(zip(declared, given, strict=True))
        if not field.type.is_nullable and _may_be_null(source.type)
    )
    checked = tuple(i for i, f in enumerate(declared) if _is_checked(f.type, wanted))
    if not not_null and not checked:
        return node
    below = ConstraintEnforcer(given, node.input, declared, not_null, checked)
    return node.with_inputs([below])


def _may_be_null(type_: t.DataType) -> bool:
    """Of what is NOT NULL, a decimal with too many digits is NULL nevertheless."""
    return type_.is_nullable or isinstance(type_, t.DecimalType)


def _is_checked(type_: t.DataType, wanted: SinkSettings) -> bool:
    """Whether the values of a column have to be checked, apart from NULL."""
    if declared_length(type_) is not None:
        return wanted.lengths != "IGNORE"
    return any(not x.is_nullable or _is_checked(x, wanted) for x in wanted.parts(type_))
