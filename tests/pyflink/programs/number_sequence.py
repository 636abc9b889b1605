"""A sequence source, split over two subtasks."""

from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
stream = env.from_source(
    NumberSequenceSource(-3, 6), WatermarkStrategy.no_watermarks(), "a sequence"
)
print(stream.get_type(), stream.get_name())
stream.print()
stream.map(lambda x: x * x).filter(lambda x: x > 9).print("squares")
env.execute()
