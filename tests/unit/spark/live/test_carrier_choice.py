"""Whether a job is carried live."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import JobGraph, build_job_graph
from headrace.spark.executor import _master_options
from headrace.spark.live import choice
from headrace.spark.session import local_threads
from tests.faults.counting import NumbersUntil


def spark(version: str = "4.3.0", master: str = "local[4]", room: int = 4, **settings: str) -> Any:
    """What of Spark is looked at."""
    conf = {key.replace("_", "."): value for key, value in settings.items()}
    profiles = SimpleNamespace(defaultResourceProfile=lambda: None)
    java = SimpleNamespace(
        resourceProfileManager=lambda: profiles, maxNumConcurrentTasks=lambda profile: room
    )
    return SimpleNamespace(
        version=version,
        master=master,
        getConf=lambda: conf,
        _jsc=SimpleNamespace(sc=lambda: java),
    )


def job(bounded: bool = False) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(0, 9) if bounded else NumbersUntil(Path("end"))
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
    return build_job_graph(env.get_stream_graph("job", clear=True))


def settings(carrier: str) -> Configuration:
    return Configuration.from_dict({"execution.carrier": carrier})


def test_unbounded_jobs_are_live_unless_asked_otherwise() -> None:
    live = choice.live_settings(Configuration(), job(), spark())
    assert live is not None
    assert not live.demanded
    assert choice.live_settings(Configuration(), job(bounded=True), spark()) is None
    assert choice.live_settings(settings("epochs"), job(), spark()) is None


def test_who_demands_it_gets_it_for_bounded_jobs_too() -> None:
    live = choice.live_settings(settings("live"), job(bounded=True), spark())
    assert live is not None
    assert live.demanded


@pytest.mark.parametrize(
    ("context", "why"),
    [
        (spark(version="4.2.1"), "Spark 4.3 or newer, and this is Spark 4.2.1"),
        (spark(spark_speculation="true"), "spark.speculation=true: set it to false"),
        (
            spark(spark_dynamicAllocation_enabled="true"),
            "spark.dynamicAllocation.enabled=true: set it to false",
        ),
        (spark(room=1), "local[4] has it for 1: start Spark with local[3] or more"),
        (
            spark(master="spark://host:7077"),
            "not started with spark.buffer.size=8: set that when the Spark session is made",
        ),
    ],
    ids=["release", "speculation", "allocation", "room", "cluster"],
)
def test_what_is_missing_is_named(context: Any, why: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigurationError) as raised:
        choice.live_settings(settings("live"), job(), context)
    assert why in str(raised.value)
    with caplog.at_level(logging.INFO):
        assert choice.live_settings(settings("auto"), job(), context) is None
    (told,) = [r.getMessage() for r in caplog.records if "epoch by epoch" in r.getMessage()]
    assert why in told


def test_a_cluster_session_that_we_make_has_the_settings_for_live_jobs() -> None:
    given = {"spark.master": "spark://host:7077"}
    made = choice.session_settings(Configuration.from_dict(given))
    assert choice.live_settings(settings("auto"), job(), _session(made)) is not None
    given["execution.carrier"] = "epochs"
    assert "spark.buffer.size" not in choice.session_settings(Configuration.from_dict(given))


@pytest.mark.parametrize("master", ["local", "local[3]", "local[*]"])
def test_a_local_session_has_room_for_live_jobs_if_they_are_wanted(master: str) -> None:
    made = {
        carrier: choice.session_settings(
            Configuration.from_dict({"spark.master": master, "execution.carrier": carrier})
        )
        for carrier in ("epochs", "auto", "live")
    }
    assert made["epochs"] == {"spark.master": master}
    usual = local_threads(master)
    room = {"spark.master": f"local[{usual + 8}]", "spark.default.parallelism": str(usual)}
    assert made["auto"] == made["live"] == room


def _session(made: dict[str, str]) -> Any:
    context = spark(master=made["spark.master"])
    context.getConf().update(made)
    return context


@pytest.mark.parametrize(
    ("given", "linger_s"),
    [
        ({}, 0.002),
        ({"table.exec.mini-batch.allow-latency": "3 s"}, 0.002),
        (
            {
                "table.exec.mini-batch.enabled": "true",
                "table.exec.mini-batch.allow-latency": "3 s",
            },
            3.0,
        ),
        ({"table.exec.mini-batch.enabled": "true", "execution.live.linger": "5 ms"}, 0.005),
    ],
    ids=["default", "no mini-batch", "mini-batch", "linger"],
)
def test_epochs_are_as_far_apart_as_changes_of_a_mini_batch(
    given: dict[str, str], linger_s: float
) -> None:
    configuration = Configuration.from_dict(given)
    options = _master_options(configuration, prepare(configuration), {})
    assert options.live_linger_s == linger_s
