"""Messages to rows and back, by a format."""

from __future__ import annotations

from headrace.runtime.batch import Batch, LazyBatch
from headrace.sql.formats.base import rows_of_columns
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.specs import DecodeSpec, EncodeSpec


def as_line(message: str | bytes | None) -> str:
    """A message as a line of a file."""
    if isinstance(message, str):
        return message
    return "" if message is None else message.decode()


class DecodeOperator(RowOperator):
    """Rows of text or bytes."""

    def __init__(self, spec: DecodeSpec) -> None:
        super().__init__()
        self._decoder = spec.decoder

    def process_batch(self, batch: Batch) -> None:
        messages = batch.values
        self.records_in += len(messages)
        try:
            columns = self._decoder.columns(messages)
            if columns is not None:
                self.output.emit(LazyBatch(columns, len(columns[0]), rows_of_columns))
                return
            rows = self._decoder.decode_each(messages)
        except Exception as error:
            raise self.failed(error, where="format") from error
        self.emit_rows(rows)


class EncodeOperator(RowOperator):
    """Text of rows."""

    def __init__(self, spec: EncodeSpec) -> None:
        super().__init__()
        self._encoder = spec.encoder

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        try:
            lines = [as_line(m) for m in self._encoder.encode(batch.values)]
        except Exception as error:
            raise self.failed(error, where="format") from error
        if lines:
            self.output.emit(Batch(lines))
