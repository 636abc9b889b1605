"""The endpoint that a job without a JobManager has for Prometheus."""

from __future__ import annotations

import urllib.error
import urllib.request
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.coordination.bodies.metrics import JobMetrics
from headrace.coordination.views import metric_reporters
from headrace.coordination.views.metric_reporters import start_reporters

TREE = JobMetrics("j", "job", {"numRestarts": 1})


class Master:
    """As much of a job master as the reporters need."""

    def __init__(self) -> None:
        self.done: Future[None] = Future()

    def result_future(self) -> Future[None]:
        return self.done


def start(settings: dict[str, str], master: Any) -> list[Any]:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return list(start_reporters(configuration, master))


def test_metrics_are_served_until_the_job_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_reporters, "metrics_of", lambda master: TREE)
    master = Master()
    settings = {"metrics.reporters": "prom", "metrics.reporter.prom.port": "0"}
    (endpoint,) = start(settings, master)
    url = f"http://127.0.0.1:{endpoint.port}"
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        assert 'flink_jobmanager_job_numRestarts{host="' in answer.read().decode()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}/other", timeout=60)
    master.done.set_result(None)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/metrics", timeout=60)


def test_what_cannot_be_started_does_not_stop_the_job(caplog: pytest.LogCaptureFixture) -> None:
    first = Master()
    (taken,) = start({"metrics.reporters": "prom", "metrics.reporter.prom.port": "0"}, first)
    settings = {
        "metrics.reporters": "prom;jmx",
        "metrics.reporter.prom.port": str(taken.port),
        "metrics.reporter.jmx.factory.class": "org.example.JMXReporterFactory",
    }
    assert start(settings, Master()) == []
    assert "prom cannot be started" in caplog.text
    assert "jmx (org.example.JMXReporterFactory) is not supported" in caplog.text
    first.done.set_result(None)
