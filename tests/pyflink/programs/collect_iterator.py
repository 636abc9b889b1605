"""execute_and_collect as an iterator, as a context manager, and with a limit.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
plus = numbers.map(lambda x: x + 1, output_type=Types.INT())

results = plus.execute_and_collect("first")
print(next(results))
print(results.next())
results.close()

with plus.execute_and_collect() as results:
    print([x * 2 for x in results])
    try:
        next(results)
    except StopIteration:
        print("at the end")

print(plus.execute_and_collect(limit=2))
rows = env.from_collection(
    [(1, "a")], type_info=Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()])
)
print(rows.execute_and_collect(limit=5))
print(rows.map(lambda row: (row.n, row.s)).execute_and_collect(limit=5))
