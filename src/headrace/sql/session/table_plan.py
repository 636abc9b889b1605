"""Plans of catalog tables: what a scan of a declared table is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.catalog import TableEntry
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource, find_factory
from headrace.sql.connectors.legacy_keys import modern_options
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, Schema, TimeAttribute
from headrace.sql.types.type_rules import is_timestamp

__all__ = [
    "connector_context",
    "connector_schema",
    "declared_schema",
    "scan_plan",
    "sink_schema",
    "with_time",
]


def connector_context(
    path: tuple[str, ...],
    entry: TableEntry,
    options: dict[str, str],
    binding: BindingContext,
    sink: bool = False,
) -> TableContext:
    """A table as its connector sees it: stored columns only."""
    entry = entry.as_table()
    fields: list[Field] = []
    metadata: dict[int, str] = {}
    for column in entry.columns:
        if column.type is None or (sink and column.virtual):
            continue
        if column.metadata:
            metadata[len(fields)] = column.metadata_key or column.name
        fields.append(Field(column.name, column.type))
    return TableContext(
        path,
        Schema(tuple(fields)),
        modern_options({**entry.options, **options}, ".".join(path)),
        metadata,
        entry.partition_keys,
        entry.primary_key,
        binding.batch,
        binding.zone,
        entry.object,
    )


def connector_schema(context: TableContext, factory: TableFactory) -> Schema:
    """The columns of a table as its connector has them: metadata with types of its own."""
    fields = list(context.schema)
    for place, key in context.metadata.items():
        field, found = fields[place], factory.metadata_type(key)
        if found is not None and type(found) is not type(field.type):
            fields[place] = replace(field, type=found.with_nullable(field.type.is_nullable))
    return Schema(tuple(fields))


def scan_plan(
    path: tuple[str, ...],
    entry: TableEntry,
    options: dict[str, str],
    binding: BindingContext,
    rows: int | None = None,
    *,
    unread: bool = False,
) -> n.Node:
    """Reads a table of so many rows, if that is known: source, computed columns, watermark.

    Args:
        path: The table's full name.
        entry: What was declared.
        options: Of a hint.
        binding: The surroundings.
        rows: How many rows there are.
        unread: Whether the table may be one that cannot be read, as long as nobody reads it.
    """
    context = connector_context(path, entry, options, binding)
    try:
        factory = find_factory(context.options, context.name)
        context = replace(context, schema=connector_schema(context, factory))
        source = _source(context, factory, binding)
    except SqlError as error:
        if not unread:
            raise
        source = _UnreadableSource(error)
    key = tuple(context.schema.names.index(name) for name in entry.primary_key)
    plan: n.Node = n.Scan(
        context.schema, path, source, primary_key=key, declared=context, rows=rows
    )
    duplicates = binding.duplicate_changes and not source.append_only
    if duplicates and not key:
        raise SqlError(
            "Configuration 'table.exec.source.cdc-events-duplicate' is enabled which requires the "
            f"changelog sources to define a PRIMARY KEY. However, table '{context.name}' doesn't "
            "have a primary key."
        )
    if source.upsert or duplicates:
        plan = n.ChangelogNormalize(plan.schema, plan, key)
    return with_time(plan, entry, binding)


def _source(context: TableContext, factory: TableFactory, binding: BindingContext) -> TableSource:
    """The source of a table, if the session can read it."""
    source = factory.create_source(context)
    if binding.batch and not source.bounded:
        raise SqlError(
            f"Querying an unbounded table '{context.name}' in batch mode is not allowed. The "
            "table source is unbounded."
        )
    if binding.batch and not source.append_only:
        raise SqlError(
            "Querying a table in batch mode is currently only possible for INSERT-only table "
            f"sources. But the source for table '{context.name}' produces other changelog messages "
            "than just INSERT."
        )
    return source


class _UnreadableSource(TableSource):
    """A table that cannot be read: whoever tries is told why."""

    def __init__(self, error: SqlError) -> None:
        self._error = error

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        raise self._error

    def describe(self) -> list[str]:
        raise self._error


def with_time(scan: n.Node, entry: TableEntry, binding: BindingContext) -> n.Node:
    """Adds computed columns and the watermark of a table's declaration."""
    plan = scan
    expressions = _columns(scan, entry, binding)
    names = [c.name for c in entry.columns]
    if expressions is not None:
        plan = n.Project.of(scan, expressions, names)
    return _watermark(plan, entry, binding)


def _columns(scan: n.Node, entry: TableEntry, binding: BindingContext) -> list[Expression] | None:
    """All columns in the declared order; None if they are those of the source."""
    as_declared = [(c.name, c.type) for c in entry.columns if c.expression is None]
    if as_declared == [(f.name, f.type) for f in scan.schema] and len(as_declared) == len(
        entry.columns
    ):
        return None
    scope = Scope(binding)
    scope.add(entry_name(scan), scan.schema)
    binder = ExpressionBinder(binding, scope)
    stored = {f.name: i for i, f in enumerate(scan.schema)}
    found: list[Expression] = []
    for column in entry.columns:
        if column.expression is None:
            cell = scan.schema.column(stored[column.name])
            assert column.type is not None
            found.append(binder.coerce(cell, column.type) if column.metadata else cell)
        else:
            found.append(binder.bind(column.expression))
    return found


def entry_name(scan: n.Node) -> str | None:
    """The table's own name."""
    return scan.table[-1] if isinstance(scan, n.Scan) else None


def _watermark(plan: n.Node, entry: TableEntry, binding: BindingContext) -> n.Node:
    definition = entry.watermark
    if definition is None:
        return plan
    name = definition.column[-1]
    if name not in plan.schema.names:
        raise binding.error(
            f"The rowtime attribute field '{name}' is not defined in the table schema."
        )
    index = plan.schema.names.index(name)
    column = plan.schema[index]
    if not is_timestamp(column.type) or column.type.precision > 3:  # type: ignore[attr-defined]
        raise SqlError(
            "Invalid data type of time field for watermark definition. The field must be of type "
            f"TIMESTAMP(p) or TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but "
            f"the time field type is {column.type.sql_text()}"
        )
    scope = Scope(binding)
    scope.add(None, plan.schema)
    watermark: Expression | None = ExpressionBinder(binding, scope).bind(definition.expression)
    if getattr(getattr(watermark, "function", None), "name", "") == "SOURCE_WATERMARK":
        watermark = None
    fields = tuple(
        Field(f.name, f.type, TimeAttribute.ROWTIME) if i == index else f
        for i, f in enumerate(plan.schema)
    )
    return n.WatermarkAssigner(Schema(fields), plan, index, watermark)


def declared_schema(entry: TableEntry, binding: BindingContext) -> Schema:
    """The columns of a table with types and time attributes, without opening its connector."""
    stored = [c for c in entry.columns if c.type is not None]
    fields = tuple(Field(c.name, c.type) for c in stored if c.type is not None)
    return with_time(n.Values(Schema(fields), ()), entry, binding).schema


def sink_schema(entry: TableEntry) -> Schema:
    """The columns that INSERT writes: stored ones that can be written."""
    return Schema(
        tuple(Field(c.name, c.type) for c in entry.columns if c.type is not None and not c.virtual)
    )


def positions(names: Sequence[str], wanted: Sequence[str], table: str) -> list[int]:
    """Positions of columns by name."""
    missing: list[Any] = [w for w in wanted if w not in names]
    if missing:
        raise SqlError(f"Unknown target column '{missing[0]}' of table {table}")
    return [names.index(w) for w in wanted]
