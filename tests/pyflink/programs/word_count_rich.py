"""A rich function from open() to close(): one object for each subtask keeps its fields."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FlatMapFunction, MapFunction


class Number(MapFunction):
    def __init__(self, start):
        self.start = start
        self.count = None

    def open(self, runtime_context):
        self.count = self.start

    def map(self, value):
        self.count += 1
        return self.count, value


class Words(FlatMapFunction):
    def flat_map(self, value):
        return value.lower().split()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
words = env.from_collection(["To be or", "not to be"]).flat_map(Words(), Types.STRING())
words.map(Number(100)).print("numbered")
(
    words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    .key_by(lambda pair: pair[0])
    .sum(1)
    .print("counted")
)
env.execute()
