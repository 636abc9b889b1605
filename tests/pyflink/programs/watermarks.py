"""Timestamps and watermarks of a bounded stream, and late-looking data at its end."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessFunction


class FromValue(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


class Previous(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp + 1


class Show(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
events = env.from_collection(
    [(1000, "a"), (5000, "b"), (2000, "c")], Types.TUPLE([Types.LONG(), Types.STRING()])
)
bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
timed = events.assign_timestamps_and_watermarks(bounded.with_timestamp_assigner(FromValue()))
timed.process(Show()).print("bounded")
timed.map(lambda value: value).process(Show()).print("after map")
timed.assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Previous())
).process(Show()).print("again")
events.process(Show()).print("none")
events.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()).process(Show()).print(
    "no watermarks"
)
env.execute()
