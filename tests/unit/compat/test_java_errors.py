"""`except Py4JJavaError` of PyFlink programs."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

from headrace import compat
from headrace.common.errors import GraphError, HeadraceError, JobExecutionError, SqlError
from headrace.util.exceptions import TableException, TableNotExistException


@pytest.fixture(autouse=True)
def _alias() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


def caught(error: Exception) -> Py4JJavaError:
    try:
        raise error
    except Py4JJavaError as found:
        return found


def test_every_error_of_headrace_is_caught_and_stays_what_it_is() -> None:
    error = caught(JobExecutionError("no luck", job_name="totals", subtask=1))
    assert isinstance(error, Py4JError)
    assert isinstance(error, JobExecutionError)
    assert str(error) == error.errmsg == "no luck\n  in subtask 1, job 'totals'"
    assert isinstance(caught(GraphError("mistake")), ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.subtask) == (str(error), 1)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (SqlError("x"), "org.apache.flink.table.api.ValidationException"),
        (TableException("x"), "org.apache.flink.table.api.TableException"),
        (
            TableNotExistException("x"),
            "org.apache.flink.table.catalog.exceptions.TableNotExistException",
        ),
        (JobExecutionError("x"), "org.apache.flink.runtime.client.JobExecutionException"),
        (GraphError("x"), "java.lang.IllegalArgumentException"),
        (HeadraceError("x"), "java.lang.RuntimeException"),
    ],
)
def test_java_exception_has_the_name_that_flink_gives_it(error: Exception, name: str) -> None:
    java = caught(error).java_exception
    assert java.getClass().getName() == name
    assert java.getClass().getSimpleName() == name.rpartition(".")[2]
    assert java.toString() == str(java) == f"{name}: x"
    assert java.getCause() is None


def test_java_exception_leads_to_the_cause() -> None:
    error = JobExecutionError("failed")
    error.__cause__ = ValueError("no luck")
    java = caught(error).java_exception
    assert java.getCause().getMessage() == java.getCause().getLocalizedMessage() == "no luck"
    assert java.getCause().getCause() is None


def test_without_the_alias_no_error_is_one_of_java() -> None:
    compat.uninstall()
    assert not issubclass(HeadraceError, Py4JError)
