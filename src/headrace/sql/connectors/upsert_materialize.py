"""A sink with a key behind the operator that sees to it that the right row has the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.data_stream import DataStream
from headrace.sql.connectors.base import TableSink
from headrace.sql.connectors.streams import by_columns, with_operator
from headrace.sql.operators.specs import UpsertMaterializeSpec
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import Schema
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["UPSERT_MATERIALIZE", "materialized", "needs_materializing"]

UPSERT_MATERIALIZE = "table.exec.sink.upsert-materialize"


def needs_materializing(sink: TableSink, plan: n.Node, keys: Sequence[int], wanted: str) -> bool:
    """Whether updates of a plan's rows may reach a key of the sink in the wrong order.

    They may where the key is no key of the query: two rows of the query then have one key of the
    sink, and come from different subtasks.

    Args:
        sink: The table.
        plan: What is written.
        keys: Columns of the primary key.
        wanted: AUTO, FORCE or NONE.
    """
    wanted = wanted.upper()
    if wanted not in ("AUTO", "FORCE", "NONE"):
        raise SqlError(f"'{UPSERT_MATERIALIZE}' is one of AUTO, FORCE and NONE, not '{wanted}'")
    if wanted == "NONE" or not sink.upsert or not keys or is_append_only(plan):
        return False
    return wanted == "FORCE" or not any(k <= set(keys) for k in upsert_keys(plan))


def materialized(sink: TableSink, keys: Sequence[int], ttl_ms: int) -> TableSink:
    """The sink, behind the operator."""
    return _MaterializingSink(sink, tuple(keys), UpsertMaterializeSpec(ttl_ms))


class _MaterializingSink(TableSink):
    def __init__(self, sink: TableSink, keys: tuple[int, ...], spec: UpsertMaterializeSpec) -> None:
        self._sink = sink
        self._keys = keys
        self._spec = spec
        self.accepts_updates = sink.accepts_updates
        self.upsert = sink.upsert
        self.refusal = sink.refusal
        self.parallelism = sink.parallelism

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        rows = stream
        if changelog:
            keyed = by_columns(stream, self._keys)
            rows = with_operator(keyed, "SinkMaterializer", self._spec)
        return self._sink.attach(rows, schema, changelog)
