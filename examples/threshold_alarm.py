"""Splits a stream: readings above a threshold leave by a side output.

Prints ordinary readings as they are and the others as `ALARM> ...`.
"""

from headrace.common import Types
from headrace.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

READINGS = [
    ("boiler", 71.5),
    ("engine", 88.0),
    ("boiler", 102.3),
    ("engine", 91.2),
    ("boiler", 99.9),
    ("engine", 110.4),
]
LIMIT = 100.0

HOT = OutputTag("hot", Types.STRING())


class Split(ProcessFunction):
    """Passes readings on; those above the limit go to the side output instead."""

    def process_element(self, value, ctx: ProcessFunction.Context):
        machine, temperature = value
        if temperature > LIMIT:
            yield HOT, f"{machine} is at {temperature} degrees"
        else:
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    normal = env.from_collection(READINGS).process(Split())
    normal.print()
    normal.get_side_output(HOT).print("ALARM")

    env.execute("threshold alarm")


if __name__ == "__main__":
    main()
