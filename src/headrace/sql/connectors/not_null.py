"""A sink whose NOT NULL columns are looked at before rows are written."""

from __future__ import annotations

from typing import Any

from headrace.datastream.data_stream import DataStream
from headrace.sql.connectors.base import TableSink
from headrace.sql.connectors.streams import with_operator
from headrace.sql.operators.specs import NotNullSpec
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema

__all__ = ["enforced"]


def enforced(sink: TableSink, query: n.Node, target: Schema, drop: bool) -> TableSink:
    """The sink, behind a check of those columns that may have NULL and must not."""
    if all(not f.type.is_nullable for f in query.schema) and len(query.schema) == len(target):
        return sink
    columns = tuple(i for i, f in enumerate(target) if not f.type.is_nullable)
    if not columns:
        return sink
    names = tuple(target.names[c] for c in columns)
    return _EnforcingSink(sink, NotNullSpec(columns, names, drop))


class _EnforcingSink(TableSink):
    def __init__(self, sink: TableSink, spec: NotNullSpec) -> None:
        self._sink = sink
        self._spec = spec
        self.accepts_updates = sink.accepts_updates
        self.upsert = sink.upsert
        self.refusal = sink.refusal
        self.parallelism = sink.parallelism

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        checked = with_operator(stream, "ConstraintEnforcer", self._spec)
        return self._sink.attach(checked, schema, changelog)
