"""Things that take a while: started by one request, asked about by others."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.cluster.manager.bodies import FailureCause, OperationOutcome, Stage, TriggerStatus
from headrace.common.errors import HeadraceError

__all__ = ["Operations", "UnknownOperationError", "failure_cause"]

_KEPT = 1000


@dataclass
class _Operation:
    done: bool = False
    result: Any = None
    error: BaseException | None = None


class Operations:
    """Operations by their trigger id, the last thousand of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._operations: OrderedDict[str, _Operation] = OrderedDict()

    def start(self, do: Callable[[], Any], trigger: str | None = None) -> str:
        """Do something on a thread of its own; the id to ask for it."""
        trigger = trigger or secrets.token_hex(16)
        operation = _Operation()
        with self._lock:
            if trigger in self._operations:
                return trigger
            self._operations[trigger] = operation
            while len(self._operations) > _KEPT:
                self._operations.popitem(last=False)

        def run() -> None:
            try:
                operation.result = do()
            except BaseException as error:  # noqa: BLE001 - a thread's top: the answer has it
                operation.error = error
            operation.done = True

        threading.Thread(target=run, daemon=True, name="headrace-operation").start()
        return trigger

    def status(self, trigger: str) -> TriggerStatus:
        """How far an operation is."""
        operation = self._operations.get(trigger)
        if operation is None:
            raise UnknownOperationError(f"there is no operation {trigger!r}")
        if not operation.done:
            return TriggerStatus()
        error = operation.error
        failed = failure_cause(error) if error is not None else None
        return TriggerStatus(Stage("COMPLETED"), OperationOutcome(operation.result, failed))


class UnknownOperationError(HeadraceError):
    """Nobody started it, or too long ago."""


def failure_cause(error: BaseException) -> FailureCause:
    """An error as Flink's clients read one."""
    name = type(error).__name__
    return FailureCause(name, f"{name}: {error}", int(time.time() * 1000))
