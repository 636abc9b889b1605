"""Sinks that show records or drop them: print, collect, discard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.common.conversion import Use, column_converter
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.formats.text import print_formatter

__all__ = ["CollectSink", "DiscardingSink", "PrintSink", "print_prefix"]


@dataclass(frozen=True)
class PrintSink(Sink):
    """Prints records in the terminal of the program, in Flink's form: `id:n> value`.

    Args:
        identifier: Put before the number of the subtask.
        type_info: The declared type; its text is that of Flink. Without one it is Python's `str`.
        to_stderr: Print to standard error.
    """

    identifier: str = ""
    type_info: TypeInformation | None = None
    to_stderr: bool = False

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _PrintWriter(self, context)


def print_prefix(identifier: str, context: WriterContext) -> str:
    """What lines of a subtask begin with, as in Flink."""
    number = str(context.subtask + 1) if context.parallelism > 1 else ""
    prefix = ":".join(part for part in (identifier, number) if part)
    return f"{prefix}> " if prefix else ""


class _PrintWriter(SinkWriter):
    def __init__(self, sink: PrintSink, context: WriterContext) -> None:
        self._text: Callable[[Any], str] = print_formatter(sink.type_info)
        self._context = context
        self._to_stderr = sink.to_stderr
        self._prefix = print_prefix(sink.identifier, context)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        prefix, text = self._prefix, self._text
        self._context.print_lines([prefix + text(v) for v in values], self._to_stderr)


@dataclass(frozen=True)
class CollectSink(Sink):
    """Hands records to an iterator in the program.

    Args:
        collect_id: Tells the iterators of a program apart.
        type_info: The declared type, if results are to look as PyFlink shows them.
    """

    collect_id: str
    type_info: TypeInformation | None = None

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _CollectWriter(self, context)


class _CollectWriter(SinkWriter):
    def __init__(self, sink: CollectSink, context: WriterContext) -> None:
        self._collect_id = sink.collect_id
        self._convert = column_converter(sink.type_info, Use.COLLECTED)
        self._context = context

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        shown = values if self._convert is None else self._convert(values)
        self._context.collect(self._collect_id, shown)


@dataclass(frozen=True)
class DiscardingSink(Sink):
    """Drops all records, for measurements."""

    discards: ClassVar[bool] = True

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _DiscardingWriter()


class _DiscardingWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        pass
