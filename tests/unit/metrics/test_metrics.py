from __future__ import annotations

import logging
import pickle

import pytest

from headrace.metrics import Counter, Distribution, Histogram, Meter, MetricGroup


def test_counter() -> None:
    counter = Counter()
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    counter.dec()
    assert counter.get_count() == counter.snapshot() == 3


def test_meter_rate_over_its_span() -> None:
    now = 0.0
    meter = Meter(10, clock=lambda: now)
    assert meter.get_rate() == 0.0
    for _ in range(20):
        now += 1
        meter.mark_event(5)
        meter.get_rate()
    assert meter.get_rate() == pytest.approx(5.0)
    assert meter.get_count() == 100
    for _ in range(20):
        now += 1
        meter.get_rate()
    assert meter.snapshot() == {"count": 100, "rate": 0.0}


def test_meter_remembers_only_its_span() -> None:
    now = 0.0
    meter = Meter(10, clock=lambda: now)
    for _ in range(1000):
        now += 1
        meter.get_rate()
    assert len(meter._samples) <= 12


def test_distribution() -> None:
    distribution = Distribution()
    assert distribution.snapshot() == {
        "count": 0, "sum": 0, "min": None, "max": None, "mean": None,
    }  # fmt: skip
    for value in (4, -2, 7):
        distribution.update(value)
    assert distribution.snapshot() == {"count": 3, "sum": 9, "min": -2, "max": 7, "mean": 3.0}


def test_histogram_of_the_latest_values() -> None:
    histogram = Histogram(window_size=100)
    assert histogram.get_quantile(0.5) is None
    for value in range(201):
        histogram.update(value)
    snapshot = histogram.snapshot()
    assert snapshot["count"] == histogram.get_count() == 201
    assert (snapshot["min"], snapshot["max"], snapshot["mean"]) == (101, 200, 150.5)
    assert snapshot["p50"] == histogram.get_quantile(0.5) == 150.5
    assert snapshot["p99"] == pytest.approx(199.01)


def test_names_and_scopes() -> None:
    root = MetricGroup(("job", "map", "0"), {"<job_name>": "job"})
    root.counter("in").inc()
    group = root.add_group("user").add_group("shop", "oslo")
    group.counter("sold").inc(3)
    group.gauge("stock", lambda: 7)
    assert root.collect() == {
        "job.map.0.in": 1,
        "job.map.0.user.shop.oslo.sold": 3,
        "job.map.0.user.shop.oslo.stock": 7,
    }
    assert group.get_all_variables() == {"<job_name>": "job", "<shop>": "oslo"}
    assert group.get_scope_components() == ("job", "map", "0", "user", "shop", "oslo")
    assert root.get_all_variables() == {"<job_name>": "job"}


def test_the_same_name_is_the_same_metric() -> None:
    group = MetricGroup()
    assert group.counter("a") is group.counter("a")
    assert group.meter("m") is group.meter("m")
    assert group.distribution("d") is group.distribution("d")
    assert group.histogram("h") is group.histogram("h")
    assert group.add_group("g") is group.add_group("g")


def test_a_name_of_another_kind_gives_a_metric_that_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = MetricGroup(("s",))
    group.counter("a").inc(2)
    with caplog.at_level(logging.WARNING):
        group.meter("a").mark_event()
    assert group.collect() == {"s.a": 2}
    assert "s.a is already a Counter" in caplog.text


def test_a_failing_gauge_is_logged_once_and_shows_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = MetricGroup()
    group.gauge("bad", lambda: 1 // 0)
    group.counter("good").inc()
    with caplog.at_level(logging.WARNING):
        assert group.collect() == {"bad": None, "good": 1}
        group.collect()
    assert len(caplog.records) == 1


def test_a_snapshot_can_be_pickled() -> None:
    group = MetricGroup()
    group.gauge("g", lambda: 1)
    group.histogram("h").update(1)
    group.meter("m").mark_event()
    snapshot = group.collect()
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
