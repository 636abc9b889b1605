"""State in rich map, filter and flat_map functions on a keyed stream, at parallelism 2."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FilterFunction, FlatMapFunction, MapFunction
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Count(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value, count


class FirstOnly(FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value):
        if self.seen.value():
            return False
        self.seen.update(True)
        return True


class New(FlatMapFunction):
    def open(self, runtime_context):
        self.words = runtime_context.get_map_state(
            MapStateDescriptor("words", Types.STRING(), Types.INT())
        )

    def flat_map(self, value):
        for word in value.split():
            if not self.words.contains(word):
                self.words.put(word, 1)
                yield word


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
texts = env.from_collection(["a b", "a", "b a", "c", "c d c"])
keyed = texts.key_by(lambda text: text[0])
keyed.map(Count()).map(lambda pair: pair[1]).print("map")
keyed.filter(FirstOnly()).map(lambda text: text[0]).print("filter")
keyed.flat_map(New()).print("flat_map")
env.execute()
