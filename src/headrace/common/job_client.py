"""`JobClient`, the remote control of a job, and `JobHandle`, what the engine puts behind it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable

from headrace.common.completable_future import CompletableFuture
from headrace.common.display.html import html_facts
from headrace.common.display.job_panel import JobPanel, facts_of
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus

__all__ = ["JobClient", "JobHandle"]


@runtime_checkable
class JobHandle(Protocol):
    """A job as the engine knows it. Methods may be called from any thread.

    A method that returns a `Future` starts something and returns at once. Errors may be raised or
    put into the future; the client passes on both as failed futures.
    """

    @property
    def job_id(self) -> JobID:
        """The id of the job."""

    def status(self) -> JobStatus:
        """The state of the job now."""

    def cancel(self) -> Future[None]:
        """Cancels the job; done when it is cancelled."""

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        """Takes a savepoint and stops; done, with the path, when the job has stopped."""

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        """Takes a savepoint; done, with the path, when it is complete."""

    def rescale(self, parallelism: int) -> Future[None]:
        """Changes the parallelism; done when the job runs on with the new one."""

    def accumulators(self) -> dict[str, Any]:
        """The accumulators so far."""

    def facts(self) -> dict[str, object]:
        """What happens in it, in words and numbers for people."""

    def result_future(self) -> Future[JobExecutionResult]:
        """Done when the job is over: its result, or its error. The same future on each call."""


class JobClient:
    """Follows and steers one job. `env.execute_async()` returns it.

    Example:
        ::

            client = env.execute_async()
            client.get_job_status().result()
            client.get_job_execution_result().result()
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: JobHandle) -> None:
        """Creates a client for the job behind `handle`."""
        self._handle = handle

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """The state of the job."""
        return _following(self._handle.status)

    def cancel(self) -> CompletableFuture[None]:
        """Cancels the job; the future is done when it is cancelled."""
        return _following(self._handle.cancel)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Takes a savepoint and stops the job.

        Args:
            advance_to_end_of_event_time: Send the last watermark first, so that all event-time
                timers and windows fire. Choose this only when the job will not be resumed.
            savepoint_directory: Where to write; `execution.checkpointing.savepoint-dir` by default.

        Returns:
            A future with the path of the savepoint.
        """
        return _following(
            lambda: self._handle.stop_with_savepoint(
                advance_to_end_of_event_time, savepoint_directory
            )
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Takes a savepoint while the job goes on.

        Args:
            savepoint_directory: Where to write; `execution.checkpointing.savepoint-dir` by default.

        Returns:
            A future with the path of the savepoint.
        """
        return _following(lambda: self._handle.trigger_savepoint(savepoint_directory))

    def rescale(self, parallelism: int) -> CompletableFuture[None]:
        """Changes the parallelism of the running job at an epoch boundary, without replay.

        Operators whose parallelism the program sets keep it. State, timers and the positions of
        sources are taken over.

        Args:
            parallelism: The new parallelism; at most the max parallelism of the operators.

        Returns:
            A future that is done when the job runs on with the new parallelism.
        """
        return _following(lambda: self._handle.rescale(parallelism))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The accumulators of the job so far, by name."""
        return _following(self._handle.accumulators)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result of the job; done when the job is over, and failed if the job failed."""
        return _following(self._handle.result_future)

    def _repr_html_(self) -> str:
        return html_facts("job", facts_of(self._handle))

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """What a notebook shows: a panel that lives, if there are widgets for it."""
        try:
            panel = JobPanel(self._handle)
        except ImportError:
            return {"text/html": self._repr_html_(), "text/plain": repr(self)}
        panel.follow()
        return panel.box._repr_mimebundle_()


def _following(call: Callable[[], Any]) -> CompletableFuture[Any]:
    try:
        outcome = call()
    except Exception as error:  # noqa: BLE001 - whoever asks the future gets it
        return CompletableFuture.failed(error)
    if isinstance(outcome, Future):
        return CompletableFuture(_detached(outcome))
    return CompletableFuture.completed(outcome)


def _detached(source: Future[Any]) -> Future[Any]:
    # A copy: a user who cancels the future must not cancel the engine's own.
    copy: Future[Any] = Future()

    def transfer(done: Future[Any]) -> None:
        if not copy.set_running_or_notify_cancel():
            return
        try:
            copy.set_result(done.result())
        except BaseException as error:  # noqa: BLE001 - whoever asks the future gets it
            copy.set_exception(error)

    source.add_done_callback(transfer)
    return copy
