from headrace.common import Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, word, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{word} {self.count.value()}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection("to be or not to be".split()).key_by(lambda w: w).process(Count()).print()
env.execute("count words")
