"""One operator for each spec of `headrace.graph.specs`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from headrace.common.errors import GraphError
from headrace.graph import specs
from headrace.runtime.operator import Operator
from headrace.runtime.operators.asynchronous import AsyncOperator
from headrace.runtime.operators.broadcast import BroadcastOperator
from headrace.runtime.operators.co_process import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
)
from headrace.runtime.operators.interval_join import IntervalJoinOperator
from headrace.runtime.operators.process import ProcessOperator
from headrace.runtime.operators.reduce import ReduceOperator
from headrace.runtime.operators.simple import FilterOperator, FlatMapOperator, MapOperator
from headrace.runtime.operators.sink import SinkOperator
from headrace.runtime.operators.source import SourceOperator
from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.runtime.operators.window import build_window_operator

_OPERATORS: dict[type[specs.OperatorSpec], Callable[[Any], Operator]] = {
    specs.SourceSpec: SourceOperator,
    specs.MapSpec: MapOperator,
    specs.FilterSpec: FilterOperator,
    specs.FlatMapSpec: FlatMapOperator,
    specs.ReduceSpec: ReduceOperator,
    specs.ProcessSpec: ProcessOperator,
    specs.CoMapSpec: CoMapOperator,
    specs.CoFlatMapSpec: CoFlatMapOperator,
    specs.CoProcessSpec: CoProcessOperator,
    specs.BroadcastProcessSpec: BroadcastOperator,
    specs.TimestampsSpec: TimestampsOperator,
    specs.AsyncSpec: AsyncOperator,
    specs.SinkSpec: SinkOperator,
    specs.WindowSpec: build_window_operator,
    specs.IntervalJoinSpec: IntervalJoinOperator,
}


def build_operator(spec: specs.OperatorSpec) -> Operator:
    """The operator for a spec: one of this package, or the one that the spec names itself."""
    build = _OPERATORS.get(type(spec))
    if build is None and spec.operator:
        module, _, name = spec.operator.partition(":")
        build = getattr(importlib.import_module(module), name)
    if build is None:
        raise GraphError(f"there is no operator for {type(spec).__name__}")
    return build(spec)
