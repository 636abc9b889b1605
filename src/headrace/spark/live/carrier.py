"""Carries the frames of a job by one long Spark job, and what that cannot, epoch by epoch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.coordination.slots.live import LiveCarrier, LiveSettings, LiveSlots, NotLiveError
from headrace.runtime.slot.protocol import Carriage
from headrace.spark.carrier import SparkCarrier
from headrace.spark.feeds import spark_failure
from headrace.spark.jvm import executors, spark_of
from headrace.spark.live.frame_by_frame import FrameByFrame
from headrace.spark.live.job import live_job
from headrace.spark.session import is_this_process

TASKS = 2
"""At each place one that takes the output of slots, and one that brings their input."""

_ROOM_S = 10.0
_LOOK_S = 0.1


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
        self._frame_by_frame = FrameByFrame(context)

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LiveSlots:
        return LiveCarrier.slots(self, wanted, listener)

    def tasks_at_once(self, slots: int, executors: int) -> int:
        return max(slots, TASKS * min(slots, executors))

    def hosts(self, slots: int) -> tuple[int, ...]:
        places = self._places(slots)
        known = {place: number for number, place in enumerate(dict.fromkeys(places))}
        return tuple(known[place] for place in places)

    def _places(self, slots: int) -> list[str | None]:
        return self._locations or [None] * slots

    def make_way(self, carriage: Carriage, wanted: Callable[[], bool]) -> None:
        if not is_this_process(self._context.master or ""):
            return
        if not self._frame_by_frame.begin(carriage, wanted):
            raise NotLiveError("other live jobs of this Spark take too long to start")

    def carry(self, carriage: Carriage) -> None:
        locations = list(dict.fromkeys(self._locations))
        try:
            self._require_room(TASKS * (max(carriage.hosts) + 1))
            self._context.setJobGroup(self._live_group, "live")
            live_job(self._context, carriage, locations).collect()
        except (Py4JError, PySparkException) as error:
            raise NotLiveError(spark_failure(error)) from None
        finally:
            self.connected(carriage)

    def _require_room(self, tasks: int) -> None:
        """Whoever does not demand it leaves a place: what must finish would wait for a live job.

        Whoever does waits a moment for what runs just now, without having a place meanwhile.
        """
        room = self._room()
        if not self.live.demanded:
            if room <= tasks:
                raise NotLiveError(
                    f"Spark has room for {room} tasks now, and {tasks} would leave none for "
                    "others: start it with more cores, or on one machine with more threads"
                )
            return
        deadline = time.monotonic() + _ROOM_S
        while room < tasks:
            if task_room(self._context) < tasks or time.monotonic() > deadline:
                raise NotLiveError(f"Spark has room for {room} tasks now, and {tasks} are needed")
            time.sleep(_LOOK_S)
            room = self._room()

    def _room(self) -> int:
        return task_room(self._context) - _active_tasks(self._context)

    def connected(self, carriage: Carriage) -> None:
        self._frame_by_frame.end(carriage)

    def cancel_carriage(self) -> None:
        # Where the context is gone, nothing runs any more.
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(self._live_group)


def task_room(context: SparkContext) -> int:
    """How many tasks run at once."""
    spark = spark_of(context)
    profile = spark.resourceProfileManager().defaultResourceProfile()
    return int(spark.maxNumConcurrentTasks(profile))


def _active_tasks(context: SparkContext) -> int:
    return sum(e.activeTasks() for e in executors(context))
