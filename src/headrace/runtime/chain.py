"""Operators without state one after the other, outside of a subtask."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from headrace.graph.specs import OperatorSpec
from headrace.metrics import MetricGroup
from headrace.runtime.batch import Batch, LatencyMark
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.operator import Operator, OperatorContext, SubtaskServices, TaskInfo
from headrace.runtime.operators import build_operator

__all__ = ["OperatorChain"]


class OperatorChain:
    """Runs batches through operators that have neither keys nor timers.

    Functions in them get a metric group, but nobody collects what is in it.
    """

    def __init__(self, specs: Sequence[OperatorSpec], task: TaskInfo) -> None:
        self._end = _Taken()
        self._operators: list[Operator] = []
        receiver: Any = self._end
        for spec in reversed(specs):
            operator = build_operator(spec)
            context = OperatorContext(
                task=task,
                operator_id=spec.kind,
                name=spec.kind,
                uid=None,
                keyed=False,
                clock=_now_ms,
                backend=None,
                accumulators={},
                metrics=MetricGroup((spec.kind,)),
                services=SubtaskServices(),
            )
            operator.setup(context, OperatorOutput([receiver], {}))
            self._operators.insert(0, operator)
            receiver = operator

    def open(self) -> None:
        """Open all functions."""
        for operator in reversed(self._operators):
            operator.open()

    def run(self, batch: Batch) -> list[Batch]:
        """What comes out at the end for a batch."""
        (self._operators[0] if self._operators else self._end).process_batch(batch)
        return self._end.take()

    def close(self) -> None:
        """Close all functions."""
        for operator in self._operators:
            operator.close()


def _now_ms() -> int:
    return int(time.time() * 1000)


class _Taken:
    """What has come out."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def take(self) -> list[Batch]:
        taken, self._batches = self._batches, []
        return taken

    def process_batch(self, batch: Batch) -> None:
        self._batches.append(batch)

    def process_watermark(self, timestamp: int) -> None:
        pass

    def process_status(self, idle: bool) -> None:
        pass

    def process_latency(self, mark: LatencyMark) -> None:
        pass

    def end_input(self) -> None:
        pass
