"""Orders with late records: event-time windows, allowed lateness, a side output, two sinks."""

from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


def order_type():
    return Types.ROW_NAMED(
        ["customer", "amount", "at"], [Types.STRING(), Types.DOUBLE(), Types.LONG()]
    )


class OrderTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp: int) -> int:
        return value.at


class Total(AggregateFunction):
    def create_accumulator(self):
        return [0.0, 0]

    def add(self, value, accumulator):
        accumulator[0] += value.amount
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator):
        return round(accumulator[0] / accumulator[1], 2), accumulator[1]

    def merge(self, a, b):
        return [a[0] + b[0], a[1] + b[1]]


class Report(ProcessWindowFunction):
    def process(self, key, context, elements):
        mean, count = next(iter(elements))
        window = context.window()
        yield Row(key, window.start, window.end, mean, count)

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
late = OutputTag("late-orders", order_type())
orders = env.from_collection(
    [
        Row("ada", 10.0, 1_000),
        Row("bob", 20.5, 2_000),
        Row("ada", 30.25, 4_000),
        Row("ada", 7.5, 61_000),
        Row("bob", 1.5, 59_999),
        Row("bob", 4.0, 60_000),
        Row("eve", 100.0, 125_000),
    ],
    type_info=order_type(),
)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(5)
).with_timestamp_assigner(OrderTime())
totals = (
    orders.assign_timestamps_and_watermarks(strategy)
    .key_by(lambda order: order.customer, key_type=Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    .allowed_lateness(1000)
    .side_output_late_data(late)
    .aggregate(
        Total(),
        Report(),
        output_type=Types.ROW(
            [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.INT()]
        ),
    )
)
totals.print("totals")
totals.get_side_output(late).map(lambda row: row.customer, Types.STRING()).print("late")
env.execute("orders")
