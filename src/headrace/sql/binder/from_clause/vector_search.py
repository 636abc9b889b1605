"""Binds VECTOR_SEARCH: the rows of a table whose vectors are most like one of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.from_clause.call_arguments import (
    descriptor_names,
    options_of,
    unique_names,
)
from headrace.sql.binder.scope import Scope
from headrace.sql.connectors.memory import MemoryTable
from headrace.sql.lookups.search import SearchOrder
from headrace.sql.lookups.vector_search import VectorSearch
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.plan import nodes as n
from headrace.sql.plan.call_config import CallConfig
from headrace.sql.plan.expressions import Column, Expression, Field, rewrite
from headrace.sql.types.implicit_casts import casts_implicitly

__all__ = ["bind_vector_search"]

Search = tuple[VectorSearch, list[Expression], list[Field]]


def bind_vector_search(
    context: BindingContext, scope: Scope, table: n.Node, given: dict[str, Any], call: Any
) -> Search:
    """The function, its arguments over the columns of `scope`, and the columns that it makes."""
    # Late: numpy is slow to load, and few programs search.
    from headrace.sql.lookups.exact_search import check_metric

    span = span_of(call)
    scan, projections = _searched(context, table, table.schema.columns(), span)
    column = _column(context, table, given["COLUMN_TO_SEARCH"], scan, projections)
    query = _query(context, scope, given["COLUMN_TO_QUERY"], scan.schema[column].type)
    top_k = _top_k(context, given["TOP_K"])
    options = options_of(context, given.get("CONFIG"))
    source = scan.source
    try:
        config = CallConfig.of(options)
        asynchronous = source.searches_asynchronously
        config.check("vector search provider", ".".join(scan.table), not asynchronous, asynchronous)
        check_metric(options.get("metric", "cosine"))
    except SqlError as error:
        raise context.error(str(error), span) from error
    (score,) = unique_names(table.schema.names, ["score"])
    fields = [*(Field(f.name, f.type) for f in table.schema), Field(score, t.DoubleType())]
    whole = [p.index if isinstance(p, Column) else None for p in projections]
    last = Column(t.DoubleType(), len(scan.schema))
    other = None if whole == list(range(len(scan.schema))) else (*projections, last)
    order = SearchOrder(column, top_k, options)
    return VectorSearch(scan, order, config, other), [query], fields


def _searched(
    context: BindingContext, node: n.Node, columns: Sequence[Expression], span: x.Span | None
) -> tuple[n.Scan, list[Expression]]:
    """The table itself, and the columns of a relation over those of the table."""
    if isinstance(node, n.Project):
        below = node.expressions

        def inside(e: Expression) -> Expression | None:
            return below[e.index] if isinstance(e, Column) else None

        return _searched(context, node.input, [rewrite(c, inside) for c in columns], span)
    if isinstance(node, n.Values):
        node = n.Scan(node.schema, ("Values",), MemoryTable(node.rows))
    if isinstance(node, n.Filter):
        raise context.error(
            "VECTOR_SEARCH does not support filter on parameter search_table.", span
        )
    if not isinstance(node, n.Scan):
        raise context.error(
            f"VECTOR_SEARCH does not support {type(node).__name__} node in parameter search_table.",
            span,
        )
    if not node.source.searches:
        raise context.error(
            f"VECTOR_SEARCH cannot search table {'.'.join(node.table)}: that takes a "
            "VectorSearchTableSource, or a table that is read as a whole",
            span,
        )
    return node, list(columns)


def _column(
    context: BindingContext,
    table: n.Node,
    tree: Any,
    scan: n.Scan,
    projections: Sequence[Expression],
) -> int:
    """The column of the table itself that has the vectors."""
    names = descriptor_names(
        context, tree, "Argument 'COLUMN_TO_SEARCH' of VECTOR_SEARCH must be a descriptor."
    )
    if len(names) != 1:
        raise context.error(
            "Expect parameter COLUMN_TO_SEARCH for VECTOR_SEARCH only contains one column, but "
            "multiple columns are found.",
            span_of(tree),
        )
    name, at = names[0]
    if name not in table.schema.names:
        known = ", ".join(table.schema.names)
        raise context.error(f"Unknown identifier '{name}'. The columns are: {known}", at)
    place = table.schema.names.index(name)
    type_ = table.schema[place].type
    element = type_.element_type if isinstance(type_, t.ArrayType) else None
    if not isinstance(element, t.FloatType | t.DoubleType):
        raise context.error(
            f"Expect search column `{name}` type is ARRAY<FLOAT> or ARRAY<DOUBLE>, but its type is "
            f"{type_.sql_text()}.",
            at,
        )
    found = projections[place]
    if not isinstance(found, Column):
        raise context.error(
            f"VECTOR_SEARCH can not find column `{name}` in the search_table "
            f"{'.'.join(scan.table)} physical output type. A computed column cannot be searched.",
            at,
        )
    return found.index


def _query(context: BindingContext, scope: Scope, tree: Any, wanted: t.DataType) -> Expression:
    binder = ExpressionBinder(context, scope)
    query = binder.bind(expression_node(tree))
    if not casts_implicitly(_nullable(query.type), _nullable(wanted)):
        raise context.error(
            f"Can not cast the query column type {query.type.sql_text()} to target type "
            f"{wanted.sql_text()}. Please keep the query column type is same to the search column "
            "type.",
            span_of(tree),
        )
    return binder.coerce(query, _nullable(wanted))


def _nullable(type_: t.DataType) -> t.DataType:
    """A vector that may be missing, and whose elements may be."""
    if isinstance(type_, t.ArrayType):
        return t.ArrayType(type_.element_type.nullable())
    return type_.with_nullable(True)  # type: ignore[no-any-return]


def _top_k(context: BindingContext, tree: Any) -> int:
    node = expression_node(tree)
    if not isinstance(node, x.Constant) or not isinstance(node.type, t.IntType):
        raise context.error(
            "Expect parameter top_k is an INTEGER NOT NULL literal in VECTOR_SEARCH.",
            span_of(tree),
        )
    if node.value <= 0:
        raise context.error(
            f"Parameter top_k must be greater than 0, but was {node.value}.", span_of(tree)
        )
    return int(node.value)
