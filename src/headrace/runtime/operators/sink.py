"""The end of a stream: a writer, and the committer of what it has prepared."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.crash_points import crash_point
from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import Committer, RetriableCommitError, SinkWriter
from headrace.datastream.state import ListStateDescriptor
from headrace.graph.specs import SinkSpec
from headrace.runtime.batch import Batch
from headrace.runtime.functions.checkpointed_function import FunctionCheckpoints
from headrace.runtime.functions.runtime_context import OperatorRuntimeContext
from headrace.runtime.operator import Operator

_WRITER_STATE = ListStateDescriptor("_sink_writer")
_COMMITTABLES = ListStateDescriptor("_sink_committables")
_COMMIT_ATTEMPTS = 10
_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 10.0


@dataclass(frozen=True)
class _Prepared:
    """Something to commit: by which subtask it was written, and with which checkpoint it counts."""

    subtask: int
    checkpoint: int
    committable: Any


class SinkOperator(Operator):
    """Hands batches to the writer; what it buffers is flushed at the end of every epoch.

    What the writer prepares for a checkpoint is in the checkpoint, together with what older ones
    have not committed yet, and is committed when it is complete.
    """

    def __init__(self, spec: SinkSpec, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__()
        self._sink = spec.sink
        self._sleep = sleep
        self._writer: SinkWriter
        self._committer: Committer | None = None
        self._checkpoints: FunctionCheckpoints
        self._ended = False
        self._stateful = False
        self._prepared: list[_Prepared] = []

    @property
    def function(self) -> Any:
        """The user function that writes, if the sink is made of one."""
        return self._writer.user_function

    def open(self) -> None:
        context = _WriterContext(self)
        try:
            self._committer = self._sink.create_committer(context)
        except Exception as error:
            raise self.failed(error, where="create_committer of the sink") from error
        self._recover()
        try:
            self._writer = self._sink.create_writer(context)
            self._checkpoints = FunctionCheckpoints(self._writer.user_function, self)
            self._checkpoints.initialize(context.runtime_context)
            self._writer.open()
        except Exception as error:
            raise self.failed(error, where="open of the sink") from error

    def _recover(self) -> None:
        """Commit again what the restored checkpoint contains of this subtask."""
        task = self.context.task
        self._prepared = [
            p for p in self.restored_commits() if p.subtask % task.parallelism == task.subtask
        ]
        if self._prepared:
            # Not that of the last one: each earlier subtask may have several, and some have none.
            self.commit(max(p.checkpoint for p in self._prepared))

    def restored_commits(self) -> list[_Prepared]:
        """What the restored checkpoint was to commit, of all subtasks."""
        if not self.restored:
            return []
        # A union list, since a writer must know what those of other subtasks have prepared.
        saved = self.operator_state.get_union_list_state(_COMMITTABLES).get()
        return [_Prepared(*each) for each in saved]

    def restored_writer_state(self) -> list[Any]:
        """This subtask's share of what earlier writers saved."""
        if not self.restored:
            return []
        return [piece for (piece,) in self.operator_state.get_list_state(_WRITER_STATE).get()]

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch)
        if self._sink.discards:
            return
        try:
            self._writer.write(batch.values, batch.timestamps)
        except Exception as error:
            record = self._writer.record_of_failure()
            raise self.failed(error, *record, where="writing to the sink") from error

    def process_watermark(self, timestamp: int) -> None:
        if timestamp > self.watermark:
            self.watermark = timestamp
            try:
                self._writer.on_watermark(timestamp)
            except Exception as error:
                where = f"writing the watermark {timestamp} to the sink"
                raise self.failed(error, where=where) from error

    def process_status(self, idle: bool) -> None:
        pass

    def finish(self) -> None:
        self._ended = True
        self._flush(end_of_input=True)

    def end_epoch(self) -> None:
        self._flush(end_of_input=False)

    def wake_up_at(self) -> int | None:
        return self._writer.flush_at(self.context.clock())

    def _flush(self, end_of_input: bool) -> None:
        try:
            self._writer.flush(end_of_input)
        except Exception as error:
            raise self.failed(error, where="flushing the sink") from error

    # Commits.

    @property
    def commits(self) -> bool:
        own = type(self._writer).prepare_commit is not SinkWriter.prepare_commit
        return own or self._committer is not None

    @property
    def committables(self) -> int:
        return len(self._prepared)

    def prepare_commit(self, checkpoint: int) -> None:
        try:
            committables = self._writer.prepare_commit(checkpoint, self._ended)
            if committables and self._committer is None:
                raise HeadraceError(
                    f"{type(self._writer).__name__}.prepare_commit returned something to commit, "
                    f"but {type(self._sink).__name__}.create_committer gives no committer"
                )
        except Exception as error:
            raise self.failed(error, where="prepare_commit of the sink") from error
        subtask = self.context.task.subtask
        self._prepared += [_Prepared(subtask, checkpoint, c) for c in committables]

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._checkpoints.before_snapshot(checkpoint, timestamp)
        self.prepare_commit(checkpoint)
        try:
            state = self._writer.snapshot()
        except Exception as error:
            raise self.failed(error, where="snapshot of the sink") from error
        self._stateful = self._stateful or bool(state) or self.restored
        if self._stateful:
            # Each piece in a tuple, because None cannot be an element of a list state.
            self.operator_state.get_list_state(_WRITER_STATE).update([(piece,) for piece in state])
        if self._committer is not None or self.restored:
            saved = [(p.subtask, p.checkpoint, p.committable) for p in self._prepared]
            self.operator_state.get_union_list_state(_COMMITTABLES).update(saved)

    def notify_checkpoint(self, checkpoint: int, completed: bool) -> None:
        if completed:
            self.commit(checkpoint)
        self._checkpoints.notify(checkpoint, completed)

    def commit(self, checkpoint: int) -> None:
        """Commit what is prepared up to a checkpoint, that of older ones given up included."""
        due = [p.committable for p in self._prepared if p.checkpoint <= checkpoint]
        if not due:
            return
        if self._committer is None:
            raise self.failed(
                HeadraceError(
                    f"the checkpoint has something to commit, but {type(self._sink).__name__} has "
                    "no committer; restore it with the sink that wrote it"
                )
            )
        crash_point("commit-begun")
        for attempt in range(1, _COMMIT_ATTEMPTS + 1):
            try:
                self._committer.commit(due)
                break
            except RetriableCommitError as error:
                if attempt == _COMMIT_ATTEMPTS:
                    raise self.failed(error, where=f"commit of checkpoint {checkpoint}") from error
                self._wait_after(attempt, checkpoint, error)
            except Exception as error:
                raise self.failed(error, where=f"commit of checkpoint {checkpoint}") from error
        crash_point("commit-done")
        self._prepared = [p for p in self._prepared if p.checkpoint > checkpoint]

    def _wait_after(self, attempt: int, checkpoint: int, error: RetriableCommitError) -> None:
        delay_s = min(_FIRST_DELAY_S * 2 ** (attempt - 1), _LONGEST_DELAY_S)
        line = (
            f"{self.context.name}: commit of checkpoint {checkpoint} will be tried again in "
            f"{delay_s:g} s: {error}"
        )
        self.context.services.print_lines([line], to_stderr=True)
        self._sleep(delay_s)

    def close(self) -> None:
        try:
            if hasattr(self, "_writer"):
                self._writer.close()
            if self._committer is not None:
                self._committer.close()
        except Exception as error:
            raise self.failed(error, where="close of the sink") from error


class _WriterContext:
    def __init__(self, operator: SinkOperator) -> None:
        self._operator = operator
        self._context = operator.context
        self.runtime_context = OperatorRuntimeContext(operator.context)
        self.restored_state: Sequence[Any] = operator.restored_writer_state()
        self.restored_committables: Sequence[Any] = [
            prepared.committable for prepared in operator.restored_commits()
        ]

    @property
    def subtask(self) -> int:
        return self._context.task.subtask

    @property
    def parallelism(self) -> int:
        return self._context.task.parallelism

    @property
    def job_id(self) -> str:
        return self._context.task.job_id

    @property
    def operator_id(self) -> str:
        return self._context.operator_id

    @property
    def attempt(self) -> int:
        return self._context.task.attempt

    @property
    def checkpointing(self) -> bool:
        return self._context.task.checkpointing

    @property
    def restored_checkpoint(self) -> int | None:
        return self._operator.restored_checkpoint

    def now_ms(self) -> int:
        return self._context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        self._context.services.print_lines(lines, to_stderr)

    def collect(self, collect_id: str, values: list[Any]) -> None:
        self._context.services.collect(collect_id, values)
