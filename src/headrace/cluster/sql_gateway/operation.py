"""A statement that runs in the background: its state, its result, and how it is given up."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from headrace.cluster.sql_gateway.result_pages import Page, ResultPages
from headrace.common.errors import HeadraceError
from headrace.common.job_client import JobClient
from headrace.sql.plan.expressions import Schema

__all__ = ["Operation", "OperationResult", "OperationStatus"]


class OperationStatus(Enum):
    """Flink's states of an operation."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"


_S = OperationStatus
_NEXT = {
    _S.PENDING: {_S.RUNNING, _S.ERROR, _S.CANCELED, _S.CLOSED, _S.TIMEOUT},
    _S.RUNNING: {_S.FINISHED, _S.ERROR, _S.CANCELED, _S.CLOSED, _S.TIMEOUT},
    # A query is finished for Flink when its rows can be fetched; it may still be cancelled then.
    _S.FINISHED: {_S.CANCELED, _S.CLOSED, _S.TIMEOUT},
    _S.CANCELED: {_S.CLOSED},
    _S.ERROR: {_S.CLOSED},
    _S.TIMEOUT: {_S.CLOSED},
    _S.CLOSED: set[OperationStatus](),
}


@dataclass(frozen=True)
class OperationResult:
    """What came of a statement."""

    schema: Schema
    pages: ResultPages
    zone: str
    has_content: bool = True
    is_query: bool = False
    job_id: str | None = None


class Operation:
    """One statement of a session.

    Args:
        run: Runs the statement; called once, on a thread of its own.
        timeout_s: After so long without a result it is given up; 0 for never.
    """

    def __init__(
        self,
        run: Callable[[Operation], OperationResult],
        timeout_s: float = 0.0,
    ) -> None:
        self.handle = str(uuid.uuid4())
        self._run = run
        self._lock = threading.Lock()
        self._status = _S.PENDING
        self._result: OperationResult | None = None
        self._error: BaseException | None = None
        self._job: JobClient | None = None
        self._done = threading.Event()
        self._timeout_s = timeout_s
        self._timer = threading.Timer(timeout_s, self._end, (_S.TIMEOUT,))
        self._timer.daemon = True

    @property
    def status(self) -> OperationStatus:
        """Where it is."""
        return self._status

    def start(self) -> None:
        """Run the statement in the background."""
        if self._timeout_s > 0:
            self._timer.start()
        threading.Thread(target=self._work, daemon=True, name="sql-gateway-operation").start()

    def begins(self) -> bool:
        """Say that the statement's turn has come; False if nobody waits for it any more."""
        return self._become(_S.RUNNING) is not None

    def started(self, job: JobClient) -> None:
        """Say that the statement has started a job, which is given up with it."""
        self._job = job
        if self._status is not _S.RUNNING:
            job.cancel()

    def _become(self, status: OperationStatus) -> OperationStatus | None:
        """What it was before; None if it may not become that."""
        with self._lock:
            before = self._status
            if status not in _NEXT[before]:
                return None
            self._status = status
            return before

    def _work(self) -> None:
        try:
            result = self._run(self)
            self._result = result
            if self._become(_S.FINISHED) is None:
                result.pages.close()
        except BaseException as error:  # noqa: BLE001 - a thread's top: the client asks for it
            self._error = error
            self._become(_S.ERROR)
        finally:
            self._timer.cancel()
            self._done.set()

    def wait(self) -> None:
        """Wait for the result.

        Raises:
            HeadraceError: The statement failed or was given up.
        """
        self._done.wait()
        self._check()

    def result(self) -> OperationResult | None:
        """The result; None if it is not there yet.

        Raises:
            HeadraceError: The statement failed or was given up.
        """
        self._check()
        return self._result if self._status is _S.FINISHED else None

    def page(self, token: int) -> Page:
        """A page of the result, which is there."""
        assert self._result is not None
        return self._result.pages.page(token)

    def _check(self) -> None:
        if self._status is _S.ERROR and self._error is not None:
            raise self._error
        if self._status in (_S.CANCELED, _S.CLOSED, _S.TIMEOUT):
            raise HeadraceError(
                f"the operation {self.handle} is {self._status.value}; there are no results"
            )

    def cancel(self) -> OperationStatus:
        """Give the statement up, with the job of a query; its state after that."""
        ended = self._result is not None and self._result.pages.ended
        if not (self._status is _S.FINISHED and ended):
            self._end(_S.CANCELED)
        return self._status

    def close(self) -> None:
        """Give the statement up and forget its result."""
        self._end(_S.CLOSED)

    def _end(self, status: OperationStatus) -> None:
        before = self._become(status)
        if before is None:
            return
        self._timer.cancel()
        # What an INSERT has started goes on once somebody could know of it.
        if before is _S.RUNNING and self._job is not None:
            self._job.cancel()
        if self._result is not None:
            self._result.pages.close()
