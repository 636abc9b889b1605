"""OVER: aggregates of the rows of a key up to each row, by time."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import Any

from headrace.sql.operators.order.in_time import InTimeOrderOperator
from headrace.sql.operators.over.specs import OverSpec

_STATE = "over"


class OverOperator(InTimeOrderOperator):
    """Keeps the accumulator of each key, and the rows of the frame where that is bounded."""

    emits_rows = True

    def __init__(self, spec: OverSpec) -> None:
        super().__init__(spec.time, spec.event_time, itemgetter(spec.time))
        self._spec = spec
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._value = spec.code.value.load()
        self._state: Any

    def open(self) -> None:
        super().open()
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE, self._spec.ttl_ms)

    def takes_late(self, key: Any, time: int) -> bool:
        """A bounded frame takes what is later than its last row, whatever the watermark is."""
        if self._spec.start is None:
            return False
        self.cell.key = key
        held = self._state.value()
        self.forget_key()
        return held is None or time > held[1][-1][self._spec.time] // 1000

    def advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        """Emit rows, in the order of time, with the aggregates of the rows up to them."""
        self.cell.key = key
        held = self._state.value()
        frame: deque[Any] = deque() if held is None else held[1]
        accumulator = self._create() if held is None else held[0]
        if self._spec.rows:
            for row in rows:
                accumulator = self._step(accumulator, frame, [row])
                out.append((*row, *self._value(accumulator)))
        else:
            for peers in self._peers(rows):
                accumulator = self._step(accumulator, frame, peers)
                value = self._value(accumulator)
                out += [(*row, *value) for row in peers]
        self._state.update([accumulator, frame])
        self.forget_key()

    def _peers(self, rows: list[Any]) -> list[list[Any]]:
        """Rows of the same time count together in a frame by RANGE."""
        if not self._spec.event_time:
            return [[r] for r in rows]
        groups: dict[int, list[Any]] = {}
        for row in rows:
            groups.setdefault(row[self._spec.time], []).append(row)
        return list(groups.values())

    def _step(self, accumulator: list[Any], frame: deque[Any], rows: list[Any]) -> list[Any]:
        """The accumulator after rows came, and others left the frame."""
        spec = self._spec
        if spec.start is None:
            self._add([0] * len(rows), rows, {0: accumulator}, None)
            return accumulator
        frame.extend(rows)
        if spec.rows:
            while len(frame) > spec.start + 1:
                frame.popleft()
        else:
            column = spec.time
            oldest = rows[0][column] - spec.start * 1000
            while frame and frame[0][column] < oldest:
                frame.popleft()
        # Taking rows back needs more state than adding the frame again: frames are short.
        fresh: list[Any] = self._create()
        self._add([0] * len(frame), frame, {0: fresh}, None)
        return fresh
