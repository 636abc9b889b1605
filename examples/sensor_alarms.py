"""The demo: thousands of machines report their temperature; alarms come as they happen, live.

Shows a generated stream with event time out of order, keyed state, timers and a side output:

- A temperature that has not fallen for five seconds raises a RISING alarm. The first rise sets a
  timer, further ones keep it, a fall deletes it.
- A single reading above 100 degrees goes to a side output and is printed as HOT.

On a terminal the rates of all operators and the watermark are shown in place, below the alarms.
"""

import argparse
import math
import random
import sys
import time
from typing import NamedTuple

from headrace.cluster.live_view import LiveView
from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from headrace.datastream.functions import IntCounter
from headrace.datastream.state import ValueStateDescriptor

RISING_MS = 5_000
LIMIT = 100.0
MOST_LATE_MS = 1_000

HOT = OutputTag("hot", Types.STRING())


class Reading(NamedTuple):
    """What a machine reports: its number, when it measured, and the temperature."""

    machine: int
    time_ms: int
    temperature: float


class Machines(GeneratorFunction):
    """Readings of machines at about this moment; each was on the way for up to a second."""

    def __init__(self, machines: int):
        self.machines = machines

    def map(self, value: int) -> Reading:
        machine = random.randrange(self.machines)
        time_ms = int(time.time() * 1000) - random.randrange(MOST_LATE_MS)
        temperature = 60 + 10 * math.sin(time_ms / 2_500 + machine)
        if machine % 100:  # one in a hundred runs so smoothly that its rises last
            temperature += random.uniform(-2, 2)
        if random.random() < 2e-5:
            temperature += 45
        return Reading(machine, time_ms, temperature)


class ReadingTime(TimestampAssigner):
    """The time at which a temperature was measured."""

    def extract_timestamp(self, value: Reading, record_timestamp: int) -> int:
        return value.time_ms


class TemperatureAlarm(KeyedProcessFunction):
    """Watches one machine: its newest reading, and the timer that runs while it gets hotter."""

    def open(self, runtime_context: RuntimeContext):
        self.newest = runtime_context.get_state(
            ValueStateDescriptor("newest", Types.PICKLED_BYTE_ARRAY())
        )
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))
        self.alarms = IntCounter()
        self.hot = IntCounter()
        runtime_context.add_accumulator("rising alarms", self.alarms)
        runtime_context.add_accumulator("hot readings", self.hot)

    def process_element(self, value: Reading, ctx: KeyedProcessFunction.Context):
        if value.temperature > LIMIT:
            self.hot.add(1)
            yield HOT, f"machine {value.machine:4} at {value.temperature:.1f} degrees"
            return
        newest = self.newest.value()
        if newest is not None and value.time_ms <= newest.time_ms:
            return  # it was on the way for longer than the one we know
        self.newest.update(value)
        timer = self.timer.value()
        rising = newest is not None and value.temperature >= newest.temperature
        if rising and timer is None:
            due = value.time_ms + RISING_MS
            ctx.timer_service().register_event_time_timer(due)
            self.timer.update(due)
        elif timer is not None and not rising and value.time_ms < timer:
            ctx.timer_service().delete_event_time_timer(timer)
            self.timer.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext):
        self.timer.clear()
        if self.newest.value().time_ms < timestamp - MOST_LATE_MS // 2:
            return  # nothing was heard of it since: the stream has ended
        self.alarms.add(1)
        yield f"machine {ctx.get_current_key():4} has been getting hotter for {RISING_MS // 1000} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="how long (default 20)")
    parser.add_argument("--rate", type=int, default=20_000, help="readings a second (20000)")
    parser.add_argument("--plain", action="store_true", help="lines only, nothing redrawn")
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(
        Machines(max(arguments.rate // 10, 100)),
        int(arguments.rate * arguments.seconds),
        RateLimiterStrategy.per_second(arguments.rate),
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(MOST_LATE_MS)
    ).with_timestamp_assigner(ReadingTime())
    alarms = (
        env.from_source(source, strategy, "temperatures")
        .key_by(lambda reading: reading.machine)
        .process(TemperatureAlarm())
        .name("temperature alarm")
    )
    alarms.print("RISING").name("print alarms")
    alarms.get_side_output(HOT).print("HOT").name("print hot readings")

    found, stopped = {}, False
    with LiveView(env, plain=arguments.plain) as view:
        try:
            found = env.execute("sensor alarms").get_all_accumulator_results()
        except KeyboardInterrupt:
            stopped = True
    print(f"\n{view.summary(found)}")
    if stopped:
        sys.exit(130)


if __name__ == "__main__":
    main()
