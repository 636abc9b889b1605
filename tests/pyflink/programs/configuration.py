"""Settings that are known, unknown, and set in several ways.

compare: exactly
"""

from pyflink.common import Configuration, Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

config = Configuration()
config.set_string("python.execution-mode", "process")
config.set_string("python.fn-execution.bundle.size", "5")
config.set_string("some.key.that.nobody.knows", "x")
config.set_integer("parallelism.default", 1)
config.set_boolean("pipeline.object-reuse", True)
print(config.get_integer("parallelism.default", 7), config.get_string("missing", "default"))
print(config.contains_key("some.key.that.nobody.knows"), config.get_boolean("missing", True))
print(sorted(config.to_dict()))

env = StreamExecutionEnvironment.get_execution_environment(config)
print(env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout())
env.set_buffer_timeout(5).set_max_parallelism(64)
env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
env.get_config().set_auto_watermark_interval(50)
print(env.get_buffer_timeout(), env.get_max_parallelism())
print(env.get_config().get_auto_watermark_interval(), env.is_chaining_enabled())
env.disable_operator_chaining()
print(env.is_chaining_enabled())
env.from_collection([1, 2], type_info=Types.INT()).map(lambda x: x).map(lambda x: x).print()
env.execute()
