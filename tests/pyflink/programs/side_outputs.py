"""Two tags of different types; the main output keeps its order."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, ProcessFunction

TEXT = OutputTag("text", Types.STRING())
PLAIN = OutputTag("plain")


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        if value > 1:
            yield TEXT, f"{value} is large"
        yield PLAIN, (value, [value])


class KeyedSplit(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield TEXT, f"{ctx.get_current_key()}: {value}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([3, 1, 2], type_info=Types.INT())
split = numbers.process(Split(), output_type=Types.INT())
split.print("main")
split.get_side_output(TEXT).print("text")
split.get_side_output(PLAIN).map(lambda pair: pair[1]).print("plain")
numbers.key_by(lambda x: x % 2).process(KeyedSplit()).get_side_output(TEXT).print("keyed")
print(split.get_side_output(TEXT).get_type(), split.get_side_output(PLAIN).get_type())
env.execute()
