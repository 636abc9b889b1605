"""A sink that writes ten records at a time, and loses none when the job fails: operator state.

What waits in the sink's buffer is in every checkpoint. Somewhere after the first checkpoint the job
fails once, on purpose, and goes on from there: the buffer is as it was then, and the source goes
back to where it was. A batch that is written for the second time has the same number and the same
records as before, so that it replaces itself. Prints the batches, 0 to 9 with ten numbers each:

    batch 0: 0 1 2 3 4 5 6 7 8 9
    ...
"""

import tempfile
from pathlib import Path

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import (
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headrace.datastream.state import ListStateDescriptor

RECORDS = 100
PER_SECOND = 50
BATCH = 10


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Collects records and writes them to a file of their own when there are enough."""

    def __init__(self, directory: str, threshold: int):
        self.directory = directory
        self.threshold = threshold

    def initialize_state(self, context: FunctionInitializationContext):
        store = context.get_operator_state_store()
        self.saved_buffer = store.get_list_state(ListStateDescriptor("buffered records"))
        self.saved_number = store.get_list_state(ListStateDescriptor("number of the next batch"))
        self.buffer = list(self.saved_buffer.get())
        self.number = next(iter(self.saved_number.get()), 0)
        if context.is_restored():
            print(f"goes on from a checkpoint with {len(self.buffer)} records in the buffer")

    def snapshot_state(self, context: FunctionSnapshotContext):
        self.saved_buffer.update(self.buffer)
        self.saved_number.update([self.number])

    def invoke(self, value, context: SinkFunction.Context):
        self.buffer.append(value)
        if len(self.buffer) == self.threshold:
            self.write()

    def finish(self):
        if self.buffer:
            self.write()

    def write(self):
        file = Path(self.directory, f"{self.number:03}.txt")
        file.write_text(" ".join(map(str, self.buffer)))
        self.number += 1
        self.buffer.clear()


class Stumble(MapFunction, CheckpointListener):
    """Passes records on, but fails once, as soon as there is a checkpoint to go back to."""

    def open(self, runtime_context: RuntimeContext):
        self.first_attempt = runtime_context.get_attempt_number() == 0
        self.has_checkpoint = False

    def notify_checkpoint_complete(self, checkpoint_id: int):
        self.has_checkpoint = True

    def map(self, value):
        if self.first_attempt and self.has_checkpoint and value % BATCH == BATCH // 2:
            raise RuntimeError(f"no luck with {value}")
        return value


def main() -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "300 ms")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "1")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    numbers = DataGeneratorSource(int, RECORDS, RateLimiterStrategy.per_second(PER_SECOND))
    with tempfile.TemporaryDirectory() as directory:
        (
            env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
            .map(Stumble())
            .add_sink(BufferingSink(directory, BATCH))
        )
        env.execute("buffering sink")
        for file in sorted(Path(directory).iterdir()):
            print(f"batch {int(file.stem)}: {file.read_text()}")


if __name__ == "__main__":
    main()
