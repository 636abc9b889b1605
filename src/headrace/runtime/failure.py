"""A failure in user code: what is known where it happens, and how it travels to the driver."""

from __future__ import annotations

import operator
import os
import pickle
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import cloudpickle

from headrace.common.errors import JobExecutionError, shorten_repr

NO_RECORD: Any = object()
"""Stands for the record where a function failed without one."""

_SHOWN = 200
_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep


def record_at(values: Sequence[Any], rows: Iterator[Any]) -> Any:
    """The value that was last taken from an iterator over `values`."""
    position = len(values) - operator.length_hint(rows) - 1
    return values[position] if 0 <= position < len(values) else None


def explained(error: BaseException, function: Any, where: str) -> BaseException:
    """The error itself, or a sentence if a function returned something other than results."""
    found = re.fullmatch(r"'(.*)' object is not iterable", str(error))
    frames = traceback.walk_tb(error.__traceback__)
    if found is None or not all(f.f_code.co_filename.startswith(_PACKAGE) for f, _ in frames):
        return error
    code = getattr(getattr(function, where, None), "__code__", None)
    place = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    return TypeError(
        f"{where}{place} returned a value of type {found[1]} instead of results: yield each "
        "result, or return a list of them"
    )


class UserCodeFailure(Exception):
    """A user function raised; `where` says in which call, the subtask fills in operator and uid."""

    def __init__(self, cause: BaseException, record: str | None, where: str) -> None:
        super().__init__(where)
        self.cause = cause
        self.record = record
        self.where = where
        self.operator_name: str | None = None
        self.operator_uid: str | None = None

    @classmethod
    def of(cls, error: BaseException, record: Any = NO_RECORD, where: str = "") -> UserCodeFailure:
        """Wrap an exception, unless it is wrapped already."""
        if isinstance(error, UserCodeFailure):
            return error
        shown = None if record is NO_RECORD else shorten_repr(record)
        return cls(error, shown, where)

    def at(self, name: str, uid: str | None) -> UserCodeFailure:
        """Name the operator, unless code closer to the cause already did."""
        if self.operator_name is None:
            self.operator_name, self.operator_uid = name, uid
        return self


@dataclass(frozen=True)
class FailureReport:
    """A failure on its way to the driver: only text and, where it can be pickled, the exception."""

    message: str
    user_traceback: str
    exception: bytes | None = None
    vertex_name: str = ""
    operator_name: str | None = None
    operator_uid: str | None = None
    subtask: int | None = None
    parallelism: int | None = None
    record: str | None = None
    where: str = ""
    slot: int | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def cause(self) -> BaseException | None:
        """The user's exception itself, if it survived the way."""
        if self.exception is None:
            return None
        try:
            loaded = pickle.loads(self.exception)
        except Exception:  # noqa: BLE001 - the user's class; its text is known anyway
            return None
        return loaded if isinstance(loaded, BaseException) else None

    def to_error(self, job_id: str, job_name: str) -> JobExecutionError:
        """The error that the user gets to see."""
        return JobExecutionError(
            self.message + (f" (in {self.where})" if self.where else ""),
            job_id=job_id,
            job_name=job_name,
            operator_name=self.operator_name or self.vertex_name,
            operator_uid=self.operator_uid,
            subtask=self.subtask,
            record=self.record,
            user_traceback=self.user_traceback,
        )


def report_failure(
    error: BaseException, *, vertex_name: str, subtask: int | None, parallelism: int | None
) -> FailureReport:
    """Describe an exception for the driver."""
    failure = error if isinstance(error, UserCodeFailure) else UserCodeFailure.of(error)
    cause = failure.cause
    return FailureReport(
        message=_message(cause),
        user_traceback=user_traceback(cause),
        exception=_pickled(cause),
        vertex_name=vertex_name,
        operator_name=failure.operator_name,
        operator_uid=failure.operator_uid,
        subtask=subtask,
        parallelism=parallelism,
        record=failure.record,
        where=failure.where,
    )


def _message(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    if isinstance(error, SystemExit):
        return f"{text}: the function called sys.exit(); raise an exception to fail the job instead"
    return text


def user_traceback(error: BaseException) -> str:
    """The traceback from the user's own frames on: ours above them say nothing to a user."""
    formatted = traceback.TracebackException(type(error), error, _users(error.__traceback__))
    return "".join(formatted.format()).rstrip()


def _users(tb: TracebackType | None) -> TracebackType | None:
    first = tb
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            return tb
        tb = tb.tb_next
    return first


def _pickled(error: BaseException) -> bytes | None:
    try:
        data: bytes = cloudpickle.dumps(error.with_traceback(None))
        pickle.loads(data)
    except Exception:  # noqa: BLE001 - the user's class; then only its text travels
        return None
    return data
