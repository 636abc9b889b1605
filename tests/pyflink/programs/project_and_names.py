"""project(), and the settings that return the stream for the next call."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
triples = env.from_collection(
    [(1, "a", 2.5), (2, "b", 0.5)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()])
)
triples.project(2, 0).print("project")
(
    triples.map(lambda t: t[0], output_type=Types.INT())
    .name("named")
    .uid("an id")
    .set_parallelism(1)
    .set_max_parallelism(16)
    .set_description("a description")
    .set_buffer_timeout(10)
    .slot_sharing_group("default")
    .start_new_chain()
    .map(lambda x: x + 1)
    .disable_chaining()
    .force_non_parallel()
    .print("settings")
    .name("the sink")
    .uid("the sink's id")
)
env.execute()
