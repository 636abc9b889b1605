from __future__ import annotations

import pickle
import sys
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from headrace.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from headrace.common.display.job_panel import JobPanel
from headrace.common.errors import CheckpointError, FunctionTypeError, JobExecutionError
from headrace.common.job_client import JobHandle


class FakeJob:
    """A job that does what the test says."""

    def __init__(self) -> None:
        self.job_id = JobID("0123456789abcdef" * 2)
        self.state = JobStatus.RUNNING
        self.result: Future[JobExecutionResult] = Future()
        self.calls: list[Any] = []

    def status(self) -> JobStatus:
        return self.state

    def cancel(self) -> Future[None]:
        self.state = JobStatus.CANCELED
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        self.calls.append((advance_to_end_of_event_time, savepoint_directory))
        done: Future[str] = Future()
        done.set_result(f"{savepoint_directory}/savepoint-1")
        return done

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        raise CheckpointError("no directory")

    def rescale(self, parallelism: int) -> Future[None]:
        self.calls.append(("rescale", parallelism))
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def accumulators(self) -> dict[str, Any]:
        return {"n": 5}

    def facts(self) -> dict[str, object]:
        return {"records read": "7"}

    def result_future(self) -> Future[JobExecutionResult]:
        return self.result


@pytest.fixture
def job() -> FakeJob:
    return FakeJob()


@pytest.fixture
def client(job: FakeJob) -> JobClient:
    return JobClient(job)


def test_the_fake_is_a_handle(job: FakeJob) -> None:
    assert isinstance(job, JobHandle)


def test_status_id_and_accumulators(job: FakeJob, client: JobClient) -> None:
    assert str(client.get_job_id()) == "0123456789abcdef" * 2
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result() == {"n": 5}
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_savepoints(job: FakeJob, client: JobClient) -> None:
    assert client.stop_with_savepoint(True, "/tmp/s").result() == "/tmp/s/savepoint-1"
    client.stop_with_savepoint(False)
    assert job.calls == [(True, "/tmp/s"), (False, None)]


def test_errors_of_the_engine_arrive_in_the_future(client: JobClient) -> None:
    future = client.trigger_savepoint()
    assert future.done()
    assert isinstance(future.exception(), CheckpointError)
    with pytest.raises(CheckpointError, match="no directory"):
        future.result()


def test_result(job: FakeJob, client: JobClient) -> None:
    future = client.get_job_execution_result()
    assert not future.done()
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    job.result.set_result(JobExecutionResult(job.job_id, 12, {"n": 5}))
    result = future.result()
    assert result.get_job_id() == job.job_id
    assert result.get_net_runtime() == 12
    assert result.get_accumulator_result("n") == 5
    assert result.get_accumulator_result("m") is None
    assert result.get_all_accumulator_results() == {"n": 5}
    assert "Job Runtime: 12 ms" in str(result)


def test_failed_job(job: FakeJob, client: JobClient) -> None:
    future = client.get_job_execution_result()
    job.result.set_exception(JobExecutionError("boom"))
    with pytest.raises(JobExecutionError, match="boom"):
        future.result()


def test_giving_up_a_future_leaves_the_job_alone(job: FakeJob, client: JobClient) -> None:
    future = client.get_job_execution_result()
    assert future.cancel()
    assert future.cancelled()
    assert isinstance(future.exception(), CancelledError)
    assert not job.result.cancelled()
    job.result.set_result(JobExecutionResult(job.job_id))
    assert client.get_job_execution_result().result().get_net_runtime() == 0


def test_futures() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    seen: list[CompletableFuture[int]] = []
    future.add_done_callback(seen.append)
    assert str(future) == "CompletableFuture[not completed]"
    assert future.exception() is None
    assert future.complete(5)
    assert not future.complete(6)
    assert future.result() == 5
    assert seen == [future]
    assert str(future) == "CompletableFuture[completed normally]"
    assert str(CompletableFuture.failed(OSError())) == "CompletableFuture[completed exceptionally]"
    plain: Future[str] = Future()
    plain.set_result("7")
    assert CompletableFuture(plain, int).result() == 7


def test_job_ids() -> None:
    assert JobID() != JobID()
    text = str(JobID())
    assert len(text) == 32
    assert JobID.from_hex_string(text.upper()) == JobID(text)
    assert pickle.loads(pickle.dumps(JobID(text))) == JobID(text)
    assert hash(JobID(text)) == hash(JobID(text))
    for wrong in ("12", "z" * 32, 5):
        with pytest.raises(FunctionTypeError):
            JobID(wrong)  # type: ignore[arg-type]


def test_terminal_states() -> None:
    terminal = {status for status in JobStatus if status.is_terminal_state()}
    for_good = {status for status in JobStatus if status.is_globally_terminal_state()}
    assert for_good == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert terminal == for_good | {JobStatus.SUSPENDED}


class TestInANotebook:
    def test_without_widgets_the_figures_of_the_moment(self, client, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
        shown = client._repr_mimebundle_()["text/html"]
        assert "RUNNING" in shown
        assert "<th>records read</th><td>7</td>" in shown

    def test_the_button_ends_the_job_and_the_figures_follow(self, job, client) -> None:
        pytest.importorskip("ipywidgets")
        assert "application/vnd.jupyter.widget-view+json" in client._repr_mimebundle_()
        panel = JobPanel(job)
        panel.stop.click()
        assert job.state is JobStatus.CANCELED
        assert panel.stop.disabled
        job.result.set_exception(JobExecutionError("cancelled"))
        panel._follow()
        assert "CANCELED" in panel.figures.value
        assert panel.stop.description == "Ended"
