"""Columns of texts that come again and again, before they cross an exchange.

Each text is sent once in a batch, and rows have its number. That takes less time on all of its way
than to send all of them, and the rows behind the exchange share their texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextDictionaries"]

_LEAST_ROWS = 1_000
_LEAST_REPEATED = 4
"""How often a text has to be there on average."""
_WAITED = 16
"""So many batches are sent as they are before a column is looked at again."""


class TextDictionaries:
    """Remembers of each column whether it was worth it the last time."""

    def __init__(self) -> None:
        self._waits: dict[int, int] = {}

    def encoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows; columns with few different texts have a dictionary."""
        import pyarrow as pa

        if batch.num_rows < _LEAST_ROWS:
            return batch
        columns = [self._encoded(i, column) for i, column in enumerate(batch.columns)]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def _encoded(self, index: int, column: Any) -> Any:
        import pyarrow.types as at

        waits = self._waits.get(index, 0)
        if waits or not at.is_string(column.type):
            self._waits[index] = max(waits - 1, 0)
            return column
        found = column.dictionary_encode()
        if len(found.dictionary) * _LEAST_REPEATED <= len(column):
            return found
        self._waits[index] = _WAITED
        return column
