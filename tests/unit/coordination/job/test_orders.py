"""Orders of callers: what is handed on, what is refused, and when each is done."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_coordinator import SavepointOrder
from headrace.coordination.job.orders import Orders
from tests.unit.coordination.job.jobs import Sum, sums


class Taken:
    """The orders of a job, and its result."""

    def __init__(self, directory: str | None = None, status: JobStatus = JobStatus.RUNNING) -> None:
        self.orders: list[SavepointOrder] = []
        self.result: Future[str] = Future()
        self.given = Orders(self.orders.append, lambda: status, self.result, directory)


def test_a_savepoint_is_done_when_it_is_taken() -> None:
    taken = Taken()
    done = taken.given.savepoint("/there")
    (order,) = taken.orders
    assert (order.directory, order.ends_attempt, done.done()) == ("/there", False, False)
    order.done.set_result("/there/savepoint-1")
    assert done.result() == "/there/savepoint-1"


def test_the_configured_directory_is_used_where_none_is_given() -> None:
    taken = Taken("/configured")
    taken.given.savepoint(None)
    taken.given.stop(drain=True, directory=None)
    assert [o.directory for o in taken.orders] == ["/configured"] * 2
    with pytest.raises(CheckpointError, match="where should the savepoint go") as refused:
        Taken().given.savepoint(None)
    assert refused.value.reason is CheckpointFailureReason.NOT_CONFIGURED


def test_a_stop_is_done_when_the_job_is_over() -> None:
    taken = Taken()
    stopped = taken.given.stop(drain=False, directory="/there")
    (order,) = taken.orders
    assert (order.stop, order.drain) == (True, False)
    order.done.set_result("/there/savepoint-1")
    assert not stopped.done()
    taken.result.set_result("over")
    assert stopped.result() == "/there/savepoint-1"


def test_a_stop_fails_with_its_savepoint_or_with_the_job() -> None:
    taken = Taken()
    first = taken.given.stop(drain=False, directory="/there")
    second = taken.given.stop(drain=False, directory="/there")
    taken.orders[0].done.set_exception(ValueError("the disk is full"))
    assert str(first.exception()) == "the disk is full"
    taken.orders[1].done.set_result("/there/savepoint-1")
    taken.result.set_exception(ValueError("close() failed"))
    assert str(second.exception()) == "close() failed"


def test_another_parallelism_waits_until_the_job_runs_with_it() -> None:
    taken = Taken()
    resumed = taken.given.rescale(sums(Sum()), 2)
    (order,) = taken.orders
    assert order.ends_attempt
    order.done.set_result("")
    assert not resumed.done()
    order.resumed.set_result(None)
    assert resumed.result() is None


def test_the_same_parallelism_is_there_at_once() -> None:
    taken = Taken()
    assert taken.given.rescale(sums(Sum()), 1).done()
    assert not taken.orders


def test_a_job_that_has_ended_takes_no_orders() -> None:
    taken = Taken("/there", JobStatus.FINISHED)
    with pytest.raises(CheckpointError, match="already FINISHED"):
        taken.given.savepoint(None)
    assert not taken.orders
