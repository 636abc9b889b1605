"""execute_async and the job client.

compare: exactly
"""

from pyflink.common import JobStatus, Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([1, 2], type_info=Types.INT()).map(lambda x: x + 1).print()
client = env.execute_async("in the background")
print(len(str(client.get_job_id())))
result = client.get_job_execution_result().result()
print(type(result).__name__, result.get_net_runtime() > 0)
print(str(result.get_job_id()) == str(client.get_job_id()))
print(result.get_all_accumulator_results())
print(isinstance(JobStatus.FINISHED.is_globally_terminal_state(), bool))

env.from_collection([0], type_info=Types.INT()).map(lambda x: 1 // x).print()
try:
    env.execute_async("fails").get_job_execution_result().result()
except Exception as error:
    print("ZeroDivisionError: integer division or modulo by zero" in str(error))
