"""What flat_map and filter functions may return."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FilterFunction, FlatMapFunction


class Twice(FlatMapFunction):
    def flat_map(self, value):
        yield value
        yield value


class Odd(FilterFunction):
    def filter(self, value):
        return value % 2


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2, 3])
numbers.flat_map(Twice()).print("generator")
numbers.flat_map(lambda x: [x] * x).print("list")
numbers.flat_map(lambda x: (x, -x)).print("tuple")
numbers.flat_map(lambda x: "ab").print("text")
numbers.flat_map(lambda x: {x: "dropped"}).print("dict")
numbers.flat_map(lambda x: range(x)).print("range")
numbers.filter(Odd()).print("odd")
numbers.filter(lambda x: x - 1).print("truthy")
numbers.filter(lambda x: None).print("none")
numbers.filter(lambda x: "yes").print("string")
numbers.filter(lambda x: []).print("empty")
env.execute()
