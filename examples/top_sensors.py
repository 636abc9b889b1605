"""Ranks the three sensors with the most readings in the last ten seconds, anew every five seconds.

The first step counts the readings of each sensor in a sliding window; each count goes on with the
end of its window. The second step gathers the counts of one window end, and a timer ranks them when
event time has passed it: then every count of that window is there. Prints

    second 5: b 3, a 2, c 1
    second 10: a 6, b 5, c 2
    second 15: a 4, d 3, b 2
    second 20: d 3
"""

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.datastream.window import SlidingEventTimeWindows

TOP = 3

# Sensor and second of each reading.
READINGS = [
    ("b", 0), ("a", 1), ("b", 1), ("c", 2), ("b", 3), ("a", 4),
    ("a", 5), ("a", 6), ("b", 6), ("c", 7), ("a", 8), ("b", 9), ("a", 9),
    ("d", 11), ("d", 12), ("d", 13),
]  # fmt: skip


class ReadingTime(TimestampAssigner):
    """The time of a reading."""

    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Count(AggregateFunction):
    """How many readings."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithWindowEnd(ProcessWindowFunction):
    """Puts the end of the window to a count."""

    def process(self, key, context: ProcessWindowFunction.Context, elements):
        for count in elements:
            yield context.window().end, key, count


class Rank(KeyedProcessFunction):
    """Gathers the counts of a window end, and ranks them when all are there."""

    def open(self, runtime_context):
        self.counts = runtime_context.get_list_state(
            ListStateDescriptor("counts", Types.TUPLE([Types.STRING(), Types.INT()]))
        )

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        end, sensor, count = value
        self.counts.add((sensor, count))
        # The watermark that fires a window goes on behind its results: one more millisecond.
        ctx.timer_service().register_event_time_timer(end + 1)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        ranked = sorted(self.counts.get(), key=lambda entry: (-entry[1], entry[0]))
        self.counts.clear()
        top = ", ".join(f"{sensor} {count}" for sensor, count in ranked[:TOP])
        yield f"second {ctx.get_current_key() // 1000}: {top}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ReadingTime())
    (
        env.from_collection(READINGS)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda reading: reading[0])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
        .aggregate(Count(), window_function=WithWindowEnd())
        .key_by(lambda count: count[0])
        .process(Rank())
        .print()
        .set_parallelism(1)
    )
    env.execute("top sensors")


if __name__ == "__main__":
    main()
