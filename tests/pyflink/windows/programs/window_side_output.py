"""A window function writes to a side output."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


SMALL = OutputTag("small", Types.STRING())
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


class Split(ProcessWindowFunction):
    def process(self, key, context, elements):
        for record in elements:
            if record[2] < 3:
                yield SMALL, f"{key}{record[2]}"
            else:
                yield key, record

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
main = (
    stream.key_by(lambda r: r[0], key_type=Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    .side_output_late_data(LATE)
    .process(Split())
)
result = main.union(
    main.get_side_output(SMALL).map(lambda text: ("side", text)),
    main.get_side_output(LATE).map(lambda r: ("late", r)),
)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
