"""Raises an alarm when a channel's water level has risen for five seconds: event-time timers.

A first rise sets a timer for five seconds later, further rises keep it, and a fall deletes it. If
it fires, the level has not fallen all the while. Prints

    north has been rising for five seconds, since second 2
"""

from headrace.common import Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

# Channel, second, level in metres. North rises from second 2 on; south falls in between.
READINGS = [
    ("north", 1, 2.0), ("south", 1, 2.9), ("north", 2, 2.4), ("south", 2, 3.0),
    ("north", 3, 2.5), ("south", 3, 3.1), ("south", 4, 3.3), ("north", 4, 2.6),
    ("north", 5, 2.8), ("south", 5, 3.2), ("north", 6, 3.0), ("south", 6, 3.3),
    ("north", 7, 3.1), ("south", 7, 3.4), ("north", 8, 2.2), ("south", 8, 3.1),
]  # fmt: skip
RISING_MS = 5_000


class ReadingTime(TimestampAssigner):
    """The time at which a level was measured."""

    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class RisingLevel(KeyedProcessFunction):
    """Remembers the last level, and the timer that is set while the level rises."""

    def open(self, runtime_context: RuntimeContext):
        self.level = runtime_context.get_state(ValueStateDescriptor("level", Types.DOUBLE()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        last, timer = self.level.value(), self.timer.value()
        self.level.update(value[2])
        if last is None:
            return
        if value[2] > last and timer is None:
            due = ctx.timestamp() + RISING_MS
            ctx.timer_service().register_event_time_timer(due)
            self.timer.update(due)
        elif value[2] <= last and timer is not None and ctx.timestamp() < timer:
            # A fall after the five seconds comes too late: the alarm is due, just not fired yet.
            ctx.timer_service().delete_event_time_timer(timer)
            self.timer.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext):
        self.timer.clear()
        since = (timestamp - RISING_MS) // 1000
        yield f"{ctx.get_current_key()} has been rising for five seconds, since second {since}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ReadingTime())
    (
        env.from_collection(READINGS)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda reading: reading[0])
        .process(RisingLevel())
        .print()
    )
    env.execute("rising water level")


if __name__ == "__main__":
    main()
