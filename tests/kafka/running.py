"""A job without end, in this process, that a test runs for a while and looks at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.batch import MIN_TIMESTAMP
from headrace.testing.in_process import _collected
from headrace.testing.runner import MiniRunner

LIMIT_S = 120.0


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Running:
    """The program of an environment, epoch after epoch, in real time."""

    def __init__(
        self, env: StreamExecutionEnvironment, stream: DataStream[Any] | None = None
    ) -> None:
        self._collect_id = _collected(env, stream) if stream is not None else ""
        graph = env.get_stream_graph(clear=True)
        self._runner = MiniRunner(build_job_graph(graph), clock=now_ms)

    def __enter__(self) -> Running:
        self._runner.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close(quietly=True)

    def run(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._epoch()

    def run_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, f"only {self.rows} came"
            self._epoch()

    def restore(self) -> None:
        """Fail, and go on from the state of this moment."""
        self._runner.snapshot_and_restore()

    def _epoch(self) -> None:
        self._runner.run_epoch()

    @property
    def rows(self) -> list[Any]:
        """What has come out so far."""
        return list(self._runner.services.collected.get(self._collect_id, []))

    @property
    def watermark(self) -> int:
        """That of the source; the lowest before the first epoch."""
        reports = [r for r in self._runner.reports.values() if r.source]
        return reports[0].operators[0].watermark if reports else MIN_TIMESTAMP
