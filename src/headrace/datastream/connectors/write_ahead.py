"""Exactly once, or nearly so, for targets without transactions: write ahead, send later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError
from headrace.datastream.connectors.base import (
    Committer,
    RetriableCommitError,
    Sink,
    SinkWriter,
    WriterContext,
)

__all__ = ["CheckpointCommitter", "GenericWriteAheadSink"]

IN = TypeVar("IN")


class CheckpointCommitter(ABC):
    """Remembers, outside the job, which checkpoints of a sink have been sent.

    Best kept where the records go, so that both are lost together or not at all. Picklable.
    """

    def __init__(self) -> None:
        self.job_id = ""
        self.operator_id = ""

    def set_job_id(self, job_id: str) -> None:
        """Called before `create_resource`; the id that the sink was given, the same forever."""
        self.job_id = job_id

    def set_operator_id(self, operator_id: str) -> None:
        """Called before `create_resource`; the same after every restore."""
        self.operator_id = operator_id

    def create_resource(self) -> None:  # noqa: B027
        """Create what `commit_checkpoint` writes to, if it is not there. Called before `open`."""

    def open(self) -> None:  # noqa: B027
        """Called in each subtask, once."""

    def close(self) -> None:  # noqa: B027
        """Called in each subtask, once."""

    @abstractmethod
    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        """A subtask has sent all records of a checkpoint."""

    @abstractmethod
    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        """Whether a subtask has sent all records of a checkpoint."""


class GenericWriteAheadSink(Sink, Generic[IN]):
    """A sink that keeps records in the checkpoint and sends them when it is complete.

    Subclasses implement `send_values`. Whether a checkpoint was sent is asked of a
    `CheckpointCommitter`. Each record is sent once, unless the job fails after `send_values` and
    before `commit_checkpoint`: then the records of that checkpoint are sent again. Where that
    matters `send_values` must be idempotent, for example by the checkpoint's number.

    Args:
        committer: Remembers what was sent.
        job_id: A name of your choice for all runs of this job, the one that goes on from a
            savepoint included. A job that begins anew needs another one: its checkpoints have the
            numbers of earlier ones, and would be taken for sent.

    Example:
        >>> class Posting(GenericWriteAheadSink[dict]):
        ...     def send_values(self, values, checkpoint_id, timestamp):
        ...         return requests.post(URL, json=list(values)).ok
        >>> stream.sink_to(Posting(TableOfCheckpoints(...), "orders"))
    """

    def __init__(self, committer: CheckpointCommitter, job_id: str) -> None:
        if not isinstance(committer, CheckpointCommitter):
            raise FunctionTypeError(f"a CheckpointCommitter is needed, not {committer!r}")
        if not isinstance(job_id, str) or not job_id:
            raise FunctionTypeError(
                "the job_id of a write-ahead sink must be a name that stays the same for all runs "
                f"of the job, not {job_id!r}"
            )
        self._checkpoint_committer = committer
        self._job_id = job_id

    @abstractmethod
    def send_values(self, values: Sequence[IN], checkpoint_id: int, timestamp: int) -> bool:
        """Send the records of a checkpoint, in their order.

        Args:
            values: Records that one subtask wrote between two checkpoints.
            checkpoint_id: Number of the checkpoint.
            timestamp: When it was taken, in milliseconds.

        Returns:
            Whether they have arrived. If not, it is tried again later.
        """

    def open(self) -> None:
        """Called in each subtask before anything is sent."""

    def close(self) -> None:
        """Called in each subtask at the end."""

    def create_committer(self, context: WriterContext) -> Committer:
        committer = self._checkpoint_committer
        committer.set_job_id(self._job_id)
        committer.set_operator_id(context.operator_id)
        committer.create_resource()
        committer.open()
        self.open()
        return _Sender(self, committer)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LogWriter(context)


@dataclass(frozen=True)
class LoggedValues:
    """Records of one subtask between two checkpoints."""

    subtask: int
    checkpoint: int
    timestamp: int
    values: list[Any] = field(default_factory=list)


class _LogWriter(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._values: list[Any] = []

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values += values

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[LoggedValues]:
        values, self._values = self._values, []
        if not values:
            return []
        now = self._context.now_ms()
        return [LoggedValues(self._context.subtask, checkpoint, now, values)]


class _Sender(Committer):
    def __init__(self, sink: GenericWriteAheadSink[Any], committer: CheckpointCommitter) -> None:
        self._sink = sink
        self._committer = committer

    def commit(self, committables: list[LoggedValues]) -> None:
        for logged in committables:
            subtask, checkpoint = logged.subtask, logged.checkpoint
            if self._committer.is_checkpoint_committed(subtask, checkpoint):
                continue
            if not self._sink.send_values(logged.values, checkpoint, logged.timestamp):
                raise RetriableCommitError(
                    f"send_values() of {type(self._sink).__name__} did not succeed"
                )
            self._committer.commit_checkpoint(subtask, checkpoint)

    def close(self) -> None:
        self._sink.close()
        self._committer.close()
