"""What callers order of a running job: savepoints, its end with one, another parallelism."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_coordinator import SavepointOrder
from headrace.graph.job_graph import JobGraph
from headrace.runtime.storage import shared


class Orders:
    """Hands orders to the epoch loop, which carries them out with the next epoch.

    Args:
        take: Takes an order.
        status: The state of the job: one that has ended takes no orders.
        result: The result of the job; a stop is over when it is there.
        savepoint_directory: Where savepoints go that are ordered without a directory.
    """

    def __init__(
        self,
        take: Callable[[SavepointOrder], None],
        status: Callable[[], JobStatus],
        result: Future[Any],
        savepoint_directory: str | None = None,
    ) -> None:
        self._take = take
        self._status = status
        self._result = result
        self._directory = savepoint_directory

    def savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint; the future has its directory."""
        return self._give(SavepointOrder(self._savepoint_directory(directory)))

    def stop(self, drain: bool, directory: str | None) -> Future[str]:
        """End the job with a savepoint; the future is done when the job is over."""
        order = SavepointOrder(self._savepoint_directory(directory), stop=True, drain=drain)
        stopped: Future[str] = Future()

        def finish(_: Any) -> None:
            error = self._result.exception()
            if error is None:
                stopped.set_result(order.done.result())
            else:
                stopped.set_exception(error)

        def taken(done: Future[str]) -> None:
            error = done.exception()
            if error is None:
                self._result.add_done_callback(finish)
            else:
                stopped.set_exception(error)

        self._give(order).add_done_callback(taken)
        return stopped

    def rescale(self, job_graph: JobGraph, parallelism: int) -> Future[None]:
        """Go on at another parallelism; the future is done when the job runs with it."""
        order = SavepointOrder(None, rescaled=job_graph.rescaled(parallelism))
        if _scale(order.rescaled) == _scale(job_graph):
            order.resumed.set_result(None)
            return order.resumed

        def taken(done: Future[str]) -> None:
            error = done.exception()
            if error is not None:
                order.resumed.set_exception(error)

        self._give(order).add_done_callback(taken)
        return order.resumed

    def ended_already(self) -> CheckpointError:
        """What is said to those who come too late."""
        return CheckpointError(
            f"the job is already {self._status().name}",
            CheckpointFailureReason.COORDINATOR_SHUTDOWN,
        )

    def _savepoint_directory(self, given: str | None) -> str:
        directory = given or self._directory
        if not directory:
            raise CheckpointError(
                "where should the savepoint go? Give a directory, or set "
                "execution.checkpointing.savepoint-dir",
                CheckpointFailureReason.NOT_CONFIGURED,
            )
        return shared(directory)

    def _give(self, order: SavepointOrder) -> Future[str]:
        if self._status().is_terminal_state():
            raise self.ended_already()
        self._take(order)
        return order.done


def _scale(job_graph: JobGraph | None) -> list[tuple[str, int]]:
    return [(v.id, v.parallelism) for v in job_graph.vertices] if job_graph else []
