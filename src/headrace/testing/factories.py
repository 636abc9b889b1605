"""The ways to make a harness: from a function, from a spec, keyed or not, with one input or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import Sink
from headrace.datastream.connectors.function_sink import FunctionSink
from headrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
    as_filter_function,
    as_flat_map_function,
    as_key_selector,
    as_map_function,
    as_reduce_function,
)
from headrace.graph import specs
from headrace.testing.harness import OperatorHarness, TwoInputHarness

__all__ = ["harness", "keyed_harness", "two_input_harness"]

_SPECS: tuple[
    tuple[type[Any] | tuple[type[Any], ...], Callable[[Any], specs.OperatorSpec]], ...
] = (
    (MapFunction, specs.MapSpec),
    (FilterFunction, specs.FilterSpec),
    (FlatMapFunction, specs.FlatMapSpec),
    (ReduceFunction, specs.ReduceSpec),
    ((ProcessFunction, KeyedProcessFunction), specs.ProcessSpec),
    (CoMapFunction, specs.CoMapSpec),
    (CoFlatMapFunction, specs.CoFlatMapSpec),
    ((CoProcessFunction, KeyedCoProcessFunction), specs.CoProcessSpec),
    (WatermarkStrategy, specs.TimestampsSpec),
    (SinkFunction, lambda function: specs.SinkSpec(FunctionSink(function))),
    (Sink, specs.SinkSpec),
)

_OPERATIONS: dict[str, Callable[[Any], specs.OperatorSpec]] = {
    "map": lambda f: specs.MapSpec(as_map_function(f)),
    "filter": lambda f: specs.FilterSpec(as_filter_function(f)),
    "flat_map": lambda f: specs.FlatMapSpec(as_flat_map_function(f)),
    "reduce": lambda f: specs.ReduceSpec(as_reduce_function(f)),
}

_TWO_INPUTS = (specs.CoMapSpec, specs.CoFlatMapSpec, specs.CoProcessSpec)
_NEEDS_KEY = (KeyedProcessFunction, KeyedCoProcessFunction)


def harness(function: Any, operation: str | None = None, **settings: Any) -> OperatorHarness:
    """A harness for a function on a stream that is not keyed.

    Args:
        function: A function object such as a `ProcessFunction`, a `WatermarkStrategy`, a sink, an
            operator's spec, or a plain callable with `operation`.
        operation: What a plain callable is for: `map`, `filter` or `flat_map`.
        **settings: `output_type`, `time` (of the clock at the start, in milliseconds),
            `job_parameters`.

    Example:
        >>> with harness(lambda line: line.split(), "flat_map") as h:
        ...     h.process("to be or not")
        ...     assert h.output() == ["to", "be", "or", "not"]
    """
    spec = _spec_of(function, operation)
    _require(not isinstance(spec, _TWO_INPUTS), function, "two_input_harness(function)")
    keyed = isinstance(spec, specs.ReduceSpec) or isinstance(function, _NEEDS_KEY)
    _require(not keyed, function, "keyed_harness(function, key=...)")
    return OperatorHarness(spec, **settings)


def keyed_harness(
    function: Any, key: Callable[[Any], Any], operation: str | None = None, **settings: Any
) -> OperatorHarness:
    """A harness for a function on a keyed stream.

    Args:
        function: A function object such as a `KeyedProcessFunction` or a `ReduceFunction`, an
            operator's spec, or a plain callable with `operation`.
        key: Gives the key of a record.
        operation: What a plain callable is for: `map`, `filter`, `flat_map` or `reduce`.
        **settings: `parallelism`, `max_parallelism`, `output_type`, `time` (of the clock at the
            start, in milliseconds), `job_parameters`.

    Example:
        >>> with keyed_harness(lambda a, b: a + b, key=lambda n: n % 2, operation="reduce") as h:
        ...     h.process_many([1, 2, 3])
        ...     assert h.output() == [1, 2, 4]
    """
    spec = _spec_of(function, operation)
    _require(
        not isinstance(spec, _TWO_INPUTS),
        function,
        "two_input_harness(function, key1=..., key2=...)",
    )
    return OperatorHarness(spec, [as_key_selector(key).get_key], **settings)


def two_input_harness(
    function: Any,
    key1: Callable[[Any], Any] | None = None,
    key2: Callable[[Any], Any] | None = None,
    **settings: Any,
) -> TwoInputHarness:
    """A harness for a function of two connected streams.

    Args:
        function: A `CoMapFunction`, `CoFlatMapFunction`, `CoProcessFunction`,
            `KeyedCoProcessFunction`, or a spec.
        key1: Gives the key of a record of the first stream; leave both out for streams that are not
            keyed.
        key2: Gives the key of a record of the second stream.
        **settings: As for `keyed_harness`.
    """
    spec = _spec_of(function, None)
    if (key1 is None) != (key2 is None):
        raise FunctionTypeError("either both streams are keyed or neither is: give key1 and key2")
    keyed = key1 is not None and key2 is not None
    _require(keyed or not isinstance(function, _NEEDS_KEY), function, "key1 and key2")
    selectors = [as_key_selector(k).get_key for k in (key1, key2) if k is not None]
    return TwoInputHarness(spec, selectors or None, **settings)


def _spec_of(function: Any, operation: str | None) -> specs.OperatorSpec:
    if isinstance(function, specs.OperatorSpec):
        return function
    if operation is not None:
        if operation not in _OPERATIONS:
            raise FunctionTypeError(
                f"operation must be one of {', '.join(_OPERATIONS)}, not {operation!r}"
            )
        return _OPERATIONS[operation](function)
    for kinds, make in _SPECS:
        if isinstance(function, kinds):
            return make(function)
    raise FunctionTypeError(
        "a harness takes a function object such as a MapFunction or KeyedProcessFunction, not "
        f"{function!r}; for a plain callable, pass operation='map', 'filter', 'flat_map' or "
        "'reduce'"
    )


def _require(condition: bool, function: Any, instead: str) -> None:
    if not condition:
        raise FunctionTypeError(f"{type(function).__name__} needs {instead}")
