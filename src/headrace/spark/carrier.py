"""An epoch as one Spark job: a stage for each level, a shuffle between them."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import EpochRun
from headrace.coordination.slot_zygote import slot_zygote
from headrace.runtime.slot_protocol import SlotLaunch
from headrace.spark.feeds import fed_partitions, payloads_of, spark_failure
from headrace.spark.session import is_this_process
from headrace.spark.tasks import LevelTask, partition_number, start_slots


class SparkCarrier:
    """Carries the epochs of one job."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._group = f"headrace-{secrets.token_hex(8)}"

    def control_address(self) -> str | tuple[str, int] | None:
        if (self._context.master or "").startswith("local"):
            return None
        host = self._context.getConf().get("spark.driver.host", "127.0.0.1")
        return (host or "127.0.0.1", 0)

    def start_slots(self, launches: list[SlotLaunch]) -> None:
        if is_this_process(self._context.master or ""):
            # Driver and executor are one: a Spark job would only find this machine.
            java = getattr(self._context._gateway, "proc", None)
            for launch in launches:
                slot_zygote().fork(replace(launch, executor_pid=java and java.pid))
            return
        self._name_jobs("start slots")
        started = self._context.parallelize(launches, len(launches)).mapPartitions(start_slots)
        self._run(started)

    def run_epoch(self, run: EpochRun) -> None:
        self._name_jobs(f"epoch {run.epoch}")
        fed = fed_partitions(run)
        sources = payloads_of(self._context, fed, len(run.levels[0]))
        first = LevelTask(run, 0, frozenset(fed))
        data: RDD[tuple[int, bytes]] = sources.mapPartitionsWithIndex(first)
        shuffles: list[RDD[Any]] = []
        for level in range(1, len(run.levels)):
            shuffles.append(data.partitionBy(len(run.levels[level]), partition_number))
            data = shuffles[-1].mapPartitionsWithIndex(LevelTask(run, level))
        self._run(data)
        self._forget(shuffles)

    def _forget(self, shuffles: list[RDD[Any]]) -> None:
        """Delete the files of shuffles, which Spark would keep until the JVM collects garbage.

        One by one: those inside a DataFrame that is read are needed again.
        """
        cleaner = self._context._jsc.sc().cleaner() if shuffles else None
        if cleaner is None or not cleaner.isDefined():
            return
        for shuffle in shuffles:
            shuffled = shuffle._jrdd.rdd().dependencies().head().rdd()
            cleaner.get().doCleanupShuffle(shuffled.dependencies().head().shuffleId(), False)

    def cancel(self) -> None:
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(self._group)

    def _name_jobs(self, description: str) -> None:
        self._context.setJobGroup(self._group, description)

    def _run(self, rdd: RDD[Any]) -> None:
        try:
            rdd.collect()
        except Py4JError as error:
            raise HeadraceError(
                f"Spark could not run a part of the job: {spark_failure(error)}"
            ) from None
