"""An epoch as one Spark job: a stage for each level, a shuffle between them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import EpochRun, PartitionRun
from headrace.coordination.slots.processes import ProcessCarrier
from headrace.coordination.slots.zygote import zygote_for
from headrace.datastream.connectors.fed_split import FedSplit
from headrace.runtime.slot.protocol import SlotLaunch
from headrace.spark.feeds import fed_partitions, payloads_of, spark_failure
from headrace.spark.jvm import java_rdd, spark_of
from headrace.spark.placement import (
    drawn_to,
    is_cluster,
    locations_of,
    wait_for_executors,
    without_lost,
)
from headrace.spark.progress import shown_progress
from headrace.spark.relation_feed import RelationFeed
from headrace.spark.session import is_this_process
from headrace.spark.shipping import ship
from headrace.spark.tasks import LevelTask, partition_number, start_slots


class SparkCarrier(ProcessCarrier):
    """Carries the epochs of one job.

    Args:
        context: Spark.
        paths: Files and directories of the job that slots on other hosts need.
    """

    def __init__(self, context: SparkContext, paths: Iterable[str] = ()) -> None:
        self._context = context
        self._group = f"headrace-{secrets.token_hex(8)}"
        self._shipped = ship(context, paths) if is_cluster(context) else {}
        self._locations: list[str | None] = []

    def control_address(self) -> tuple[str, int] | None:
        if not is_cluster(self._context):
            return None
        return (self._setting("spark.driver.bindAddress") or self._driver_host(), 0)

    def _driver_host(self) -> str:
        return self._setting("spark.driver.host") or "127.0.0.1"

    def _setting(self, key: str) -> str | None:
        return self._context.getConf().get(key)

    def start_slots(self, launches: list[SlotLaunch]) -> dict[int, int]:
        if is_this_process(self._context.master or ""):
            # Driver and executor are one: a Spark job would only find this machine.
            java = getattr(self._context._gateway, "proc", None)
            with zygote_for(launches[0]) as zygote:
                return {
                    launch.slot: zygote.fork(replace(launch, executor_pid=java and java.pid))
                    for launch in launches
                }
        wait_for_executors(self._context, partial(self.tasks_at_once, len(launches)))
        self._name_jobs("start slots")
        count = len(launches)
        places: RDD[Any] = self._context.parallelize(map(self._for_cluster, launches), count)
        if len(self._locations) == count:
            # Where a slot was before, there may be a copy of its state.
            places = drawn_to(places, without_lost(self._context, self._locations))
        started = places.mapPartitions(start_slots).cache()
        self._run(started)
        self._locations = locations_of(started)
        started.unpersist()
        return {}

    def tasks_at_once(self, slots: int, executors: int) -> int:
        """How many tasks the job has at once, at most, with so many executors."""
        return slots

    def _for_cluster(self, launch: SlotLaunch) -> SlotLaunch:
        address = launch.control_address
        if not isinstance(address, str):
            address = (self._driver_host(), address[1])
        return replace(launch, control_address=address, shipped=self._shipped)

    def run_epoch(self, run: EpochRun) -> None:
        self._name_jobs(f"epoch {run.epoch}")
        fed = fed_partitions(run)
        feeds = (split.feed for splits in fed.values() for split in splits)
        if any(isinstance(feed, RelationFeed) for feed in feeds):
            with shown_progress(self._context, self._group):
                self._run_levels(run, fed)
        else:
            self._run_levels(run, fed)

    def _run_levels(self, run: EpochRun, fed: dict[int, list[FedSplit]]) -> None:
        sources = payloads_of(self._context, fed, len(run.levels[0]))
        first = LevelTask(run, 0, frozenset(fed))
        data = self._drawn(sources, run.levels[0]).mapPartitionsWithIndex(first)
        shuffles: list[RDD[Any]] = []
        for level in range(1, len(run.levels)):
            shuffles.append(data.partitionBy(len(run.levels[level]), partition_number))
            drawn = self._drawn(shuffles[-1], run.levels[level])
            data = drawn.mapPartitionsWithIndex(LevelTask(run, level))
        self._run(data)
        self._forget(shuffles)

    def _drawn(self, rdd: RDD[Any], partitions: Sequence[PartitionRun]) -> RDD[Any]:
        """With partitions that go where their slots are."""
        if not self._locations:
            return rdd
        return drawn_to(rdd, [self._locations[p.slot] for p in partitions])

    def _forget(self, shuffles: list[RDD[Any]]) -> None:
        """Delete the files of shuffles, which Spark would keep until the JVM collects garbage.

        One by one: those inside a DataFrame that is read are needed again.
        """
        cleaner = spark_of(self._context).cleaner() if shuffles else None
        if cleaner is None or not cleaner.isDefined():
            return
        for shuffle in shuffles:
            shuffled = java_rdd(shuffle).rdd().dependencies().head().rdd()
            cleaner.get().doCleanupShuffle(shuffled.dependencies().head().shuffleId(), False)

    def cancel(self) -> None:
        # Where the context is gone, nothing runs any more.
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(self._group)

    def _name_jobs(self, description: str) -> None:
        self._context.setJobGroup(self._group, description)

    def _run(self, rdd: RDD[Any]) -> None:
        try:
            rdd.collect()
        except (Py4JError, PySparkException) as error:
            raise HeadraceError(
                f"Spark could not run a part of the job: {spark_failure(error)}"
            ) from None
