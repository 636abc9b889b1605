"""Carries the frames of a job by one long Spark job, and what that cannot, epoch by epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.coordination.slots.live import (
    Carriage,
    LiveCarrier,
    LiveSettings,
    LiveSlots,
    NotLiveError,
)
from headrace.spark.carrier import SparkCarrier
from headrace.spark.feeds import spark_failure
from headrace.spark.live.job import live_job
from headrace.spark.session import is_this_process

FRAME_BY_FRAME = {
    # Spark's workers are sent what fills this many bytes: fewer than the smallest frame has.
    "spark.buffer.size": "8",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
}
"""Settings that let every frame pass at once."""
TASKS = 2
"""At each place one that takes the output of slots, and one that brings their input."""


class LiveSparkCarrier(SparkCarrier, LiveCarrier):
    """Carries a job live.

    Args:
        context: Spark.
        live: How.
        paths: Files and directories of the job that slots on other hosts need.
    """

    def __init__(
        self, context: SparkContext, live: LiveSettings, paths: Iterable[str] = ()
    ) -> None:
        SparkCarrier.__init__(self, context, paths)
        LiveCarrier.__init__(self, live)
        self._live_group = f"{self._group}-live"
        self._before: dict[str, str | None] = {}

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LiveSlots:
        return LiveCarrier.slots(self, wanted, listener)

    def tasks_at_once(self, slots: int) -> int:
        return TASKS * slots

    def hosts(self, slots: int) -> tuple[int, ...]:
        places = self._places(slots)
        known = {place: number for number, place in enumerate(dict.fromkeys(places))}
        return tuple(known[place] for place in places)

    def _places(self, slots: int) -> list[str | None]:
        return self._locations or [None] * slots

    def carry(self, carriage: Carriage) -> None:
        self._require_room(TASKS * (max(carriage.hosts) + 1))
        self._context.setJobGroup(self._live_group, "live")
        locations = list(dict.fromkeys(self._locations))
        self._pass_frame_by_frame()
        try:
            live_job(self._context, carriage, locations).collect()
        except (Py4JError, PySparkException) as error:
            raise NotLiveError(spark_failure(error)) from None
        finally:
            self.connected()

    def _require_room(self, tasks: int) -> None:
        """Whoever does not demand it leaves a place: what must finish would wait for a live job.

        That all tasks find places, Spark looks after itself.
        """
        room = task_room(self._context) - _active_tasks(self._context)
        if not self.live.demanded and room <= tasks:
            raise NotLiveError(
                f"Spark has room for {room} tasks now, and {tasks} would leave none for others"
            )

    def _pass_frame_by_frame(self) -> None:
        """Where the executor is the driver, set what tasks look up when they start."""
        if is_this_process(self._context.master or ""):
            conf = self._executor_conf()
            for key, value in FRAME_BY_FRAME.items():
                self._before[key] = conf.get(key) if conf.contains(key) else None
                conf.set(key, value)

    def connected(self) -> None:
        """Set it back: others do better with buffers."""
        conf = self._executor_conf()
        while self._before:
            key, value = self._before.popitem()
            if value is None:
                conf.remove(key)
            else:
                conf.set(key, value)

    def _executor_conf(self) -> Any:
        return self._context._jsc.sc().conf()

    def cancel_carriage(self) -> None:
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(self._live_group)


def task_room(context: SparkContext) -> int:
    """How many tasks run at once."""
    spark = context._jsc.sc()
    profile = spark.resourceProfileManager().defaultResourceProfile()
    return int(spark.maxNumConcurrentTasks(profile))


def _active_tasks(context: SparkContext) -> int:
    executors = context._jsc.sc().statusStore().executorList(True)
    return sum(executors.apply(i).activeTasks() for i in range(executors.size()))
