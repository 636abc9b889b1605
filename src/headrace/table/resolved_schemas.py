"""Resolved schemas of tables: of a catalog's declaration, or of a plan."""

from __future__ import annotations

from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.catalog import TableEntry
from headrace.sql.catalog.declarations import computed_text, watermark_text
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field
from headrace.sql.session.session import Session
from headrace.sql.session.show import shown_schema
from headrace.sql.statements import ColumnDefinition
from headrace.table.catalog import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from headrace.table.resolved_expression import ResolvedExpression

__all__ = ["resolved_schema"]


def resolved_schema(session: Session, plan: n.Node, entry: TableEntry | None) -> ResolvedSchema:
    """The columns of a plan; `entry` is there if the plan is a table of a catalog."""
    shown = shown_schema(session, plan.schema)
    if entry is None or entry.is_view:
        return ResolvedSchema.of_plan(shown)
    binding = session.binding()
    scope = Scope(binding)
    scope.add(None, plan.schema)
    binder = ExpressionBinder(binding, scope)
    columns = [_column(c, f, binder) for c, f in zip(entry.columns, shown, strict=True)]
    watermarks = []
    if entry.watermark is not None:
        bound = binder.bind(entry.watermark.expression)
        expression = ResolvedExpression(bound, watermark_text(entry.watermark))
        watermarks.append(WatermarkSpec(entry.watermark.column[-1], expression))
    key = None
    if entry.primary_key:
        name = entry.primary_key_name or "PK_" + "_".join(entry.primary_key)
        key = UniqueConstraint.primary_key(name, list(entry.primary_key))
    return ResolvedSchema(columns, watermarks, key)


def _column(column: ColumnDefinition, field: Field, binder: ExpressionBinder) -> Column:
    name, comment = column.name, column.comment
    if column.expression is not None:
        expression = ResolvedExpression(binder.bind(column.expression), computed_text(column))
        return ComputedColumn(name, expression, field.type, comment, field.time)
    if column.metadata:
        key, virtual = column.metadata_key, column.virtual
        return MetadataColumn(name, field.type, key, virtual, comment, field.time)
    return PhysicalColumn(name, field.type, comment, field.time)
