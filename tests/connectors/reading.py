"""A reader of a source, driven as a subtask does."""

from __future__ import annotations

import time
from typing import Any

from headrace.datastream.connectors.base import Source
from tests.unit.datastream.connectors.reading import FakeReaderContext

_LIMIT_S = 60.0


class Reading:
    """One reader, from its splits on; `splits` are those of a checkpoint."""

    def __init__(self, source: Source, splits: Any = None) -> None:
        self.reader = source.create_reader(FakeReaderContext())
        self.reader.open()
        given = splits or source.create_enumerator(1).discover(0)[0]
        self.reader.add_splits(given)

    def read(self, count: int) -> list[Any]:
        """So many records, or those that come in a long time."""
        found: list[Any] = []
        deadline = time.monotonic() + _LIMIT_S
        while len(found) < count and time.monotonic() < deadline:
            batch = self.reader.poll(count - len(found))
            found += batch.values if batch else []
            time.sleep(0 if batch else 0.01)
        return found

    def checkpoint(self, number: int) -> Any:
        """The splits that a checkpoint has."""
        self.reader.on_checkpoint(number)
        return self.reader.snapshot()

    def close(self) -> None:
        self.reader.close()
