"""Rows of a key in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, ClassVar

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator

_WAITING = "waiting"


class HeldRows:
    """Rows of each key that an operator holds back; in state when a snapshot is taken.

    Args:
        operator: Whose rows they are.
        state: The name of their state.
    """

    def __init__(self, operator: RowOperator, state: str) -> None:
        self._operator = operator
        self._name = state
        self.by_key: dict[Any, list[Any]] = {}

    def open(self) -> None:
        """Take over what is in the state."""
        operator = self._operator
        self._state = operator.value_state(self._name)
        for key in self._kept():
            operator.cell.key = key
            self.by_key[key] = list(self._state.value())
        operator.forget_key()

    def _kept(self) -> list[Any]:
        backend = self._operator.context.backend
        assert backend is not None
        return backend.keys(self._name)

    def add(self, key: Any, row: Any) -> None:
        """Hold a row back."""
        self.by_key.setdefault(key, []).append(row)

    def store(self) -> None:
        """Write them to the state."""
        cell = self._operator.cell
        for cell.key in [k for k in self._kept() if k not in self.by_key]:
            self._state.clear()
        self._operator.store(self._state, self.by_key)


class WaitingRows(HeldRows):
    """Rows that wait until the watermark has passed them.

    Args:
        operator: Whose rows they are.
        state: The name of their state.
        time: The column of their time.
        order: In which they are released.
    """

    def __init__(
        self, operator: RowOperator, state: str, time: int, order: Callable[[Any], Any]
    ) -> None:
        super().__init__(operator, state)
        self._time = time
        self._order = order

    def release(self, until: int) -> list[tuple[Any, list[Any]]]:
        """The keys that have rows which the watermark has passed, and these in their order.

        Keys come in the order of their first rows.
        """
        column = self._time
        released: list[tuple[Any, list[Any]]] = []
        for key, rows in list(self.by_key.items()):
            due = sorted((r for r in rows if r[column] // 1000 <= until), key=self._order)
            if not due:
                continue
            rest = [r for r in rows if r[column] // 1000 > until]
            if rest:
                self.by_key[key] = rest
            else:
                del self.by_key[key]
            released.append((key, due))
        released.sort(key=lambda found: found[1][0][column])
        return released


class InTimeOrderOperator(RowOperator):
    """Gives the rows of each key to `advance`, in the order of their time.

    In event time rows wait for the watermark, and late ones are dropped unless `takes_late` wants
    them; in processing time they come as they arrive. `emits_rows` says that what comes out are the
    rows themselves, perhaps with more columns: then those of all keys are in the order of time.
    """

    emits_rows: ClassVar[bool] = False

    def __init__(self, time: int, event_time: bool, order: Callable[[Any], Any]) -> None:
        super().__init__()
        self._time = time
        self._event_time = event_time
        self._waiting = WaitingRows(self, _WAITING, time, order)

    def advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        """Take rows of a key, none of them before those that came already."""
        raise NotImplementedError

    def advance_time(self, until: int, out: list[tuple[Any, ...]]) -> None:
        """The watermark; its rows were taken already."""

    def takes_late(self, key: Any, time: int) -> bool:
        """Whether a row of a time that the watermark has passed counts all the same."""
        return False

    def open(self) -> None:
        self._waiting.open()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        if self._event_time:
            column, watermark = self._time, self.watermark
            for key, row in zip(batch.keys, batch.values, strict=True):
                time = row[column] // 1000
                if time > watermark or self.takes_late(key, time):
                    self._waiting.add(key, row)
            return
        out: list[tuple[Any, ...]] = []
        for key, row in zip(batch.keys, batch.values, strict=True):
            self.advance(key, [row], out)
        self.emit_rows(out)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        if self._event_time:
            out: list[tuple[Any, ...]] = []
            for key, rows in self._waiting.release(timestamp):
                self.advance(key, rows, out)
            self.advance_time(timestamp, out)
            if self.emits_rows:
                out.sort(key=itemgetter(self._time))
            self.emit_rows(out)
        self.output.watermark(timestamp)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._waiting.store()
