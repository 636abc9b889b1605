"""`ConnectedStreams`: two streams of any types as the inputs of one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    check_function,
)
from headrace.datastream.operator_settings import applied, transformation_of
from headrace.graph import specs
from headrace.graph.shipping import check_shippable

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream

__all__ = ["ConnectedStreams"]

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


class ConnectedStreams(Generic[T, V]):
    """Two streams that are the inputs of one function, and share its state."""

    def __init__(self, stream1: DataStream[T], stream2: DataStream[V]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams[T, V]:
        """Keys both streams, so that records with one key meet in one subtask."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def _is_keyed(self) -> bool:
        keyed = [transformation_of(s).keyed for s in (self.stream1, self.stream2)]
        if any(keyed) and not all(keyed):
            raise GraphError(
                "connect: either both streams are keyed or neither is: call key_by() on both"
            )
        return all(keyed)

    def _apply(
        self, name: str, spec: specs.OperatorSpec, output_type: TypeInformation | None
    ) -> DataStream[Any]:
        self._is_keyed()
        return applied(self.stream1, name, spec, output_type, name, self.stream2)

    def map(
        self, func: CoMapFunction[T, V, U], output_type: TypeInformation | None = None
    ) -> DataStream[U]:
        """Maps both streams with one function."""
        function = check_function(
            func, CoMapFunction, "map of connected streams", "The input function must be a {}!"
        )
        check_shippable(function, "map of connected streams")
        return self._apply("Co-Map", specs.CoMapSpec(function), output_type)

    def flat_map(
        self, func: CoFlatMapFunction[T, V, U], output_type: TypeInformation | None = None
    ) -> DataStream[U]:
        """Flat-maps both streams with one function."""
        function = check_function(func, CoFlatMapFunction, "flat_map of connected streams")
        check_shippable(function, "flat_map of connected streams")
        return self._apply("Co-Flat Map", specs.CoFlatMapSpec(function), output_type)

    def process(
        self,
        func: CoProcessFunction[T, V, U] | KeyedCoProcessFunction[Any, T, V, U],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """Processes both streams with one function, with state and timers when both are keyed."""
        function = cast(
            "Any",
            check_function(
                func, (CoProcessFunction, KeyedCoProcessFunction), "process of connected streams"
            ),
        )
        if isinstance(function, KeyedCoProcessFunction) and not self._is_keyed():
            raise FunctionTypeError(
                "a KeyedCoProcessFunction needs keyed streams: call key_by() on both before "
                "process()"
            )
        check_shippable(function, "process of connected streams")
        name = "Keyed Co-Process" if self._is_keyed() else "Co-Process"
        return self._apply(name, specs.CoProcessSpec(function), output_type)
