"""The broadcast state pattern: a stream of rules, settings or patterns that every subtask knows.

`rules.broadcast(descriptor)` is a `BroadcastStream`; `items.connect(...)` with it gives a
`BroadcastConnectedStream`, which is processed by a function that writes broadcast state with the
records of one side and reads it with those of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    check_function,
)
from headrace.datastream.operator_settings import applied, transformation_of
from headrace.datastream.state import MapStateDescriptor
from headrace.graph import specs
from headrace.graph.shipping import check_shippable

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream

__all__ = ["BroadcastConnectedStream", "BroadcastStream"]

T = TypeVar("T")
V = TypeVar("V")
U = TypeVar("U")


class BroadcastStream(Generic[V]):
    """A stream whose records go to every subtask, with the state that is made of them.

    `DataStream.broadcast` with descriptors makes one. All that can be done with it is to connect
    another stream with it.
    """

    def __init__(
        self,
        input_stream: DataStream[V],
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = _checked(broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[T, V]):
    """A stream, keyed or not, connected with a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream[T],
        broadcast_stream: BroadcastStream[V],
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = _checked(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction[T, V, U] | KeyedBroadcastProcessFunction[Any, T, V, U],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """Processes both streams with one function.

        Args:
            func: A `KeyedBroadcastProcessFunction` if the stream that is not broadcast is keyed,
                else a `BroadcastProcessFunction`.
            output_type: Type of the results; any Python objects without it.

        Example:
            >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
            >>> by_colour = items.key_by(lambda item: item.colour)
            >>> by_colour.connect(rule_stream.broadcast(rules)).process(MatchRules())
        """
        kinds = (BroadcastProcessFunction, KeyedBroadcastProcessFunction)
        function = cast("Any", check_function(func, kinds, "process of a broadcast stream"))
        keyed = transformation_of(self.non_broadcast_stream).keyed
        if isinstance(function, KeyedBroadcastProcessFunction) and not keyed:
            raise FunctionTypeError(
                "KeyedBroadcastProcessFunction should be applied to keyed DataStream: call "
                "key_by() before connect(), or write a BroadcastProcessFunction"
            )
        if isinstance(function, BroadcastProcessFunction) and keyed:
            raise FunctionTypeError(
                "BroadcastProcessFunction should be applied to non-keyed DataStream: write a "
                "KeyedBroadcastProcessFunction, or leave key_by() out"
            )
        name = "Keyed-Co-Process-Broadcast" if keyed else "Co-Process-Broadcast"
        main, broadcast = self.non_broadcast_stream, self.broadcast_stream.input_stream
        spec = specs.BroadcastProcessSpec(
            function,
            tuple(self.broadcast_state_descriptors),
            broadcast_first=main.get_execution_environment().is_batch(),
        )
        operation = "process of a broadcast stream"
        check_shippable(spec, operation)
        return applied(main, name, spec, output_type, operation, broadcast)


def _checked(descriptors: Any) -> list[MapStateDescriptor]:
    checked: list[MapStateDescriptor] = []
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise FunctionTypeError(
                "broadcast_state_descriptor must be MapStateDescriptor, such as "
                "MapStateDescriptor('rules', Types.STRING(), Types.STRING()), not "
                f"{descriptor!r}"
            )
        if any(descriptor.name == other.name for other in checked):
            raise GraphError(
                f"broadcast() is given two descriptors with the name {descriptor.name!r}: each "
                "broadcast state needs its own name"
            )
        checked.append(descriptor)
    if not checked:
        raise GraphError("a broadcast stream needs at least one MapStateDescriptor")
    return checked
