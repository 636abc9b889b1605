"""Closes a window by the clock on the wall when event time stands still, as it does at night.

Event time moves only with new records. The last window of the evening would stay open until the
morning, so a trigger of our own also sets a timer in processing time: a window that has heard
nothing for three seconds is closed by it. Takes about ten seconds and prints

    minutes 0 to 10: 3 cars, closed by event time
    minutes 10 to 20: 2 cars, closed because nothing came
    minutes 30 to 40: 2 cars, closed by event time
"""

import time

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    ProcessWindowFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    Trigger,
    TriggerResult,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

PATIENCE_MS = 3_000
NIGHT_S = 6

# Minutes at which a car passes.
EVENING = [1, 4, 9, 12, 15]
MORNING = [31, 35]


class Road(SourceFunction):
    """The cars of the evening, a night without any, and those of the morning."""

    def __init__(self):
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext):
        for minute in EVENING:
            ctx.collect(minute)
        dawn = time.monotonic() + NIGHT_S
        while self.running and time.monotonic() < dawn:
            time.sleep(0.1)
        for minute in MORNING:
            ctx.collect(minute)

    def cancel(self):
        self.running = False


class CarTime(TimestampAssigner):
    """The time at which a car passed."""

    def extract_timestamp(self, value, record_timestamp):
        return value * 60_000


class EventTimeOrPatience(Trigger):
    """Fires at the end of the window in event time, or when no record came for some time.

    The window is emptied when patience ends: cars of the same window that come later still are
    reported on their own.
    """

    def __init__(self, patience_ms: int):
        self.patience_ms = patience_ms
        self.timer = ValueStateDescriptor("patience ends", Types.LONG())

    def on_element(self, element, timestamp, window, ctx: Trigger.TriggerContext):
        ctx.register_event_time_timer(window.max_timestamp())
        self.forget(ctx)
        due = ctx.get_current_processing_time() + self.patience_ms
        ctx.register_processing_time_timer(due)
        ctx.get_partitioned_state(self.timer).update(due)
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx: Trigger.TriggerContext):
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time, window, ctx: Trigger.TriggerContext):
        ctx.get_partitioned_state(self.timer).clear()
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window, ctx: Trigger.OnMergeContext):
        raise NotImplementedError("for windows that do not merge")

    def clear(self, window, ctx: Trigger.TriggerContext):
        ctx.delete_event_time_timer(window.max_timestamp())
        self.forget(ctx)

    def forget(self, ctx: Trigger.TriggerContext):
        """Delete the timer in processing time, if there is one."""
        timer = ctx.get_partitioned_state(self.timer)
        if timer.value() is not None:
            ctx.delete_processing_time_timer(timer.value())
            timer.clear()


class Report(ProcessWindowFunction):
    """Says how many cars passed, and why the window was closed."""

    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        over = context.current_watermark() >= window.max_timestamp()
        why = "by event time" if over else "because nothing came"
        start, end = window.start // 60_000, window.end // 60_000
        yield f"minutes {start} to {end}: {len(list(elements))} cars, closed {why}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(CarTime())
    (
        env.add_source(Road(), "road")
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda minute: "road")
        .window(TumblingEventTimeWindows.of(Time.minutes(10)))
        .trigger(EventTimeOrPatience(PATIENCE_MS))
        .process(Report())
        .print()
    )
    env.execute("night window")


if __name__ == "__main__":
    main()
