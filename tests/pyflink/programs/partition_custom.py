"""A user's partitioner chooses the subtask.

compare: rows with subtasks
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
(
    env.from_collection([("a", 1), ("b", 2), ("c", 3), ("d", 4)])
    .partition_custom(lambda key, n: 0 if key in "ad" else n - 1, lambda pair: pair[0])
    .map(lambda pair: pair[0] + str(pair[1]), output_type=Types.STRING())
    .print()
)
env.execute()
