"""Batches are sent again, whatever fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.batched_writer import BatchedWriter, BatchLimits, Retries


class Failing(BatchedWriter):
    """Whose first calls fail: of sending, and of connecting again."""

    def __init__(self, sends: int, connects: int) -> None:
        self.waits: list[float] = []
        self.calls: list[str] = []
        self.left = {"send": sends, "reconnect": connects}
        super().__init__(BatchLimits(), Retries(3, 1.0, 2.0), self.waits.append)

    def encode(self, values: list[Any]) -> list[Any]:
        return values

    def reconnect(self) -> None:
        self._call("reconnect")

    def send(self, batch: Sequence[Any]) -> Sequence[Any]:
        self._call("send")
        return ()

    def _call(self, name: str) -> None:
        self.calls.append(name)
        self.left[name] -= 1
        if self.left[name] >= 0:
            raise OSError(f"{name} failed")


def test_a_connection_that_fails_is_tried_again() -> None:
    writer = Failing(sends=1, connects=2)
    writer.write([1], None)
    writer.flush(end_of_input=True)
    assert writer.calls == ["send", "reconnect", "reconnect", "reconnect", "send"]
    assert writer.waits == [1.0, 2.0, 4.0]


def test_the_last_error_is_told() -> None:
    writer = Failing(sends=1, connects=5)
    writer.write([1], None)
    with pytest.raises(HeadraceError, match="tried 4 times; the last error was OSError: reconnect"):
        writer.flush(end_of_input=True)
