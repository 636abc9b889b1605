"""Counts visitors in windows of ten seconds, and reports every two seconds what came so far.

`ContinuousEventTimeTrigger` fires a window again and again while it is open; state of the window
remembers what was reported, so that only news are. Event time follows the records: the report of
second 2 comes with the first visitor after it. Prints

    north, seconds 0 to 10: 3 visitors so far
    north, seconds 0 to 10: 4 visitors so far
    north, seconds 0 to 10: 6 visitors so far
    north, seconds 0 to 10: 6 visitors in all
    north, seconds 10 to 20: 3 visitors so far
    north, seconds 10 to 20: 3 visitors in all
"""

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator
from headrace.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import ContinuousEventTimeTrigger, TumblingEventTimeWindows

# Gate and second of each visitor, in order.
VISITORS = [
    ("north", 1), ("north", 2), ("north", 3), ("north", 5), ("north", 5), ("north", 9),
    ("north", 11), ("north", 12), ("north", 13),
]  # fmt: skip


class VisitTime(TimestampAssigner):
    """The time at which a visitor came."""

    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class EveryVisitor(WatermarkGenerator):
    """Visitors are counted in order, so each one moves event time on at once."""

    def on_event(self, event, event_timestamp, output):
        output.emit_watermark(event_timestamp - 1)

    def on_periodic_emit(self, output):
        pass


class Report(ProcessWindowFunction):
    """Counts the visitors of a window each time it fires."""

    REPORTED = ValueStateDescriptor("reported", Types.STRING())

    def process(self, key, context: ProcessWindowFunction.Context, elements):
        window = context.window()
        over = context.current_watermark() >= window.max_timestamp()
        news = f"{len(list(elements))} visitors {'in all' if over else 'so far'}"
        reported = context.window_state().get_state(self.REPORTED)
        if news != reported.value():
            reported.update(news)
            yield f"{key}, seconds {window.start // 1000} to {window.end // 1000}: {news}"

    def clear(self, context: ProcessWindowFunction.Context):
        context.window_state().get_state(self.REPORTED).clear()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_generator(EveryVisitor).with_timestamp_assigner(VisitTime())
    (
        env.from_collection(VISITORS)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda visitor: visitor[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(ContinuousEventTimeTrigger.of(Time.seconds(2)))
        .process(Report())
        .print()
    )
    env.execute("early window results")


if __name__ == "__main__":
    main()
