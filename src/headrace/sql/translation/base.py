"""What the translation of every node needs: operators, keys, and rows with their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph import partitioning as p
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
)
from headrace.sql.codegen.aggregates import (
    SUPPORTED,
)
from headrace.sql.codegen.calc import calc_code, value_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.functions.registry import builtin_registry
from headrace.sql.operators import specs
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import (
    AggregateCall,
    Call,
    Expression,
    Literal,
    SortKey,
)
from headrace.sql.segments.planning import Segment, find_segments
from headrace.sql.translation.segments import (
    segment_rows,
)
from headrace.sql.translation.settings import TranslationSettings
from headrace.sql.types import IntType, RowField, RowType

__all__ = ["NodeTranslator", "check_supported", "sort_order"]


def no_key(row: Any) -> tuple[()]:
    """The key of rows that all belong together."""
    return ()


class NodeTranslator:
    """Makes transformations of nodes, in one environment: a method for each kind of node."""

    def __init__(self, env: StreamExecutionEnvironment, settings: TranslationSettings) -> None:
        self.env = env
        self.settings = settings
        self._done: dict[int, Transformation] = {}
        self._kept: list[n.Node] = []
        self._segments: dict[int, Segment] = {}

    def stream(self, node: n.Node) -> DataStream[Any]:
        """The stream of a plan's rows."""
        self._segments |= find_segments(node, self.settings.for_segments())
        self._kept.append(node)
        return DataStream(self.env, self.translate(node))

    def translate(self, node: n.Node) -> Transformation:
        """The transformation of a plan; a node that two plans share is translated once."""
        found = self._done.get(id(node))
        if found is None:
            found = self._translated(node)
            self._done[id(node)] = found
            self._kept.append(node)
        return found

    def _translated(self, node: n.Node) -> Transformation:
        segment = self._segments.get(id(node))
        if segment is not None and segment.local is None:
            return segment_rows(self.env, segment, len(node.schema))._transformation
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise SqlError(f"{type(node).__name__} is not supported yet")
        found: Transformation = method(node)
        return found

    def changelog(self, node: n.Node) -> bool:
        """Whether rows of a plan end with their kind."""
        return not self.settings.batch and not is_append_only(node)

    def operator(
        self, name: str, inputs: Sequence[Transformation], spec: OperatorSpec, single: bool = False
    ) -> Transformation:
        """An operator of its inputs, with `single` in one subtask."""
        transformation = OperatorTransformation(
            self.env.ids, name, inputs, Types.PICKLED_BYTE_ARRAY(), spec
        )
        if single:
            transformation.force_non_parallel = True
            transformation.parallelism = 1
        self.env.register(transformation)
        return transformation

    def keyed(self, upstream: Transformation, columns: Sequence[int]) -> Transformation:
        """Rows with equal columns go to one subtask."""
        selector = itemgetter(*columns) if columns else no_key
        return PartitionTransformation(self.env.ids, upstream, p.Keyed(selector))

    def _single(self, node: n.Node) -> Transformation:
        """All rows in one subtask."""
        return PartitionTransformation(self.env.ids, self.translate(node), p.Global())

    def _calc(
        self,
        input_: n.Node,
        upstream: Transformation,
        conditions: Sequence[Expression],
        projections: Sequence[Expression] | None,
    ) -> Transformation:
        changelog = self.changelog(input_)
        code = calc_code(conditions, projections, changelog, self.settings.zone)
        return self.operator("Calc", [upstream], specs.CalcSpec(code))

    def _as_changelog(self, node: n.Node, changelog: bool) -> Transformation:
        """Rows with their kind, where the others of a union have one."""
        upstream = self.translate(node)
        if not changelog or self.changelog(node):
            return upstream
        columns = [*node.schema.columns(), Literal(IntType(False), 0)]
        code = calc_code((), columns, False, self.settings.zone)
        return self.operator("Calc", [upstream], specs.CalcSpec(code))

    def _packed(self, arguments: Sequence[Expression]) -> GeneratedCode:
        """Code that makes a row of some arguments."""
        row = RowType([RowField(f"f{i}", a.type) for i, a in enumerate(arguments)], False)
        packed = Call(row, builtin_registry().find("ROW"), tuple(arguments))
        return value_code(packed, self.settings.zone)


def sort_order(keys: Sequence[SortKey]) -> tuple[tuple[int, bool, bool], ...]:
    """Column, descending, nulls first."""
    return tuple((k.index, k.descending, k.nulls_first) for k in keys)


def check_supported(calls: Sequence[AggregateCall], supported: frozenset[str] = SUPPORTED) -> None:
    """Refuses aggregates that nobody computes here."""
    for call in calls:
        name = call.function.name
        if not hasattr(call.function, "bound") and name not in supported:
            raise SqlError(f"aggregate function {name} is not supported here yet")
