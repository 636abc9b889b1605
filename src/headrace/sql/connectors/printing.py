"""The print connector: rows in the terminal, as Flink writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.print_sink import print_prefix
from headrace.datastream.data_stream import DataStream
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType
from headrace.sql.types.text import java_text

__all__ = ["PrintFactory"]

_KINDS = ("+I", "-U", "+U", "-D")


class PrintFactory(TableFactory):
    """`'connector' = 'print'`."""

    name = "print"

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Prints with `print-identifier` and `standard-error`."""
        sink = _PrintTable(
            context.option("print-identifier", "") or "",
            context.boolean("standard-error"),
            context.parallelism("sink.parallelism"),
        )
        context.check_all_used()
        return sink


@dataclass
class _PrintTable(TableSink):
    identifier: str
    to_stderr: bool
    parallelism: int | None

    accepts_updates = True

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        sink = RowPrintSink(tuple(schema.types), changelog, self.identifier, self.to_stderr)
        return stream.sink_to(sink).name("Sink: print")


@dataclass(frozen=True)
class RowPrintSink(Sink):
    """Prints rows as `+I[a, 1]`."""

    types: tuple[DataType, ...]
    changelog: bool
    identifier: str = ""
    to_stderr: bool = False

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """The writer of a subtask."""
        return _RowPrintWriter(self, context)


class _RowPrintWriter(SinkWriter):
    def __init__(self, sink: RowPrintSink, context: WriterContext) -> None:
        self._texts = [java_text(t) for t in sink.types]
        self._changelog = sink.changelog
        self._context = context
        self._to_stderr = sink.to_stderr
        self._prefix = print_prefix(sink.identifier, context)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        texts, prefix = self._texts, self._prefix
        lines = []
        for row in values:
            kind = _KINDS[row[-1]] if self._changelog else "+I"
            fields = ", ".join([t(v) for t, v in zip(texts, row, strict=False)])
            lines.append(f"{prefix}{kind}[{fields}]")
        self._context.print_lines(lines, self._to_stderr)
