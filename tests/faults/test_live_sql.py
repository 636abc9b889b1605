"""Statements give the results of Flink also where their jobs are carried live: a sample of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.coordination.access.program_jobs import next_job
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.storage import Storages
from headrace.spark.executor import _master_options
from tests.faults.live_process_carrier import LiveProcessCarrier
from tests.sql import sessions
from tests.sql.test_golden import cases, check

_EVERY = 45


@pytest.fixture(scope="module")
def carrier() -> Iterator[LiveProcessCarrier]:
    made = LiveProcessCarrier()
    yield made
    made.end()


def run_live(
    carrier: LiveProcessCarrier, env: Any, streams: dict[str, Any]
) -> dict[str, list[Any]]:
    """What each stream gives, from slots that are processes."""
    ids = {name: env.new_collect_id() for name in streams}
    for name, stream in streams.items():
        stream.sink_to(CollectSink(ids[name]))
    collectors, env.collectors = env.collectors, {}
    configuration = Configuration.from_dict({})
    run = next_job(Storages.from_configuration(configuration))
    before = carrier.carriages
    master = JobMaster(
        build_job_graph(env.get_stream_graph("sql", clear=True)),
        carrier,
        _master_options(configuration, prepare(configuration), {}, run),
        collectors=collectors,
    )
    master.start()
    found = {name: list(collectors[collect_id]) for name, collect_id in ids.items()}
    master.result_future().result()
    assert carrier.carriages == before + 1
    return found


@pytest.mark.parametrize(("file", "query", "expected"), cases("streaming")[::_EVERY])
def test_statement(
    file: str,
    query: str,
    expected: dict[str, Any],
    carrier: LiveProcessCarrier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "run_in_process", partial(run_live, carrier))
    check("streaming", file, query, expected)
