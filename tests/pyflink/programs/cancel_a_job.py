"""An endless enough job is cancelled by its client.

compare: exactly
"""

import time

from pyflink.common import JobStatus, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = NumberSequenceSource(0, 10**12)
stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "long")
stream.filter(lambda x: False).print()
client = env.execute_async("endless")
deadline = time.time() + 60
while client.get_job_status().result() != JobStatus.RUNNING and time.time() < deadline:
    time.sleep(0.1)
print(client.get_job_status().result())
print(client.cancel().result())
try:
    client.get_job_execution_result().result()
    print("finished")
except Exception as error:
    print("cancelled" in str(error))
