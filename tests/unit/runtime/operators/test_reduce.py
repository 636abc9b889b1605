"""The rolling reduction, in streaming and in batch mode."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, as_reduce_function
from headrace.graph.specs import ReduceSpec
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.testing import collect, keyed_harness


def reducing(final_only: bool = False, **settings: Any) -> Any:
    spec = ReduceSpec(as_reduce_function(lambda a, b: (a[0], a[1] + b[1])), final_only)
    return keyed_harness(spec, key=lambda v: v[0], **settings)


def test_every_record_gives_the_result_so_far() -> None:
    with reducing() as h:
        h.process_many([("a", 1), ("b", 2), ("a", 3)], ts=[1, 2, 3])
        assert h.timestamped_output() == [(("a", 1), 1), (("b", 2), 2), (("a", 4), 3)]


def test_the_result_survives_a_recovery_at_any_parallelism() -> None:
    with reducing() as h:
        for n in range(20):
            h.process((n % 5, 1))
            h.snapshot_and_restore(parallelism=1 + n % 4)
        assert h.output()[-5:] == [(k, 4) for k in range(5)]


def test_batch_mode_gives_one_result_for_each_key() -> None:
    with reducing(final_only=True) as h:
        h.process_many([("a", 1), ("b", 2), ("a", 3)])
        assert h.output() == []
        h.end_input()
        assert h.output() == [("a", 4), ("b", 2)]


def test_final_results_come_before_the_end_of_event_time() -> None:
    with reducing(final_only=True) as h:
        h.process(("a", 1))
        seen: list[Any] = []
        h._recording.watermark = lambda subtask, ts: seen.append((ts, len(h._recording.main)))
        h.end_input()
        assert seen == [(MAX_TIMESTAMP, 1)]


def test_timers_set_for_final_results_fire() -> None:
    class Timer(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(5)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), timestamp

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    totals = env.from_collection([1, 2, 3, 4]).key_by(lambda x: x % 2).reduce(lambda a, b: a + b)
    assert sorted(collect(totals.key_by(lambda x: x).process(Timer()))) == [(4, 5), (6, 5)]


def test_an_error_names_the_record() -> None:
    with keyed_harness(lambda a, b: a / b, key=lambda _: 1, operation="reduce") as h:
        h.process(1)
        with pytest.raises(ZeroDivisionError) as caught:
            h.process_many([2, 0])
        assert "reduce, record 0" in caught.value.__notes__[0]
