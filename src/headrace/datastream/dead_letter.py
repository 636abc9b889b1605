"""A record that could not be processed, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["DeadLetter"]


@dataclass(frozen=True)
class DeadLetter:
    """What `on_error` puts into a side output in the place of a failure of the job.

    Attributes:
        record: The record that the function was given; of a source, what could not be deserialized,
            such as the bytes of a message or a line; of a timer, its key; of a result that is not
            of the declared type, the result.
        error_type: Name of the exception's class.
        message: Its text.
        traceback: The traceback, from the user's own code on.
        operator: Name of the operator.
        where: The method that raised; `deserialization` of a source, with the place if it is known.
        timestamp: Event time of the record in milliseconds, if it has one.
    """

    record: Any
    error_type: str
    message: str
    traceback: str
    operator: str
    where: str
    timestamp: int | None = None
