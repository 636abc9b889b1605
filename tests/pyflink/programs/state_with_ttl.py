"""The average of every two values of a key, in state with every setting of a time to live.

compare: exactly
"""

from pyflink.common import Time, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FlatMapFunction
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor

UpdateType = StateTtlConfig.UpdateType
Visibility = StateTtlConfig.StateVisibility

SETTINGS = [
    lambda builder: builder.set_update_type(UpdateType.OnCreateAndWrite),
    lambda builder: builder.set_update_type(UpdateType.OnReadAndWrite),
    lambda builder: builder.set_state_visibility(Visibility.NeverReturnExpired),
    lambda builder: builder.set_state_visibility(Visibility.ReturnExpiredIfNotCleanedUp),
    lambda builder: builder.cleanup_full_snapshot(),
    lambda builder: builder.cleanup_incrementally(10, True),
    lambda builder: builder.cleanup_in_rocksdb_compact_filter(1000),
    lambda builder: builder.disable_cleanup_in_background(),
]


class CountWindowAverage(FlatMapFunction):
    def __init__(self, setting):
        self.setting = setting

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
        config = self.setting(StateTtlConfig.new_builder(Time.hours(1))).build()
        descriptor.enable_time_to_live(config)
        self.sum = runtime_context.get_state(descriptor)

    def flat_map(self, value):
        count, total = self.sum.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.sum.update((count, total))
        if count >= 2:
            self.sum.clear()
            yield value[0], total // count


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
for setting in SETTINGS:
    (
        env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
        .key_by(lambda value: value[0])
        .flat_map(CountWindowAverage(setting), Types.TUPLE([Types.LONG(), Types.LONG()]))
        .print()
    )
    env.execute("average")
