"""reduce() with a lambda and with a ReduceFunction."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ReduceFunction


class Join(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], value1[1] + "+" + value2[1]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pairs = env.from_collection(
    [(1, "a"), (2, "b"), (1, "c"), (1, "d")],
    type_info=Types.TUPLE([Types.INT(), Types.STRING()]),
)
pairs.key_by(lambda pair: pair[0]).reduce(Join()).print("class")
pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], b[1] + a[1])).print("lambda")
env.execute()
