"""A harness for functions of a stream that is connected with a broadcast stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    as_key_selector,
)
from headrace.datastream.state import MapStateDescriptor
from headrace.graph.partitioning import Broadcast, KeyBy, Partitioning, Rebalance
from headrace.graph.specs import BroadcastProcessSpec
from headrace.testing.harness import Timestamps, TwoInputHarness

__all__ = ["BroadcastHarness", "broadcast_harness"]


class BroadcastHarness(TwoInputHarness):
    """Runs a broadcast function. Make one with `broadcast_harness`.

    `process1` and `watermark1` are for the stream that is not broadcast, `process2` and
    `watermark2` for the broadcast one.
    """

    def __init__(
        self, spec: BroadcastProcessSpec, key: Callable[[Any], Any] | None, **settings: Any
    ) -> None:
        self._selector = None if key is None else as_key_selector(key).get_key
        super().__init__(spec, None if self._selector is None else [self._selector], **settings)

    def _inputs(self, selectors: Any) -> list[Partitioning]:
        first: Partitioning = Rebalance() if self._selector is None else KeyBy(self._selector)
        return [first, Broadcast()]

    def broadcast(self, value: Any, ts: int | None = None) -> None:
        """Let every subtask process one record of the broadcast stream."""
        self.process2(value, ts)

    def broadcast_many(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Let every subtask process records of the broadcast stream as one batch."""
        self.process_many2(values, ts)

    def process(self, value: Any, ts: int | None = None) -> None:
        """Let the function process one record of the stream that is not broadcast."""
        self.process1(value, ts)

    def process_many(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Let the function process records of the stream that is not broadcast as one batch."""
        self.process_many1(values, ts)

    def broadcast_state(self, name: str) -> list[dict[Any, Any]]:
        """The broadcast state of this name: the copy of each subtask."""
        descriptor = MapStateDescriptor(name)
        return [
            dict(s.head.operator_state.get_broadcast_state(descriptor).items())
            for s in self._subtasks
        ]


def broadcast_harness(
    function: BroadcastProcessFunction[Any, Any, Any]
    | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
    *descriptors: MapStateDescriptor,
    key: Callable[[Any], Any] | None = None,
    batch: bool = False,
    **settings: Any,
) -> BroadcastHarness:
    """A harness for a function of a stream and a broadcast stream.

    Args:
        function: A `BroadcastProcessFunction`, or with `key` a `KeyedBroadcastProcessFunction`.
        *descriptors: The broadcast states, as given to `broadcast()`.
        key: Gives the key of a record of the stream that is not broadcast.
        batch: Behave as in batch mode: the whole broadcast stream comes first.
        **settings: As for `keyed_harness`.

    Example:
        >>> with broadcast_harness(MatchRules(), RULES, key=lambda item: item.colour) as h:
        ...     h.broadcast(Rule("pair", "circle", "square"))
        ...     h.process_many([Item("red", "circle"), Item("red", "square")])
        ...     assert h.output() == ["red: circle, square"]
    """
    if isinstance(function, KeyedBroadcastProcessFunction) != (key is not None):
        raise FunctionTypeError(
            "a KeyedBroadcastProcessFunction needs key=..., and a BroadcastProcessFunction must "
            "not have it"
        )
    spec = BroadcastProcessSpec(function, descriptors, broadcast_first=batch)
    return BroadcastHarness(spec, key, **settings)
