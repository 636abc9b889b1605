"""Averages every three values of a key, with a ValueState.

Prints `(key, average)` each time a key has three values, and starts anew:
`('a', 4.0)`, `('b', 15.0)`, `('a', 8.0)`.
"""

from headrace.common import Types
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

VALUES = [
    ("a", 3), ("a", 5), ("b", 10), ("a", 4), ("b", 20),
    ("a", 7), ("b", 15), ("a", 8), ("a", 9), ("b", 99),
]  # fmt: skip
SIZE = 3


class CountAverage(KeyedProcessFunction):
    """Keeps how many values there were, and their sum."""

    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor(
            "count and sum", Types.TUPLE([Types.INT(), Types.DOUBLE()])
        )
        self.state = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        count, total = self.state.value() or (0, 0.0)
        count, total = count + 1, total + value[1]
        if count == SIZE:
            self.state.clear()
            yield ctx.get_current_key(), total / count
        else:
            self.state.update((count, total))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection(VALUES).key_by(lambda v: v[0]).process(CountAverage()).print()
    env.execute("count average")


if __name__ == "__main__":
    main()
