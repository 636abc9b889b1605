"""Exactly once with transactions: the base class of sinks that commit in two phases."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError
from headrace.common.watermark_strategy import Watermark
from headrace.datastream.functions.base import RichFunction
from headrace.datastream.functions.source_sink import SinkFunction

__all__ = ["TwoPhaseCommitSinkFunction"]

IN = TypeVar("IN")
TXN = TypeVar("TXN")
CONTEXT = TypeVar("CONTEXT")


class TwoPhaseCommitSinkFunction(RichFunction, Generic[IN, TXN, CONTEXT]):
    r"""A sink that writes into a transaction for each checkpoint, for `add_sink`.

    A transaction is any picklable object that lets another process find it again: a name, a path.
    The calls, all on one thread:

    1. `begin_transaction`, then `invoke` for each record;
    2. at the barrier `pre_commit`: everything must be durable now, though not visible. The
       transaction becomes part of the checkpoint, and the next one begins;
    3. `commit` when the checkpoint is complete;
    4. after a failure, in new objects and before `open`: `recover_and_commit` for each
       transaction that the restored checkpoint has pre-committed (it may be committed already), and
       `recover_and_abort` for the one that was open at the barrier.

    When a commit raises, the job fails and the commit is repeated by the recovery. Raise
    `headrace.datastream.connectors.base.RetriableCommitError` to have it repeated a little later
    without a failure. In a job without checkpoints each epoch has its transaction.

    Example:
        >>> class Files(TwoPhaseCommitSinkFunction[str, str, None]):
        ...     def begin_transaction(self):
        ...         return f"/data/.{uuid4()}"
        ...     def invoke(self, transaction, value, context):
        ...         with open(transaction, "a") as file:
        ...             file.write(value + "\n")
        ...     def pre_commit(self, transaction): ...
        ...     def commit(self, transaction):
        ...         if os.path.exists(transaction):
        ...             os.rename(transaction, transaction.replace("/.", "/"))
        ...     def abort(self, transaction):
        ...         Path(transaction).unlink(missing_ok=True)
        >>> stream.add_sink(Files())
    """

    @abstractmethod
    def begin_transaction(self) -> TXN:
        """Start a transaction."""

    @abstractmethod
    def invoke(self, transaction: TXN, value: IN, context: SinkFunction.Context) -> None:
        """Write a record into the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: TXN) -> None:
        """Make everything durable: from here on `commit` must be able to succeed."""

    @abstractmethod
    def commit(self, transaction: TXN) -> None:
        """Make it visible. A transaction that is committed already must be left as it is."""

    @abstractmethod
    def abort(self, transaction: TXN) -> None:
        """Throw a transaction away."""

    def recover_and_commit(self, transaction: TXN) -> None:
        """Commit a transaction of another process, before `open`; `commit` by default."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: TXN) -> None:
        """Throw a transaction of another process away, before `open`; `abort` by default."""
        self.abort(transaction)

    def initialize_user_context(self) -> CONTEXT | None:
        """Called once at the very first start: what else checkpoints should keep, if anything."""
        return None

    def get_user_context(self) -> CONTEXT | None:
        """What `initialize_user_context` gave, or a checkpoint brought back."""
        return getattr(self, "_user_context", None)

    def finish_recovering_context(self, handled_transactions: list[TXN]) -> None:
        """Called after a restore, when all transactions of the checkpoint are dealt with."""

    def write_watermark(self, watermark: Watermark) -> None:
        """Called when the sink's watermark has advanced."""

    def finish(self) -> None:
        """Called once when the input has ended, before the last `pre_commit`."""

    def __init_subclass__(cls, **settings: Any) -> None:
        """Find a sink function written for `SinkFunction` where the class is made."""
        super().__init_subclass__(**settings)
        if isinstance(cls, type) and issubclass(cls, SinkFunction):
            raise FunctionTypeError(
                f"{cls.__name__} cannot be a SinkFunction and a TwoPhaseCommitSinkFunction: their "
                "invoke() methods have different parameters; leave SinkFunction out"
            )
