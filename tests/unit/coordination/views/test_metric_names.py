"""Metrics under Flink's names: flat for REST, with labels for Prometheus."""

from __future__ import annotations

from headrace.coordination.bodies.metrics import (
    JobMetrics,
    OperatorMetrics,
    SubtaskMetrics,
    VertexMetrics,
)
from headrace.coordination.views.metric_names import aggregated, flat, selected, subtask_metrics
from headrace.coordination.views.prometheus import prometheus_text

HISTOGRAM = {"count": 2, "min": 1, "max": 3, "mean": 2.0, "stddev": 1.0, "p50": 2, "p99.9": 3}
HISTOGRAM |= {"p75": 3, "p95": 3, "p98": 3, "p99": 3}
SUBTASK = SubtaskMetrics(
    1,
    0,
    "h",
    {"numRecordsIn": 5, "isBackPressured": False},
    (
        OperatorMetrics(
            "abc",
            "Keyed Map, x",
            {
                "numRecordsIn": 5,
                "mine.seen": 3,
                "rate": {"count": 4, "rate": 0.5},
                "times": HISTOGRAM,
                "sizes": {"count": 1, "sum": 2.0, "min": 2, "max": 2, "mean": 2.0},
                "text": "x",
            },
        ),
    ),
)


def test_names_are_flat() -> None:
    found = subtask_metrics(SUBTASK)
    top = "Keyed_Map__x."
    assert found[f"{top}mine.seen"] == 3
    assert (found[f"{top}rate"], found[f"{top}rate_count"]) == (0.5, 4)
    assert (found[f"{top}times_median"], found[f"{top}times_p999"]) == (2, 3)
    assert found[f"{top}sizes_sum"] == 2.0
    assert flat({"a": {"p50": None}}) == {"a_median": None}


def test_values_are_texts_and_only_those_asked_for() -> None:
    values = subtask_metrics(SUBTASK)
    assert {"id": "numRecordsIn"} in selected(values, None)
    assert selected(values, ["isBackPressured", "numRecordsIn", "none"]) == [
        {"id": "isBackPressured", "value": "false"},
        {"id": "numRecordsIn", "value": "5"},
    ]


def test_values_are_aggregated() -> None:
    parts = [{"a": 1, "t": "x"}, {"a": 3, "bad": float("nan")}]
    assert aggregated(parts, None, None) == [{"id": "a"}]
    (found,) = aggregated(parts, ["a"], None)
    assert found == {"id": "a", "min": 1.0, "max": 3.0, "avg": 2.0, "sum": 4.0, "skew": 50.0}
    assert aggregated(parts, ["a"], ["max"]) == [{"id": "a", "max": 3.0}]


def test_prometheus_has_flinks_names_and_labels() -> None:
    latency = "latency.source_id.s1.operator_id.o1.operator_subtask_index.0.latency"
    job = JobMetrics(
        "j",
        'a "job"',
        {"numRestarts": 2, latency: HISTOGRAM, "lastCheckpointExternalPath": "n/a"},
        {"v": VertexMetrics("Map", (SUBTASK,))},
    )
    lines = prometheus_text([job], {"numRunningJobs": 1}).splitlines()
    assert "# TYPE flink_taskmanager_job_task_operator_mine_seen gauge" in lines
    assert "# TYPE flink_taskmanager_job_task_operator_times summary" in lines
    samples = [line for line in lines if not line.startswith("#")]

    def sample(start: str) -> str:
        (found,) = [s for s in samples if s.startswith(start)]
        return found

    operator = sample("flink_taskmanager_job_task_operator_numRecordsIn{")
    for label in ('job_name="a \\"job\\""', 'subtask_index="1"', 'operator_name="Keyed Map, x"'):
        assert label in operator
    assert operator.endswith(" 5.0")
    assert sample("flink_jobmanager_job_numRestarts{").endswith(" 2.0")
    assert sample("flink_jobmanager_numRunningJobs{").endswith(" 1.0")
    assert sample("flink_taskmanager_job_task_operator_times_count{").endswith(" 2.0")
    flow = "flink_taskmanager_job_latency_source_id_operator_id_operator_subtask_index_latency"
    quantiles = [s for s in samples if s.startswith(f"{flow}{{")]
    assert len(quantiles) == 6
    assert 'source_id="s1"' in quantiles[0]
    assert not any("lastCheckpointExternalPath" in s for s in samples)
