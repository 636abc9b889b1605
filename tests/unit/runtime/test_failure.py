"""Failures on their way to the user: the user's own traceback, record and exception."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.common import Types
from headrace.common.errors import JobExecutionError, TypeMismatchError
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import MapFunction, ProcessFunction
from headrace.runtime.failure import (
    FailureReport,
    UserCodeFailure,
    record_at,
    report_failure,
    user_traceback,
)
from headrace.testing import collect, run_in_process

PACKAGE = str(Path(headrace.__file__).parent)


def run(build: Any, parallelism: int = 1) -> JobExecutionError:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    build(env).print()
    with pytest.raises(JobExecutionError) as caught:
        run_in_process(env, job_name="failing")
    return caught.value


def divide(value: int) -> float:
    return helper(value)


def helper(value: int) -> float:
    return 1 / value


def test_the_error_says_where_and_with_which_record() -> None:
    error = run(
        lambda env: env.from_collection([1, 0]).map(divide).uid("inverse").name("Inverse"),
    )
    text = str(error)
    assert text.startswith("ZeroDivisionError: division by zero (in map)")
    assert (error.operator_name, error.operator_uid) == ("Inverse", "inverse")
    assert (error.subtask, error.record, error.job_name) == (0, "0", "failing")
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_the_traceback_begins_with_the_users_frames() -> None:
    error = run(lambda env: env.from_collection([0]).map(divide))
    trace = error.user_traceback or ""
    assert PACKAGE not in trace
    assert "in divide" in trace
    assert "in helper" in trace
    assert "return 1 / value" in trace
    assert __file__ in trace


def test_a_chain_names_the_operator_that_failed() -> None:
    def build(env: Any) -> Any:
        stream = env.from_collection([0]).map(lambda x: x).name("Fine")
        return stream.map(divide).name("Bad").filter(lambda x: True).name("After")

    assert run(build).operator_name == "Bad"


def test_a_failing_key_selector_is_told() -> None:
    error = run(lambda env: env.from_collection(["a"]).key_by(lambda x: x[5]).map(lambda x: x), 2)
    assert "IndexError" in str(error)
    assert "(in key_by)" in str(error)
    assert error.record == "'a'"


def test_a_value_that_does_not_fit_its_type_names_the_operator() -> None:
    error = run(lambda env: env.from_collection([1]).map(lambda x: "x", Types.INT()).name("Typed"))
    assert isinstance(error.__cause__, TypeMismatchError | ValueError | TypeError)
    assert error.operator_name == "Typed"


def test_an_error_in_close_fails_the_job() -> None:
    class Closing(MapFunction):
        def map(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            raise OSError("disk full")

    error = run(lambda env: env.from_collection([1]).map(Closing()))
    assert "disk full" in str(error)
    assert "(in close)" in str(error)


def test_a_function_that_exits_is_told_so() -> None:
    report = report_failure(SystemExit(3), vertex_name="Map", subtask=0, parallelism=1)
    assert report.message.startswith("SystemExit: 3: the function called sys.exit()")
    assert isinstance(report.cause(), SystemExit)


def test_an_error_keeps_what_the_user_raised_it_from() -> None:
    def failing(value: Any) -> Any:
        try:
            return {}["x"]
        except KeyError as error:
            raise ValueError("wrapped") from error

    error = run(lambda env: env.from_collection([1]).map(failing))
    assert "KeyError" in (error.user_traceback or "")
    assert "ValueError: wrapped" in str(error)


def test_an_error_inside_the_engine_still_has_a_traceback() -> None:
    with pytest.raises(TypeError) as caught:
        collect(StreamExecutionEnvironment.get_execution_environment())  # type: ignore[arg-type]
    assert "collect() takes a DataStream" in user_traceback(caught.value)


class NeedsArguments(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class HoldsLock(Exception):
    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


class BadText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("raised", [NeedsArguments(1, 2), HoldsLock()])
def test_exceptions_that_cannot_travel_are_told_in_words(raised: Exception) -> None:
    report = report_failure(raised, vertex_name="v", subtask=0, parallelism=1)
    assert report.cause() is None
    assert type(raised).__name__ in report.message
    error = report.to_error("1", "job")
    assert error.operator_name == "v"


def test_an_exception_without_text_is_told_by_its_name() -> None:
    report = report_failure(BadText(), vertex_name="v", subtask=0, parallelism=1)
    assert "BadText" in report.message


def test_exceptions_that_can_travel_do() -> None:
    report = report_failure(ValueError("x", 5), vertex_name="v", subtask=2, parallelism=3)
    cause = report.cause()
    assert isinstance(cause, ValueError)
    assert cause.args == ("x", 5)


def test_a_damaged_exception_is_none() -> None:
    assert FailureReport("m", "t", exception=b"rubbish").cause() is None


def test_the_nearest_operator_is_named() -> None:
    failure = UserCodeFailure.of(ValueError("x"), [1], "map").at("inner", "uid-1")
    assert UserCodeFailure.of(failure).at("outer", None) is failure
    assert (failure.operator_name, failure.operator_uid) == ("inner", "uid-1")
    assert failure.record == "[1]"


def test_no_record_is_not_the_record_none() -> None:
    assert UserCodeFailure.of(ValueError()).record is None
    assert UserCodeFailure.of(ValueError(), None).record == "None"


def test_long_records_are_shortened() -> None:
    failure = UserCodeFailure.of(ValueError(), "x" * 1_000)
    assert failure.record is not None
    assert len(failure.record) == 200


def test_the_record_that_was_taken_last() -> None:
    values = ["a", "b", "c"]
    rows = iter(values)
    assert record_at(values, rows) is None
    next(rows)
    next(rows)
    assert record_at(values, rows) == "b"


def test_frames_of_a_package_with_a_longer_name_are_the_users(tmp_path: Path) -> None:
    file = Path(PACKAGE + "_tools") / "mine.py"
    code = compile("def fail():\n    raise ValueError('mine')\n", str(file), "exec")
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    with pytest.raises(ValueError, match="mine") as caught:
        namespace["fail"]()
    caught.value.__traceback__ = caught.tb.tb_next
    assert str(file) in user_traceback(caught.value)


def test_only_frames_above_the_users_are_left_out() -> None:
    code = compile("def call(f):\n    f()\n", PACKAGE + "/runtime/x.py", "exec")
    namespace: dict[str, Any] = {}
    exec(code, namespace)

    def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        namespace["call"](fail)
    caught.value.__traceback__ = caught.tb.tb_next
    text = user_traceback(caught.value)
    assert "runtime/x.py" not in text
    assert "in fail" in text


class Returning(ProcessFunction[Any, Any]):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


@pytest.mark.parametrize(
    ("build", "method"),
    [
        (lambda env: env.from_collection([1]).process(Returning(5)), "process_element"),
        (lambda env: env.from_collection([1]).flat_map(lambda value: value), "flat_map"),
        (
            lambda env: env.from_collection([1]).key_by(str).flat_map(lambda value: value),
            "flat_map",
        ),
    ],
)
def test_a_result_in_the_place_of_results(build: Any, method: str) -> None:
    error = run(build)
    assert f"TypeError: {method} at {__file__}:" in error.message
    assert "returned a value of type int instead of results: yield each result" in error.message
    assert error.record == "1"
    assert PACKAGE not in (error.user_traceback or "")


def test_an_error_of_the_function_itself_stays_as_it_is() -> None:
    error = run(lambda env: env.from_collection([1]).flat_map(lambda value: list(value)))
    assert error.message == "TypeError: 'int' object is not iterable (in flat_map)"


@pytest.mark.parametrize(
    "build",
    [
        lambda env: env.from_collection([1]).process(Returning("ab")),
        lambda env: env.from_collection([1]).process(Returning(("a", "b"))),
        lambda env: env.from_collection([1]).flat_map(lambda value: "ab"),
    ],
)
def test_a_result_whose_elements_become_results_is_worth_a_warning(build: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.warns(UserWarning, match="each element of which is a result") as warned:
        assert collect(build(env)) == ["a", "b"]
    assert warned[0].filename == __file__
