"""The end of a stream: a writer."""

from __future__ import annotations

from typing import Any

from headrace.datastream.connectors.base import SinkWriter
from headrace.graph.specs import SinkSpec
from headrace.runtime.batch import Batch
from headrace.runtime.checkpointed_function import FunctionCheckpoints
from headrace.runtime.operator import Operator
from headrace.runtime.runtime_context import OperatorRuntimeContext


class SinkOperator(Operator):
    """Hands batches to the writer; what it buffers is flushed at the end of every epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        super().__init__()
        self._sink = spec.sink
        self._writer: SinkWriter
        self._checkpoints: FunctionCheckpoints

    @property
    def function(self) -> Any:
        """The user function that writes, if the sink is made of one."""
        return self._writer.user_function

    def open(self) -> None:
        context = _WriterContext(self)
        try:
            self._writer = self._sink.create_writer(context)
            self._checkpoints = FunctionCheckpoints(self._writer.user_function, self)
            self._checkpoints.initialize(context.runtime_context)
            self._writer.open()
        except Exception as error:
            raise self.failed(error, where="open of the sink") from error

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
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

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._checkpoints.before_snapshot(checkpoint, timestamp)

    def notify_checkpoint(self, checkpoint: int, completed: bool) -> None:
        self._checkpoints.notify(checkpoint, completed)

    def close(self) -> None:
        if not hasattr(self, "_writer"):
            return
        try:
            self._writer.close()
        except Exception as error:
            raise self.failed(error, where="close of the sink") from error


class _WriterContext:
    def __init__(self, operator: SinkOperator) -> None:
        self._operator = operator
        self._context = operator.context
        self.runtime_context = OperatorRuntimeContext(operator.context)

    @property
    def subtask(self) -> int:
        return self._context.task.subtask

    @property
    def parallelism(self) -> int:
        return self._context.task.parallelism

    @property
    def job_id(self) -> str:
        return self._context.task.job_id

    def now_ms(self) -> int:
        return self._context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        self._context.services.print_lines(lines, to_stderr)

    def collect(self, collect_id: str, values: list[Any]) -> None:
        self._context.services.collect(collect_id, values)
