"""Makes function objects of what users pass to `map`, `key_by` and so on.

A wrong argument is refused here, at the line where the program is built. A wrapped callable is
stored as an *instance attribute* under the method's name, so that `as_map_function(f).map is f`:
the runtime calls the bare callable, with nothing in between.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any, ClassVar, TypeVar

from headrace.common.errors import FunctionTypeError, shorten_repr
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream.functions.base import Function
from headrace.datastream.functions.basic import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from headrace.datastream.functions.source_sink import SinkFunction
from headrace.datastream.functions.windowing import CoGroupFunction, JoinFunction

__all__ = [
    "FunctionWrapper",
    "as_co_group_function",
    "as_filter_function",
    "as_flat_map_function",
    "as_join_function",
    "as_key_selector",
    "as_map_function",
    "as_partitioner",
    "as_reduce_function",
    "as_sink_function",
    "as_timestamp_assigner",
    "check_function",
    "positional_arguments",
]

F = TypeVar("F")


class FunctionWrapper(Function):
    """Marks a function object that was made of a plain callable: `open` and `close` do nothing."""

    _METHOD: ClassVar[str]

    #: The callable that the user passed.
    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        vars(self)[self._METHOD] = function

    def __repr__(self) -> str:
        """Shows the callable."""
        return f"{type(self).__name__}({shorten_repr(self.function)})"


class _MapWrapper(FunctionWrapper, MapFunction[Any, Any]):
    _METHOD = "map"

    def map(self, value: Any) -> Any:
        return self.function(value)


class _FlatMapWrapper(FunctionWrapper, FlatMapFunction[Any, Any]):
    _METHOD = "flat_map"

    def flat_map(self, value: Any) -> Any:
        return self.function(value)


class _FilterWrapper(FunctionWrapper, FilterFunction[Any]):
    _METHOD = "filter"

    def filter(self, value: Any) -> bool:
        return bool(self.function(value))


class _ReduceWrapper(FunctionWrapper, ReduceFunction[Any]):
    _METHOD = "reduce"

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self.function(value1, value2)


class _KeySelectorWrapper(FunctionWrapper, KeySelector[Any, Any]):
    _METHOD = "get_key"

    def get_key(self, value: Any) -> Any:
        return self.function(value)


class _PartitionerWrapper(FunctionWrapper, Partitioner[Any]):
    _METHOD = "partition"

    def partition(self, key: Any, num_partitions: int) -> int:
        return int(self.function(key, num_partitions))


class _JoinWrapper(FunctionWrapper, JoinFunction[Any, Any, Any]):
    _METHOD = "join"

    def join(self, first: Any, second: Any) -> Any:
        return self.function(first, second)


class _CoGroupWrapper(FunctionWrapper, CoGroupFunction[Any, Any, Any]):
    _METHOD = "co_group"

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Any:
        return self.function(first, second)


class _SinkWrapper(FunctionWrapper, SinkFunction[Any]):
    _METHOD = "invoke"

    def invoke(self, value: Any, context: SinkFunction.Context | None = None) -> None:
        self.function(value)


class _TimestampAssignerWrapper(FunctionWrapper, TimestampAssigner):
    _METHOD = "extract_timestamp"

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(self.function(value, record_timestamp))


class _ValueOnly:
    """Calls a function of one argument with the first of two."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, value: Any, _ignored: Any) -> Any:
        return self.function(value)


def as_map_function(func: Callable[[Any], Any] | MapFunction[Any, Any]) -> MapFunction[Any, Any]:
    """Returns `func` as a `MapFunction`."""
    if isinstance(func, MapFunction):
        return func
    return _MapWrapper(_check_callable(func, MapFunction, "map", 1))


def as_flat_map_function(
    func: Callable[[Any], Iterable[Any] | None] | FlatMapFunction[Any, Any],
) -> FlatMapFunction[Any, Any]:
    """Returns `func` as a `FlatMapFunction`."""
    if isinstance(func, FlatMapFunction):
        _check_results(func.flat_map)
        return func
    _check_callable(func, FlatMapFunction, "flat_map", 1)
    _check_results(func)
    return _FlatMapWrapper(func)


def _check_results(func: Callable[..., Any]) -> None:
    code = getattr(func, "__code__", None)
    if code is None or inspect.isgeneratorfunction(func):
        return
    if all(const is None for const in _returned(code)):
        raise FunctionTypeError(
            f"flat_map: {code.co_name} at {code.co_filename}:{code.co_firstlineno} returns "
            "nothing for any record: yield each result, or return a list of them"
        )


def _returned(code: CodeType) -> Iterator[Any]:
    """The constants that a function returns; itself for what is not a constant."""
    before = None
    found = False
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST":
            found = True
            yield step.argval
        elif step.opname == "RETURN_VALUE":
            found = True
            constant = before is not None and before.opname == "LOAD_CONST"
            yield before.argval if before is not None and constant else code
        before = step
    if not found:  # It only raises.
        yield code


def as_filter_function(
    func: Callable[[Any], bool] | FilterFunction[Any],
) -> FilterFunction[Any]:
    """Returns `func` as a `FilterFunction`. The callable's result counts by its truth value."""
    if isinstance(func, FilterFunction):
        return func
    return _FilterWrapper(_check_callable(func, FilterFunction, "filter", 1))


def as_reduce_function(
    func: Callable[[Any, Any], Any] | ReduceFunction[Any],
) -> ReduceFunction[Any]:
    """Returns `func` as a `ReduceFunction`."""
    if isinstance(func, ReduceFunction):
        return func
    return _ReduceWrapper(_check_callable(func, ReduceFunction, "reduce", 2))


def as_key_selector(
    key_selector: Callable[[Any], Any] | KeySelector[Any, Any],
) -> KeySelector[Any, Any]:
    """Returns `key_selector` as a `KeySelector`."""
    if isinstance(key_selector, KeySelector):
        return key_selector
    subject = "Parameter key_selector should be type of"
    return _KeySelectorWrapper(
        _check_callable(key_selector, KeySelector, "key_by", 1, subject=subject)
    )


def as_partitioner(
    partitioner: Callable[[Any, int], int] | Partitioner[Any],
) -> Partitioner[Any]:
    """Returns `partitioner` as a `Partitioner`."""
    if isinstance(partitioner, Partitioner):
        return partitioner
    subject = "Parameter partitioner should be type of"
    return _PartitionerWrapper(
        _check_callable(partitioner, Partitioner, "partition_custom", 2, subject=subject)
    )


def as_join_function(
    func: Callable[[Any, Any], Any] | JoinFunction[Any, Any, Any],
) -> JoinFunction[Any, Any, Any]:
    """Returns `func` as a `JoinFunction`: one record for each pair."""
    if isinstance(func, JoinFunction):
        return func
    return _JoinWrapper(_check_callable(func, JoinFunction, "join", 2))


def as_co_group_function(
    func: Callable[[Any, Any], Iterable[Any] | None] | CoGroupFunction[Any, Any, Any],
) -> CoGroupFunction[Any, Any, Any]:
    """Returns `func` as a `CoGroupFunction`."""
    if isinstance(func, CoGroupFunction):
        return func
    return _CoGroupWrapper(_check_callable(func, CoGroupFunction, "co_group", 2))


def as_sink_function(func: Callable[[Any], None] | SinkFunction[Any]) -> SinkFunction[Any]:
    """Returns `func` as a `SinkFunction`.

    A callable and a subclass may take the record alone or the record and the context:
    `positional_arguments(sink.invoke) == 1` tells which.
    """
    if isinstance(func, SinkFunction):
        return func
    return _SinkWrapper(_check_callable(func, SinkFunction, "add_sink", 1, most=2))


def as_timestamp_assigner(
    assigner: Callable[..., int] | TimestampAssigner,
) -> TimestampAssigner:
    """Returns `assigner` as a `TimestampAssigner`.

    A callable may take the record alone or the record and its previous timestamp.
    """
    if isinstance(assigner, TimestampAssigner):
        return assigner
    operation = "with_timestamp_assigner"
    function = _check_callable(assigner, TimestampAssigner, operation, 1, most=2)
    if not _takes(function, 2):
        function = _ValueOnly(function)
    return _TimestampAssignerWrapper(function)


def check_function(
    func: Any,
    kinds: type[F] | tuple[type[F], ...],
    operation: str,
    words: str = "The input must be a {}:",
) -> F:
    """Returns `func` if it is an instance of one of `kinds`; for operations that take no callables.

    Args:
        func: What the user passed.
        kinds: The function classes that the operation accepts.
        operation: Name of the method, for the message.
        words: What PyFlink says there; `{}` stands for the names of the classes.
    """
    if isinstance(func, kinds):
        return func
    accepted = kinds if isinstance(kinds, tuple) else (kinds,)
    names = " or ".join(kind.__name__ for kind in accepted)
    raise FunctionTypeError(f"{words.format(names)} {operation} {_what_instead(func, accepted)}")


def positional_arguments(func: Callable[..., Any]) -> int | None:
    """Returns how many positional arguments a callable takes at most, or None if it cannot be told.

    A callable with `*args` counts as None: it takes any number.
    """
    signature = _signature(func)
    if signature is None:
        return None
    count = 0
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return None
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            count += 1
    return count


def _signature(func: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):  # many builtins have no signature
        return None


def _takes(func: Callable[..., Any], count: int) -> bool:
    signature = _signature(func)
    if signature is None:
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _check_callable(
    func: Any,
    kind: type[Any],
    operation: str,
    arguments: int,
    most: int | None = None,
    subject: str = "The input must be a",
) -> Callable[..., Any]:
    name = kind.__name__
    if not callable(func) or _is_function_class(func):
        raise FunctionTypeError(
            f"{subject} {name} or a callable function: {operation}() {_what_instead(func, (kind,))}"
        )
    if inspect.iscoroutinefunction(func):
        raise FunctionTypeError(
            f"{operation}() cannot await the coroutine function {shorten_repr(func)}; write an "
            "AsyncFunction and use AsyncDataStream.unordered_wait(...)"
        )
    counts = range(arguments, (most or arguments) + 1)
    if not any(_takes(func, count) for count in counts):
        wanted = " or ".join(str(count) for count in counts)
        plural = "" if counts[-1] == 1 else "s"
        raise FunctionTypeError(
            f"{operation}() calls its function with {wanted} argument{plural}, but "
            f"{shorten_repr(func)} has the signature {_signature(func)}"
        )
    checked: Callable[..., Any] = func
    return checked


def _is_function_class(func: Any) -> bool:
    return isinstance(func, type) and issubclass(func, Function)


def _what_instead(func: Any, accepted: tuple[type[Any], ...]) -> str:
    if isinstance(func, type) and issubclass(func, accepted):
        return f"got the class {func.__name__} itself; pass an instance: {func.__name__}()"
    if isinstance(func, type) and issubclass(func, Function):
        return f"got the class {func.__name__}, which is another kind of function"
    if isinstance(func, Function):
        kinds = [base.__name__ for base in type(func).__mro__[1:] if _is_public_function(base)]
        kind = f" (a {kinds[0]})" if kinds else ""
        return f"got {type(func).__name__}{kind}; use the operation for that kind of function"
    if isinstance(func, str):
        return f"got the string {func!r}; names of Java classes or fields cannot be used"
    return f"got {shorten_repr(func)} of type {type(func).__name__}"


def _is_public_function(base: type) -> bool:
    return (
        issubclass(base, Function)
        and base not in (Function, FunctionWrapper)
        and base.__module__.startswith("headrace.datastream.functions")
    )
