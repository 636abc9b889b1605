"""The one family of exceptions that headrace raises.

Everything derives from `HeadraceError`; where Python users expect `ValueError` or `TypeError` the
class inherits from it too. Exceptions cross process boundaries, so each one survives a pickle round
trip with its fields.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from headrace.common.display.errors import full_text, short_text, wants_everything

__all__ = [
    "CheckpointError",
    "CheckpointFailureReason",
    "ConfigurationError",
    "FunctionTypeError",
    "GraphError",
    "HeadraceError",
    "JobCancelledError",
    "JobExecutionError",
    "SqlError",
    "SqlParseError",
    "StateError",
    "StateMigrationError",
    "TypeMismatchError",
    "shorten_repr",
]

_RECORD_LIMIT = 200


def shorten_repr(value: Any, limit: int = _RECORD_LIMIT) -> str:
    """Returns `repr(value)`, cut in the middle to at most `limit` characters; never raises."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a user's __repr__
        text = f"<{type(value).__name__} whose repr() failed: {type(error).__name__}>"
    if len(text) <= limit:
        return text
    head = (limit - 3) * 2 // 3
    tail = limit - 3 - head
    return f"{text[:head]}...{text[-tail:]}"


def _rebuild(cls: type[HeadraceError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    # Not through __init__: its keyword fields come from the state, and args stay as they were.
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class _Root(Exception):
    """Can be replaced as a base class, which `Exception` itself cannot; see `headrace.compat`."""


class HeadraceError(_Root):
    """Base of every error that headrace raises on purpose.

    Subclasses may take any keyword arguments: pickling restores `args` and the instance's fields
    without calling `__init__` again. The cause and the context stay in their own process.

    Attributes:
        headline: Stands before the text of an error that needs no traceback.
    """

    headline: ClassVar[str] = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the class, the positional arguments and the fields."""
        return _rebuild, (type(self), self.args, dict(self.__dict__))

    def _render_traceback_(self) -> list[str]:
        """What IPython, and so a notebook, shows of the error."""
        text = full_text(self) if wants_everything() else short_text(self)
        return text.rstrip("\n").split("\n")


class ConfigurationError(HeadraceError, ValueError):
    """A setting has a value that cannot be used, or settings contradict each other.

    Args:
        message: What happened and what to do.
        key: The key of the setting, if one setting is to blame.
        value: The refused value.
    """

    def __init__(self, message: str, *, key: str | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.key = key
        self.value = value


class GraphError(HeadraceError, ValueError):
    """A program was put together wrongly: a bad parallelism, a duplicate uid, a missing key."""


class FunctionTypeError(GraphError, TypeError):
    """An argument of the wrong kind was given while a program was being built."""


class TypeMismatchError(HeadraceError, TypeError):
    """A value does not fit the type that was declared for it."""


class StateError(HeadraceError):
    """State could not be declared, read, written or restored."""


class UnknownJobError(HeadraceError):
    """There is no such job, it has ended, or its name means several."""


class UnknownVertexError(HeadraceError):
    """A job has no such vertex, or a vertex no such subtask or operator."""


class UnknownStateError(StateError):
    """A running job has no queryable state of that name."""


class UnknownKeyError(StateError):
    """A queryable state has nothing for the key that was asked for."""


class StateMigrationError(StateError):
    """Saved state cannot be read as the type it is now declared with."""


class CheckpointFailureReason(Enum):
    """Why a checkpoint or savepoint did not complete."""

    COORDINATOR_SHUTDOWN = "the job ended before the checkpoint was complete"
    COORDINATOR_SUSPENDED = "the coordinator is suspended"
    DECLINED = "a subtask declined the checkpoint"
    EXPIRED = "the checkpoint took longer than its timeout"
    FINALIZE_FAILURE = "the checkpoint's metadata could not be written"
    IO_ERROR = "checkpoint storage could not be read or written"
    JOB_FAILURE = "the job failed while the checkpoint was in progress"
    MINIMUM_PAUSE = "the minimum pause between checkpoints has not passed"
    NOT_ALL_TASKS_RUNNING = "not every subtask is running"
    NOT_CONFIGURED = "checkpointing or its storage is not configured"
    RESTORE_FAILURE = "a file of the checkpoint is missing or damaged"
    STATE_MISMATCH = "the checkpoint does not match the program"
    SUBSUMED = "a newer checkpoint is complete"
    TOO_MANY_CONCURRENT = "too many checkpoints are in progress"
    TOO_MANY_FAILURES = "more checkpoints failed than are tolerated"
    UNKNOWN = "the reason is unknown"


class CheckpointError(HeadraceError):
    """A checkpoint or savepoint failed.

    Args:
        message: What happened and what to do.
        reason: The class of failure, for decisions in code.
        checkpoint_id: The checkpoint it is about, if it has a number.
    """

    def __init__(
        self,
        message: str,
        reason: CheckpointFailureReason = CheckpointFailureReason.UNKNOWN,
        *,
        checkpoint_id: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.checkpoint_id = checkpoint_id


class SqlError(HeadraceError):
    """A statement could not be parsed, bound or planned.

    Args:
        message: What happened and what to do.
        position: `(line, column)`, both from 1, or None if it is not known.
    """

    def __init__(self, message: str, position: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.position = position

    def __str__(self) -> str:
        """The message, with the position in front when there is one."""
        text = super().__str__()
        if self.position is None:
            return text
        return f"line {self.position[0]}, column {self.position[1]}: {text}"


class SqlParseError(SqlError):
    """A text is not a statement of SQL; the message begins with the words that Flink has there."""

    def __str__(self) -> str:
        return f"SQL parse failed. {super().__str__()}"


class JobExecutionError(HeadraceError):
    """A job failed; `str()` has the user's exception text, the place, the record and the traceback.

    Args:
        message: What happened. For a failed user function: the text of the user's exception.
        job_id: The job's id as hexadecimal text.
        job_name: The job's name.
        operator_name: Name of the operator whose function failed.
        operator_uid: Its uid, if it has one.
        subtask: Index of the subtask, from 0.
        record: The record that was being processed, already shortened (see `shorten_repr`).
        user_traceback: The traceback of the user's code, as text.
    """

    headline = "Job failed"

    def __init__(
        self,
        message: str,
        *,
        job_id: str | None = None,
        job_name: str | None = None,
        operator_name: str | None = None,
        operator_uid: str | None = None,
        subtask: int | None = None,
        record: str | None = None,
        user_traceback: str | None = None,
    ) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.job_name = job_name
        self.operator_name = operator_name
        self.operator_uid = operator_uid
        self.subtask = subtask
        self.record = record
        self.user_traceback = user_traceback

    @property
    def message(self) -> str:
        """The message alone, without place, record and traceback."""
        return str(self.args[0]) if self.args else ""

    def _place(self) -> str:
        parts = []
        if self.operator_name is not None:
            uid = f" (uid {self.operator_uid!r})" if self.operator_uid is not None else ""
            parts.append(f"operator {self.operator_name!r}{uid}")
        elif self.operator_uid is not None:
            parts.append(f"operator with uid {self.operator_uid!r}")
        if self.subtask is not None:
            parts.append(f"subtask {self.subtask}")
        if self.job_name is not None:
            parts.append(f"job {self.job_name!r}")
        elif self.job_id is not None:
            parts.append(f"job {self.job_id}")
        return ", ".join(parts)

    def __str__(self) -> str:
        """The message, then where it happened, the record, and the user's traceback."""
        lines = [self.message]
        place = self._place()
        if place:
            lines.append(f"  in {place}")
        if self.record is not None:
            lines.append(f"  while processing {self.record}")
        if self.user_traceback:
            lines.append(self.user_traceback.rstrip())
        return "\n".join(lines)


class JobCancelledError(JobExecutionError):
    """The job was cancelled before it finished."""
