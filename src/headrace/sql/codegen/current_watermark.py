"""CURRENT_WATERMARK: what the operator that runs an expression knows of event time."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import MIN_TIMESTAMP


class CurrentWatermark:
    """A function of generated code that is opened with its operator, as users' functions are."""

    def open(self, operator: Any) -> None:
        """Called once in each subtask."""
        self._operator = operator

    def close(self) -> None:
        """Called once in each subtask."""

    def __call__(self) -> int | None:
        watermark = self._operator.watermark
        return None if watermark == MIN_TIMESTAMP else int(watermark) * 1000

    def __getstate__(self) -> dict[str, Any]:
        return {}
