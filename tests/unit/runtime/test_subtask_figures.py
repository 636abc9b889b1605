"""What subtasks report about themselves: user metrics, hot keys, latency, splits."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.batch import LatencyMark
from headrace.runtime.exchange.wire import FrameHeader, decode_payload, encode_frame
from headrace.runtime.operator import TaskInfo
from headrace.runtime.subtask_figures import MetricSettings, SubtaskFigures
from headrace.testing.runner import MiniRunner

TASK = TaskInfo("j", "job", "vertex", 0, 1, 128)


class Measured(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.add_group("mine").counter("seen")
        self.sizes = group.distribution("sizes")
        group.gauge("odd", lambda: object)

    def map(self, value: int) -> int:
        self.seen.inc()
        self.sizes.update(value)
        return value


class Count(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def run(env: StreamExecutionEnvironment) -> MiniRunner:
    runner = MiniRunner(build_job_graph(env.get_stream_graph(None, clear=True)))
    runner.run()
    return runner


def test_metrics_of_functions_are_reported_by_operator() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection([1, 2, 3]).map(Measured()).map(Measured()).print()
    (report,) = run(env).reports.values()
    assert [sorted(m) for m in report.metrics.values() if m] == [["mine.seen", "odd", "sizes"]] * 2
    assert [m["mine.seen"] for m in report.metrics.values() if m] == [3, 3]
    first = next(m for m in report.metrics.values() if m)
    assert first["sizes"] == {"count": 3, "sum": 6, "min": 1, "max": 3, "mean": 2.0}
    assert first["odd"] == repr(object), "what cannot be a figure travels as a text"


def test_the_hot_key_of_a_subtask_is_found() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    keys = ["a", "a", "b"] * 2000
    env.from_collection(keys).key_by(lambda k: k).process(Count()).print()
    reports = [r for r in run(env).reports.values() if not r.source]
    (hot,) = [r.hot_key for r in reports if r.hot_key is not None]
    assert hot.key == "'a'"
    assert hot.share == pytest.approx(2 / 3, abs=0.2)


def test_keys_are_sampled_within_bounds() -> None:
    figures = SubtaskFigures(TASK, MetricSettings())
    for start in range(0, 100_000, 1000):
        figures.sample_keys([*range(start, start + 500), *["hot"] * 500])
    found = figures.hot_key()
    assert found is not None
    assert found.key == "'hot'"
    assert 0.3 < found.share <= 1
    assert len(figures._keys) < 1000
    figures.sample_keys([[1], [2]])


def test_nothing_is_collected_when_metrics_are_off() -> None:
    figures = SubtaskFigures(TASK, MetricSettings(enabled=False))
    figures.group("id", "Map").counter("c").inc()
    figures.sample_keys(["a"] * 1000)
    assert figures.metrics() == {}
    assert figures.hot_key() is None


def test_latency_markers_reach_operators_behind_an_exchange() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection(list(range(10))).map(lambda v: v).key_by(lambda v: v).map(str).print()
    graph = build_job_graph(env.get_stream_graph(None, clear=True))
    runner = MiniRunner(graph, metrics=MetricSettings(latency_interval_ms=1))
    runner.run()
    (source,) = [v.operators[0].operator_id for v in graph.vertices if v.is_source]
    arrived: dict[str, int] = {}
    for report in runner.reports.values():
        for (sender, operator), figures in report.latencies.items():
            assert sender == source
            arrived[operator] = arrived.get(operator, 0) + int(figures["count"])
    operators = {o.operator_id for v in graph.vertices for o in v.operators}
    assert set(arrived) == operators - {source}


def test_a_latency_mark_travels() -> None:
    frame = encode_frame(FrameHeader(1, 0, 0, 0, 0), [LatencyMark(5, "s")])
    assert decode_payload(frame) == [LatencyMark(5, "s")]


def test_splits_are_reported_with_their_watermarks() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, before: value
    )
    source = DataGeneratorSource(lambda i: i, 5000)
    env.from_source(source, strategy, "numbers").print()
    runner = MiniRunner(build_job_graph(env.get_stream_graph(None, clear=True)), epoch_records=1000)
    runner.open()
    runner.run_epoch()
    runner.run_epoch()
    (report,) = runner.reports.values()
    assert report.more
    (split,) = report.splits
    assert split.watermark == report.watermark
    assert not split.idle
    runner.close(quietly=True)
