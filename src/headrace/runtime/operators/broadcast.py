"""A stream connected with a broadcast stream: one side writes broadcast state, the other reads it.

Records of an epoch may be processed in any order of their channels; the subtask gives the broadcast
ones first (`first_input`), so that a rule counts for the records that came with it. In batch mode
all of the broadcast input comes before anything else, as in Flink; what the other side sends until
then is held back, and is part of checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, NoReturn, TypeVar

from headrace.common.errors import FunctionTypeError, StateError, shorten_repr
from headrace.datastream.functions import KeyedBroadcastProcessFunction, KeyedStateFunction
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from headrace.datastream.timerservice import TimerService
from headrace.graph.specs import BroadcastProcessSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.key_groups import OpaqueKey, key_group_of, key_group_range
from headrace.runtime.operator import OperatorContext
from headrace.runtime.operators.process import ContextOperator, ElementContext
from headrace.runtime.state.operator_state import BroadcastMap, ReadOnlyBroadcastMap

S = TypeVar("S")

BROADCAST_INPUT = 1
_HELD = "_held_back"

Row = tuple[Any, int | None, Any]
"""Value, timestamp and key of a record that is held back."""


class BroadcastOperator(ContextOperator):
    """BroadcastProcessFunction and KeyedBroadcastProcessFunction."""

    first_input = BROADCAST_INPUT

    takes_keys_in_turn = False

    def __init__(self, spec: BroadcastProcessSpec) -> None:
        super().__init__(spec.function)
        self._descriptors: tuple[MapStateDescriptor, ...] = spec.descriptors
        self._holding = spec.broadcast_first
        self._held: list[Row] = []

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        super().setup(context, output)
        self._maps: dict[str, BroadcastMap] = {}
        self._views: dict[str, ReadOnlyBroadcastMap] = {}
        self._reader = _ReadOnlyContext(self, self._views)
        self._writer = _BroadcastContext(self, self._maps)
        # Timers belong to the side with keys.
        self.element_context = self._reader

    def open(self) -> None:
        for descriptor in self._descriptors:
            state = self.operator_state.get_broadcast_state(descriptor)
            self._maps[descriptor.name] = state
            self._views[descriptor.name] = state.read_only()
        self._take_held_back()
        super().open()

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        if input_index == BROADCAST_INPUT:
            self.element_context = self._writer
            call = self.function.process_broadcast_element
            self.process_elements(call, batch, "process_broadcast_element")
            self.element_context = self._reader
        elif self._holding:
            stamps = repeat(None) if batch.timestamps is None else batch.timestamps
            keys = repeat(None) if batch.keys is None else batch.keys
            self._held.extend(zip(batch.values, stamps, keys, strict=False))
        else:
            self.process_elements(self.function.process_element, batch, "process_element")

    # Batch mode.

    def process_watermark(self, timestamp: int) -> None:
        if self._holding:
            if timestamp < MAX_TIMESTAMP:
                return  # it would make late what is held back
            self._release()
        super().process_watermark(timestamp)

    def end_input_of(self, input_index: int) -> None:
        if input_index == BROADCAST_INPUT:
            self._release()

    def _release(self) -> None:
        """The broadcast input has ended: now the other one."""
        self._holding = False
        rows, self._held = self._held, []
        if rows:
            values, stamps, keys = map(list, zip(*rows, strict=True))
            known = any(stamp is not None for stamp in stamps)
            batch = Batch(values, stamps if known else None, keys if self.context.keyed else None)
            self.process_batch_of(1 - BROADCAST_INPUT, batch)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        super().before_snapshot(checkpoint, timestamp)
        if self._held:
            self._held_state().update(self._held)

    def _held_state(self) -> Any:
        store, descriptor = self.operator_state, ListStateDescriptor(_HELD)
        # A record with a key must come back to the subtask that has the key's state then.
        if self.context.keyed:
            return store.get_union_list_state(descriptor)
        return store.get_list_state(descriptor)

    def _take_held_back(self) -> None:
        if _HELD not in self.operator_state.get_registered_state_names():
            return
        state, task = self._held_state(), self.context.task
        rows = state.get()
        state.clear()
        if self.context.keyed:
            own = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
            rows = [row for row in rows if key_group_of(row[2], task.max_parallelism) in own]
        self._held = rows


class _ReadOnlyContext(ElementContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """The context of records that are not broadcast, and of timers."""

    def __init__(
        self, operator: BroadcastOperator, states: dict[str, ReadOnlyBroadcastMap]
    ) -> None:
        super().__init__(operator.cell, operator.timers)
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastMap:
        return _registered(self._states, state_descriptor)


class _BroadcastContext(ElementContext, KeyedBroadcastProcessFunction.Context):
    """The context of broadcast records."""

    def __init__(self, operator: BroadcastOperator, states: dict[str, BroadcastMap]) -> None:
        super().__init__(operator.cell, operator.timers)
        self._operator = operator
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastMap:
        return _registered(self._states, state_descriptor)

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: KeyedStateFunction
    ) -> None:
        backend, name = self._operator.context.backend, self._operator.context.name
        if backend is None:
            raise StateError(
                f"operator {name!r} has no keyed state: the stream that is connected with the "
                "broadcast stream is not keyed; call key_by() before connect()"
            )
        if not isinstance(state_descriptor, StateDescriptor) or not callable(function):
            raise FunctionTypeError(
                "apply_to_keyed_state() takes a state descriptor and a function of a key and its "
                f"state, not {shorten_repr(state_descriptor)} and {shorten_repr(function)}"
            )
        backend.apply_to_all_keys(state_descriptor, _with_plain_key(function), self._cell)

    def timer_service(self) -> TimerService:
        _refuse(
            "there are no timers",
            "set timers in process_element() or on_timer(), and ask current_watermark() and "
            "current_processing_time() for the time",
        )

    def get_current_key(self) -> Any:
        _refuse(
            "there is no current key", "visit the state of all keys with apply_to_keyed_state()"
        )


def _refuse(what: str, instead: str) -> NoReturn:
    raise StateError(
        f"{what} in process_broadcast_element(), since a broadcast record has no key; {instead}"
    )


def _with_plain_key(function: KeyedStateFunction) -> Callable[[Any, Any], None]:
    def call(key: Any, state: Any) -> None:
        function(key.value if type(key) is OpaqueKey else key, state)

    return call


def _registered(states: dict[str, S], descriptor: Any) -> S:
    if not isinstance(descriptor, MapStateDescriptor):
        raise FunctionTypeError(
            f"get_broadcast_state() takes a MapStateDescriptor, not {shorten_repr(descriptor)}"
        )
    state = states.get(descriptor.name)
    if state is None:
        known = ", ".join(repr(name) for name in states)
        raise StateError(
            f"{descriptor.name!r} is not a broadcast state of this operator; the registered ones "
            f"are: {known}. Pass its descriptor to broadcast() as well, as in "
            "rules.broadcast(one, another)"
        )
    return state
