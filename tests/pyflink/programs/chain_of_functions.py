"""Lambdas chained one after another.

compare: exactly
"""

from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
(
    env.from_collection([1, 2, 3, 4, 5, 6])
    .map(lambda x: x * 10)
    .filter(lambda x: x % 20)
    .flat_map(lambda x: [x, -x])
    .print()
)
env.execute("chain")
