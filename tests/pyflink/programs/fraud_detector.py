"""A small payment followed by a large one within a minute: state, timers and a side output."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

PAYMENT = Types.ROW_NAMED(["account", "amount", "at"], [Types.INT(), Types.FLOAT(), Types.LONG()])
AUDIT = OutputTag("audit", Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value["at"]


class Detector(KeyedProcessFunction):
    def __init__(self, small: float, large: float):
        self.small, self.large = small, large

    def open(self, runtime_context: RuntimeContext):
        self.flag = runtime_context.get_state(ValueStateDescriptor("flag", Types.BOOLEAN()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.FLOAT()))
        self.counts = runtime_context.get_map_state(
            MapStateDescriptor("counts", Types.STRING(), Types.INT())
        )

    def process_element(self, payment, ctx: "KeyedProcessFunction.Context"):
        self.counts.put("seen", (self.counts.get("seen") or 0) + 1)
        if self.flag.value():
            if payment.amount > self.large:
                yield Row(ctx.get_current_key(), list(self.last), payment.amount)
            ctx.timer_service().delete_event_time_timer(self.timer.value())
            self._forget()
        if payment.amount < self.small:
            self.flag.update(True)
            self.last.add(payment.amount)
            until = ctx.timestamp() + 60_000
            ctx.timer_service().register_event_time_timer(until)
            self.timer.update(until)
        yield AUDIT, ("payment", payment.account, ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        yield AUDIT, (f"forgot after {self.counts.get('seen')}", ctx.get_current_key(), timestamp)
        self._forget()

    def _forget(self):
        self.flag.clear()
        self.timer.clear()
        self.last.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
payments = env.from_collection(
    [
        Row(1, 0.5, 1_000),
        Row(1, 700.0, 20_000),
        Row(2, 0.25, 21_000),
        Row(1, 0.75, 30_000),
        Row(2, 20.0, 50_000),
        Row(2, 900.0, 60_000),
        Row(1, 999.0, 200_000),
    ],
    type_info=PAYMENT,
)
alerts = (
    payments.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    )
    .key_by(lambda p: p.account, key_type=Types.INT())
    .process(
        Detector(1.0, 500.0), Types.ROW([Types.INT(), Types.LIST(Types.FLOAT()), Types.FLOAT()])
    )
)
alerts.print("alert")
alerts.get_side_output(AUDIT).print("audit")
env.execute("fraud")
