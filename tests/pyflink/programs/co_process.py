"""CoProcessFunction on streams without keys; it may have side outputs too."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import CoProcessFunction

ODD = OutputTag("odd", Types.INT())


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        if value % 2:
            yield ODD, value
        else:
            yield str(value)

    def process_element2(self, value, ctx):
        return [value, value]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
letters = env.from_collection(["x"], type_info=Types.STRING())
both = numbers.connect(letters).process(Both(), output_type=Types.STRING())
both.print("main")
both.get_side_output(ODD).print("odd")
env.execute()
