"""A ten-record headrace job with one keyed exchange."""

from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(list(range(10))).key_by(lambda x: x % 2).reduce(lambda a, b: a + b).print()
env.execute("start")
