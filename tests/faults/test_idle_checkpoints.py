"""Checkpoints of a job whose input pauses: one that ends while the job sleeps is not the last."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
    SourceFunction,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.spark.executor import _master_options
from tests.faults.counting_job import WAIT_S
from tests.faults.live_process_carrier import EITHER_CARRIER


class OneRecord(SourceFunction[int]):
    def __init__(self) -> None:
        self.ended = False

    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        while not self.ended:
            time.sleep(0.05)

    def cancel(self) -> None:
        self.ended = True


class Laborious:
    """Takes long to be written, so that the job sleeps when its checkpoint is complete."""

    def __reduce__(self) -> Any:
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        return Laborious, ()


class Keeping(MapFunction[int, int], CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.kept = store.get_list_state(ListStateDescriptor("kept"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: int) -> int:
        self.kept.add(Laborious())
        return value


@EITHER_CARRIER
def test_checkpoints_go_on_while_nothing_comes(tmp_path: Path, carrier: Any) -> None:
    configuration = Configuration.from_dict(
        {
            "execution.checkpointing.interval": "50 ms",
            "execution.checkpointing.dir": str(tmp_path),
        }
    )
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(1)
    environment.add_source(OneRecord()).map(Keeping())
    graph = environment.get_stream_graph("idle", clear=True)
    carries = carrier()
    options = _master_options(configuration, prepare(configuration), {})
    reached = threading.Event()
    master = JobMaster(build_job_graph(graph), carries, options)
    told = master.checkpoints.on_snapshot

    def watch(*arguments: Any) -> Any:
        try:
            return told(*arguments)
        finally:
            if master.checkpoints.totals["COMPLETED"] >= 6:
                reached.set()

    master.checkpoints.on_snapshot = watch  # type: ignore[method-assign]
    master.start()
    try:
        assert reached.wait(WAIT_S), master.checkpoints.totals
    finally:
        master.cancel().result(WAIT_S)
        carries.end()
