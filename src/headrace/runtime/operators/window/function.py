"""Calls the function of a window, of whatever kind it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.errors import FunctionTypeError, StateError
from headrace.datastream.functions import (
    AllWindowFunction,
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import MergingWindowAssigner, WindowAssigner
from headrace.runtime.functions.runtime_context import OperatorRuntimeContext
from headrace.runtime.operators.process import ContextOperator
from headrace.runtime.ownership import own
from headrace.runtime.state.key_cell import KeyCell

Evaluate = Callable[[Any, Any, Iterable[Any]], Iterable[Any] | None]
"""(key, window, content) to results."""


class WindowContext(ProcessWindowFunction.Context[Any]):
    """The context of a window function; the operator moves it from window to window."""

    def __init__(
        self,
        operator: ContextOperator,
        window_state: KeyedStateStore,
        global_state: KeyedStateStore,
    ) -> None:
        self._operator = operator
        self._window_state = window_state
        self._global_state = global_state
        self.current: Any = None
        self.stamp: int | None = None

    def window(self) -> Any:
        return self.current

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self._global_state

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._operator.element_context.add_side(output_tag, own(value), self.stamp)


class NamespacedStateStore(OperatorRuntimeContext):
    """State of a key and a window."""

    def _state(self, descriptor: Any, kind: Any) -> Any:
        assert self._context.backend is not None
        assert self._cell is not None
        return self._context.backend.get_or_create(descriptor, self._cell, namespaced=True)


class NoWindowStateStore(OperatorRuntimeContext):
    """There is no state of windows that merge: whose would it be afterwards?"""

    def _state(self, descriptor: Any, kind: Any) -> Any:
        raise StateError(
            f"state {descriptor.get_name()!r} cannot belong to a window that may merge with "
            "others, such as a session: use global_state(), which belongs to the key "
            "(Per-window state is not allowed when using merging windows.)"
        )


def window_context(
    operator: ContextOperator, window_cell: KeyCell, assigner: WindowAssigner[Any, Any]
) -> WindowContext:
    """A context over the operator's cells."""
    merging = isinstance(assigner, MergingWindowAssigner)
    window_state = NoWindowStateStore if merging else NamespacedStateStore
    return WindowContext(
        operator,
        window_state(operator.context, window_cell),
        OperatorRuntimeContext(operator.context, operator.cell),
    )


def evaluator(function: Any, context: WindowContext) -> Evaluate:
    """How to call a window function."""
    if function is None:
        return lambda key, window, content: content
    if isinstance(function, ProcessWindowFunction):
        process = function.process

        def call_process(key: Any, window: Any, content: Iterable[Any]) -> Any:
            context.current = window
            return process(key, context, content)

        return call_process
    if isinstance(function, ProcessAllWindowFunction):
        process_all = function.process

        def call_process_all(key: Any, window: Any, content: Iterable[Any]) -> Any:
            context.current = window
            return process_all(context, content)  # type: ignore[arg-type]

        return call_process_all
    if isinstance(function, WindowFunction):
        return function.apply
    if isinstance(function, AllWindowFunction):
        return lambda key, window, content: function.apply(window, content)
    raise FunctionTypeError(f"{type(function).__name__} is not a window function")
