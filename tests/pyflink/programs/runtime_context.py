"""What a rich function learns about where it runs, and its metrics."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import MapFunction


class Where(MapFunction):
    def open(self, runtime_context):
        self.context = runtime_context
        group = runtime_context.get_metrics_group()
        self.counter = group.add_group("a group").counter("records")
        self.meter = group.meter("rate")
        self.distribution = group.distribution("sizes")
        group.gauge("answer", lambda: 42)

    def map(self, value):
        context = self.context
        self.counter.inc()
        self.counter.inc(2)
        self.meter.mark_event(1)
        self.distribution.update(value)
        return (
            value,
            context.get_index_of_this_subtask(),
            context.get_number_of_parallel_subtasks(),
            context.get_attempt_number(),
            context.get_job_parameter("no such", "default"),
        )


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection([1, 2]).map(Where()).name("where").set_parallelism(1).print()
env.execute()
