"""Operators of two connected streams: map, flat_map and process on two inputs of one function."""

from __future__ import annotations

from typing import Any

from headrace.graph.specs import CoFlatMapSpec, CoMapSpec, CoProcessSpec
from headrace.runtime.batch import Batch
from headrace.runtime.operators.process import ContextOperator


class _TwoInputOperator(ContextOperator):
    methods: tuple[str, str]

    def __init__(self, spec: CoMapSpec | CoFlatMapSpec | CoProcessSpec) -> None:
        super().__init__(spec.function)

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        method = self.methods[input_index]
        self.process_elements(self.callable_for(method), batch, method)

    def callable_for(self, method: str) -> Any:
        raise NotImplementedError


class CoMapOperator(_TwoInputOperator):
    """CoMapFunction: map1 and map2."""

    methods = ("map1", "map2")

    def callable_for(self, method: str) -> Any:
        call = getattr(self.function, method)

        def mapped(value: Any, ctx: Any) -> Any:
            result = call(value)
            # Unlike map(), a CoMapFunction drops a record by returning None, as in PyFlink.
            return None if result is None else (result,)

        return mapped


class CoFlatMapOperator(_TwoInputOperator):
    """CoFlatMapFunction: flat_map1 and flat_map2."""

    methods = ("flat_map1", "flat_map2")

    def callable_for(self, method: str) -> Any:
        call = getattr(self.function, method)
        return lambda value, ctx: call(value)


class CoProcessOperator(_TwoInputOperator):
    """CoProcessFunction and KeyedCoProcessFunction: process_element1 and process_element2."""

    methods = ("process_element1", "process_element2")

    def callable_for(self, method: str) -> Any:
        return getattr(self.function, method)
