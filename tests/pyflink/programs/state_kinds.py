"""All five kinds of keyed state, empty, filled, and cleared.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Kinds(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("v", Types.INT()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("l", Types.INT()))
        self.map = runtime_context.get_map_state(
            MapStateDescriptor("m", Types.STRING(), Types.INT())
        )
        self.reducing = runtime_context.get_reducing_state(
            ReducingStateDescriptor("r", lambda a, b: a + b, Types.INT())
        )
        self.aggregating = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("a", Average(), Types.TUPLE([Types.INT(), Types.INT()]))
        )

    def process_element(self, value, ctx):
        yield value, "start", *self.all()
        self.value.update(value)
        self.list.add(value)
        self.list.add_all([value + 1, value + 2])
        self.map.put("k", value)
        self.map.put("other", 0)
        self.reducing.add(value)
        self.reducing.add(1)
        self.aggregating.add(value)
        yield value, "filled", *self.all()
        yield value, "map", self.map.get("k"), self.map.get("no"), self.map.contains("k")
        yield value, "map", sorted(self.map.keys()), sorted(self.map.values()), sorted(self.map)
        self.map.remove("other")
        yield value, "map", sorted(self.map.items()), self.map.is_empty()
        self.list.update([9])
        yield value, "list", list(self.list.get())
        if value == 2:
            for state in (self.value, self.list, self.map, self.reducing, self.aggregating):
                state.clear()
            yield value, "cleared", *self.all()

    def all(self):
        return (
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.items()),
            self.map.is_empty(),
            self.reducing.get(),
            "none" if self.value.value() is None else self.aggregating.get(),
        )


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
(
    env.from_collection([1, 1, 2, 2], type_info=Types.INT())
    .key_by(lambda value: value)
    .process(Kinds())
    .print()
)
env.execute()
