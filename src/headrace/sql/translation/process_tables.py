"""Process table functions."""

from __future__ import annotations

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.operators.process.specs import ProcessTableSpec, TableSpec
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.process_table import GivenTable, ProcessTable
from headrace.sql.translation.operators import Operator, Table, packed, sort_order, takes_changes
from headrace.sql.types import RowField, RowType
from headrace.sql.udf.process.hints import ArgumentTrait

__all__ = ["OPERATORS"]


def _process_table(node: ProcessTable, settings: PlanSettings) -> Operator:
    arguments = node.function.signature.arguments
    places = tuple(i for i, argument in enumerate(arguments) if not argument.is_table)
    tables = tuple(
        _table(arguments.index(table.argument), table, relation, settings)
        for table, relation in zip(node.tables, node.relations, strict=False)
    )
    passes = any(ArgumentTrait.PASS_COLUMNS_THROUGH in t.argument.traits for t in node.tables)
    spec = ProcessTableSpec(
        node.function,
        tables,
        packed(node.values, settings.zone),
        places,
        tuple(value.type for value in node.values),
        node.has_time,
        node.keyed,
        node.keyed and not passes,
        settings.state_ttl_ms,
        settings.zone,
    )
    return Operator(f"{spec.kind}[{node.function.name}]", spec, node.uid)


def _table(place: int, table: GivenTable, relation: n.Node, settings: PlanSettings) -> TableSpec:
    schema = relation.schema
    changes = takes_changes(relation, settings)
    mode = ChangelogMode.all() if changes else ChangelogMode.insert_only()
    passes = table.partition
    if ArgumentTrait.PASS_COLUMNS_THROUGH in table.argument.traits:
        passes = tuple(range(len(schema)))
    return TableSpec(
        table.argument.name,
        place,
        RowType(
            [RowField(name, f.type) for name, f in zip(table.names, schema, strict=True)], False
        ),
        table.partition,
        sort_order(table.order),
        table.time,
        passes,
        changes,
        ChangelogMode.upsert() if changes and table.upserts else mode,
    )


OPERATORS: Table = {ProcessTable: _process_table}
