"""What process_element and on_timer may return."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, ProcessFunction


class Returns(ProcessFunction):
    def process_element(self, value, ctx):
        return {
            0: None,
            1: [1, 10],
            2: (2, 20),
            3: "ab",
            4: {"key": "dropped"},
            5: (x for x in (5, 50)),
            6: [None],
            7: [],
        }[value]


class KeyedReturns(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)
        return None

    def on_timer(self, timestamp, ctx):
        return (timestamp, ctx.get_current_key())


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(list(range(8))).process(Returns()).map(repr).print("process")
env.from_collection([3]).key_by(lambda x: x * 2).process(KeyedReturns()).print("keyed")
env.execute()
