"""The counting program as a job in this process: real slots, but no Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.coordination.access.program_jobs import next_job
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.storage import Storages
from headrace.spark.executor import _master_options
from tests.faults.counting import PARALLELISM, Row, assert_exactly_once, counts
from tests.faults.process_carrier import ProcessCarrier
from tests.faults.row_files import RowFiles, committed_rows

WAIT_S = 120.0

SETTINGS = {
    "execution.checkpointing.interval": "100 ms",
    "execution.epoch.target": "50 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


class CountingJob:
    """The job, in this process, with slots of its own."""

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str] | None = None,
        change: Callable[[DataStream[Row]], DataStream[Row]] = lambda stream: stream,
        keep_end: bool = False,
        carrier: Callable[[], ProcessCarrier] = ProcessCarrier,
    ) -> None:
        directory.mkdir(exist_ok=True)
        self.checkpoints = directory / "checkpoints"
        self.files = directory / "rows"
        self._end = directory / "end"
        self.paused = directory / "paused"
        if not keep_end:
            self._end.unlink(missing_ok=True)
        configuration = Configuration.from_dict(
            SETTINGS | {"execution.checkpointing.dir": str(self.checkpoints)} | (settings or {})
        )
        environment = StreamExecutionEnvironment.get_execution_environment(configuration)
        environment.set_parallelism(PARALLELISM)
        collect_id = environment.new_collect_id()
        rows = change(counts(environment, self._end))
        rows.sink_to(CollectSink(collect_id))
        rows.sink_to(RowFiles(self.files))
        collectors, environment.collectors = environment.collectors, {}
        self.carrier = carrier()
        dependencies = prepare(configuration)
        storages = Storages.from_configuration(configuration)
        self.master = JobMaster(
            build_job_graph(environment.get_stream_graph("counting", clear=True)),
            self.carrier,
            _master_options(configuration, dependencies, {}, next_job(storages)),
            collectors=collectors,
        )
        self.rows: list[Row] = []
        self._reader = threading.Thread(target=self._read, args=(collectors[collect_id],))
        self._reader.daemon = True
        self._reader.start()
        self.master.start()

    def _read(self, collector: Any) -> None:
        try:
            for row in collector:
                self.rows.append(row)
        except Exception:
            pass  # the test asks the master for the error

    def __enter__(self) -> CountingJob:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.master.status().is_terminal_state():
            self.master.cancel().result(WAIT_S)
        self.carrier.end()

    def wait_for(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until something is so; the job must not end before."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            if self.master.status().is_terminal_state():
                self.master.result_future().result()
                break
            time.sleep(0.02)
        raise AssertionError(f"{what}: did not come; {self.master.history.failures}")

    def wait_for_rows(self, more: int = 1) -> None:
        """Wait until so many further rows are committed."""
        wanted = len(self.rows) + more
        self.wait_for(lambda: len(self.rows) >= wanted, f"{more} rows")

    def wait_for_restarts(self, restarts: int) -> None:
        self.wait_for(
            lambda: self.master.restarts >= restarts and self.master.status().name == "RUNNING",
            f"{restarts} restarts",
        )

    def wait_for_checkpoints(self, number: int) -> None:
        """Wait until so many checkpoints are in the store."""
        store = self.master.checkpoints.store
        self.wait_for(lambda: len(store.completed) >= number, f"{number} checkpoints")

    def slots(self) -> list[int]:
        """Process ids of the slots that run now."""
        attempt = self.master.attempt
        return attempt.slot_pids if attempt is not None else []

    def finish(self) -> list[Row]:
        """Let the job come to its end, and check what it committed."""
        self._end.touch()
        self.master.result_future().result(WAIT_S)
        self._reader.join(WAIT_S)
        assert_exactly_once(self.rows)
        return self.rows

    def finish_with_files(self) -> None:
        """The same, where no commit is repeated because the job went back beyond it."""
        collected = self.finish()
        assert sorted(committed_rows(self.files)) == sorted(collected)
