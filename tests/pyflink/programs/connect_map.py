"""Connected streams: CoMapFunction and CoFlatMapFunction, with their odd returns."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import CoFlatMapFunction, CoMapFunction


class Tag(CoMapFunction):
    def map1(self, value):
        return "left", value

    def map2(self, value):
        return "right", value


class OnlyRight(CoMapFunction):
    def map1(self, value):
        return None

    def map2(self, value):
        return value


class Spread(CoFlatMapFunction):
    def flat_map1(self, value):
        for _ in range(value):
            yield value

    def flat_map2(self, value):
        return [value.upper(), value] if value == "x" else None


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2])
letters = env.from_collection(["x", "y"])
numbers.connect(letters).map(Tag()).print("map")
numbers.connect(letters).map(OnlyRight()).print("dropped")
numbers.connect(letters).flat_map(Spread()).print("flat_map")
env.execute()
