"""Lets `except Py4JJavaError` catch the errors of headrace.

PyFlink raises whatever goes wrong in Flink as one, and programs look at its `java_exception`. An
`except` clause goes by real base classes, so `HeadraceError` gets another one with the alias.
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError

from headrace.common.errors import HeadraceError, JobExecutionError, SqlError, SqlParseError
from headrace.util import exceptions

_WITHOUT = HeadraceError.__bases__

_CLASSES: dict[type[Exception], str] = {
    exceptions.TableException: "org.apache.flink.table.api.TableException",
    exceptions.JavaException: "org.apache.flink.table.catalog.exceptions.{}",
    SqlParseError: "org.apache.flink.table.api.SqlParserException",
    SqlError: "org.apache.flink.table.api.ValidationException",
    JobExecutionError: "org.apache.flink.runtime.client.JobExecutionException",
    ValueError: "java.lang.IllegalArgumentException",
    Exception: "java.lang.RuntimeException",
}
"""What Flink calls the exception, by the first class that fits."""


def install() -> None:
    """Make every error of headrace a `Py4JJavaError` too."""
    HeadraceError.__bases__ = (_JavaError,)


def uninstall() -> None:
    """Take that away again."""
    HeadraceError.__bases__ = _WITHOUT


class _Throwable:
    """The methods of Java's `Throwable` that programs call, over an error of Python."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def getMessage(self) -> str:
        return str(self._error)

    getLocalizedMessage = getMessage

    def getCause(self) -> _Throwable | None:
        cause = self._error.__cause__
        return None if cause is None else _Throwable(cause)

    def getClass(self) -> _Class:
        kind = type(self._error)
        name = next(n for known, n in _CLASSES.items() if issubclass(kind, known))
        return _Class(name.format(kind.__name__))

    def toString(self) -> str:
        return f"{self.getClass().getName()}: {self.getMessage()}"

    __str__ = toString


class _Class:
    """The name of a class, as Java's `Class` has it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def getName(self) -> str:
        return self._name

    def getSimpleName(self) -> str:
        return self._name.rpartition(".")[2]


class _JavaError(Py4JJavaError):  # type: ignore[misc]
    """What errors of headrace inherit from `Py4JJavaError`: the type, and none of its ways."""

    __init__ = Exception.__init__
    __str__ = Exception.__str__

    @property
    def java_exception(self) -> _Throwable:
        """What Java would have thrown."""
        return _Throwable(self)

    @property
    def errmsg(self) -> str:
        """The text of the error."""
        return str(self)
