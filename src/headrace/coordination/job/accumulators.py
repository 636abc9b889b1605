"""Values of accumulators, merged over subtasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def merged(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The values of a job, of the accumulators of its subtasks; those stay as they are."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, accumulator in part.items():
            if name in total:
                total[name].merge(accumulator)
            else:
                total[name] = accumulator.clone()
    return {name: accumulator.get_local_value() for name, accumulator in total.items()}
