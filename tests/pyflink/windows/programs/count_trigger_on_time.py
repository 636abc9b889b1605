"""A count trigger on time windows: what is left at the end of a window is not reported."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(r[2] for r in elements)

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [(k, t, t) for t in range(1, 12) for k in ("a", "b") if k == "a" or t % 2]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = (
    stream.key_by(lambda r: r[0], key_type=Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    .trigger(CountTrigger.of(2))
    .process(Show())
)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
