"""Where slots are drawn to when executors are gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headrace.spark.placement import without_lost


def test_a_slot_is_drawn_to_the_host_of_an_executor_that_is_gone() -> None:
    backend = SimpleNamespace(isExecutorActive=lambda executor: executor == "12")
    spark = SimpleNamespace(schedulerBackend=lambda: backend)
    context: Any = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: spark))
    before = ["executor_10.0.0.1_12", "executor_some_host_3", "10.0.0.2", None]
    assert without_lost(context, before) == ["executor_10.0.0.1_12", "some_host", "10.0.0.2", None]
