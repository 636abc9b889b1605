"""Two keyed inputs share the state of a key; timers fire at the end."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import CoMapFunction, KeyedCoProcessFunction
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Meet(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names", Types.STRING()))

    def process_element1(self, value, ctx):
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(100)
        yield "number", ctx.get_current_key()

    def process_element2(self, value, ctx):
        self.names.add(value[1])
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.get_current_key(), self.sum.value(), sorted(self.names.get())


class Count(CoMapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map1(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()

    def map2(self, value):
        return None


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
names = env.from_collection([("a", "ada"), ("c", "cy")])
by_first = numbers.connect(names).key_by(lambda n: n[0], lambda n: n[0], key_type=Types.STRING())
by_first.process(Meet()).print("process")
by_first.map(Count()).print("map")
numbers.key_by(lambda n: n[0]).connect(names.key_by(lambda n: n[0])).process(Meet()).print("keyed")
env.execute()
