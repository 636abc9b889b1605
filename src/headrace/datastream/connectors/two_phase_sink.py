"""A `TwoPhaseCommitSinkFunction` as a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from headrace.common.watermark_strategy import Watermark
from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.function_sink import SinkContext
from headrace.datastream.functions.two_phase_commit import TwoPhaseCommitSinkFunction

__all__ = ["TwoPhaseCommitSink"]


@dataclass
class TwoPhaseCommitSink(Sink):
    """Writer and committer of a subtask share the function object."""

    function: TwoPhaseCommitSinkFunction[Any, Any, Any]
    _recovered: list[Any] = field(default_factory=list)

    def create_committer(self, context: WriterContext) -> Committer:
        self.function.set_runtime_context(context.runtime_context)
        return _Committer(self.function, self._recovered)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self.function, context, self._recovered)


@dataclass(frozen=True)
class _Saved:
    """The transaction that was open at the barrier, if one was, and the user's context."""

    open_transaction: tuple[Any, ...]
    user_context: Any


@dataclass
class PreparedTransaction:
    """A transaction that waits for its commit; `live` in the process that prepared it."""

    handle: Any
    live: bool = True

    def __getstate__(self) -> Any:
        return self.handle

    def __setstate__(self, handle: Any) -> None:
        self.handle, self.live = handle, False


class _Committer(Committer):
    def __init__(self, function: Any, recovered: list[Any]) -> None:
        self._function = function
        self._recovered = recovered

    def commit(self, committables: list[PreparedTransaction]) -> None:
        for transaction in committables:
            if transaction.live:
                self._function.commit(transaction.handle)
            else:
                self._function.recover_and_commit(transaction.handle)
                self._recovered.append(transaction.handle)


class _Writer(SinkWriter):
    def __init__(self, function: Any, context: WriterContext, recovered: list[Any]) -> None:
        self._function = function
        self._context = context
        self._sink_context = SinkContext(context)
        self._recovered = recovered
        self._transaction: tuple[Any, ...] = ()
        self._record: Any = None

    @property
    def user_function(self) -> Any:
        return self._function

    def open(self) -> None:
        function, saved = self._function, list(self._context.restored_state)
        for state in saved:
            for transaction in state.open_transaction:
                function.recover_and_abort(transaction)
                self._recovered.append(transaction)
        if self._context.restored_checkpoint is None or not saved:
            function._user_context = function.initialize_user_context()
        else:
            function._user_context = saved[0].user_context
        if self._context.restored_checkpoint is not None:
            function.finish_recovering_context(self._recovered)
        function.open(self._context.runtime_context)
        self._transaction = (function.begin_transaction(),)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        invoke, context = self._function.invoke, self._sink_context
        (transaction,) = self._transaction
        stamps = repeat(None) if timestamps is None else timestamps
        for self._record, context.stamp in zip(values, stamps, strict=False):
            invoke(transaction, self._record, context)

    def record_of_failure(self) -> tuple[Any, ...]:
        return (self._record,)

    def on_watermark(self, timestamp: int) -> None:
        self._function.write_watermark(Watermark(timestamp))

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish()

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        prepared, self._transaction = self._transaction, ()
        for transaction in prepared:
            self._function.pre_commit(transaction)
        # Nothing follows the end of the input, so nothing would ever commit another one.
        if not end_of_input:
            self._transaction = (self._function.begin_transaction(),)
        return [PreparedTransaction(transaction) for transaction in prepared]

    def snapshot(self) -> list[Any]:
        return [_Saved(self._transaction, self._function.get_user_context())]

    def close(self) -> None:
        try:
            for transaction in self._transaction:
                self._function.abort(transaction)
        finally:
            self._function.close()
