"""What execute() returns.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(["only"], type_info=Types.STRING()).print()
result = env.execute("named")
lines = str(result).splitlines()
print(lines[0])
print(lines[1].replace(str(result.get_job_id()), "<id>"))
print(lines[2].replace(str(result.get_net_runtime()), "<time>"))
print(result.get_accumulator_result("never added"), result.get_all_accumulator_results())
print(len(str(result.get_job_id())))
