"""The demo: thousands of machines report their temperature; alarms come as they happen, live.

Shows a generated stream with event time out of order, keyed state, timers, a side output, and
recovery:

- A temperature that has not fallen for five seconds raises a RISING alarm. The first rise sets a
  timer, further ones keep it, a fall deletes it.
- A single reading above 100 degrees goes to a side output and is printed as HOT.
- With `--accident` a process that runs these functions is killed half-way (`kill -9`). The job goes
  on from its last checkpoint, and at the end every reading has been counted exactly once.

On a terminal the rates of all operators and the watermark are shown in place, below the alarms.
"""

import argparse
import math
import os
import random
import signal
import sys
import time
from typing import NamedTuple

from headrace.cluster.live_view import LiveView
from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    KeyedProcessFunction,
    MapFunction,
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
CHECKPOINT_MS = 1_000
END_OF_TIME = (1 << 63) - 1

HOT = OutputTag("hot", Types.STRING())
COUNTED = "counted in state"


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


class Accident(MapFunction):
    """Kills the process it runs in, once, as a crash or an impatient operator would."""

    def __init__(self, after: int):
        self.left = after

    def open(self, runtime_context: RuntimeContext):
        first_subtask = runtime_context.get_index_of_this_subtask() == 0
        self.here = first_subtask and runtime_context.get_attempt_number() == 0
        if first_subtask and not self.here:
            print("RECOVERED: new processes go on from the last checkpoint", flush=True)

    def map(self, value: Reading) -> Reading:
        self.left -= 1
        if self.here and self.left == 0:
            print(f"ACCIDENT: kill -9 {os.getpid()}, a process of this job", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return value


class TemperatureAlarm(KeyedProcessFunction):
    """Watches one machine: its newest reading, and the timer that runs while it gets hotter."""

    def open(self, runtime_context: RuntimeContext):
        self.newest = runtime_context.get_state(
            ValueStateDescriptor("newest", Types.PICKLED_BYTE_ARRAY())
        )
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen: set[int] = set()
        self.counted = IntCounter()
        self.alarms = IntCounter()
        self.hot = IntCounter()
        runtime_context.add_accumulator(COUNTED, self.counted)
        runtime_context.add_accumulator("rising alarms", self.alarms)
        runtime_context.add_accumulator("hot readings", self.hot)

    def process_element(self, value: Reading, ctx: KeyedProcessFunction.Context):
        count = self.count.value() or 0
        if count == 0:
            ctx.timer_service().register_event_time_timer(END_OF_TIME)
        self.count.update(count + 1)
        self.show_count(value.machine, 1)
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
        if timestamp == END_OF_TIME:  # the stream has ended
            self.show_count(ctx.get_current_key(), 0)
            return
        self.timer.clear()
        if self.newest.value().time_ms < timestamp - MOST_LATE_MS // 2:
            return  # nothing was heard of it since: the stream has ended
        self.alarms.add(1)
        yield f"machine {ctx.get_current_key():4} has been getting hotter for {RISING_MS // 1000} s"

    def show_count(self, machine: int, more: int) -> None:
        """Keep the accumulator equal to the sum of all counts in state.

        Accumulators start at zero after a restart, and state does not: what was restored for a
        machine is added when it is seen first.
        """
        if machine not in self.seen:
            self.seen.add(machine)
            more = self.count.value()
        self.counted.add(more)


def build(env: StreamExecutionEnvironment, readings: int, rate: int, accident: bool) -> None:
    """The job: readings, alarms and what is too hot."""
    source = DataGeneratorSource(
        Machines(max(rate // 10, 100)), readings, RateLimiterStrategy.per_second(rate)
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(MOST_LATE_MS)
    ).with_timestamp_assigner(ReadingTime())
    temperatures = env.from_source(source, strategy, "temperatures")
    if accident:
        env.enable_checkpointing(CHECKPOINT_MS)
        temperatures = temperatures.map(Accident(readings // 2 // env.get_parallelism()))
    alarms = (
        temperatures.key_by(lambda reading: reading.machine)
        .process(TemperatureAlarm())
        .name("temperature alarm")
    )
    alarms.print("RISING").name("print alarms")
    alarms.get_side_output(HOT).print("HOT").name("print hot readings")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="how long (default 20)")
    parser.add_argument("--rate", type=int, default=20_000, help="readings a second (20000)")
    parser.add_argument("--accident", action="store_true", help="kill a process half-way")
    parser.add_argument("--plain", action="store_true", help="lines only, nothing redrawn")
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    readings = int(arguments.rate * arguments.seconds)
    build(env, readings, arguments.rate, arguments.accident)
    found, stopped = {}, False
    with LiveView(env, plain=arguments.plain) as view:
        try:
            found = env.execute("sensor alarms").get_all_accumulator_results()
        except KeyboardInterrupt:
            stopped = True
    print(f"\n{view.summary(found)}")
    if stopped:
        sys.exit(130)
    if arguments.accident:
        exact = found[COUNTED] == readings
        print(
            f"\nA process was killed half-way. Of {readings:,} readings {found[COUNTED]:,} were "
            f"counted: {'each exactly once' if exact else 'THAT IS WRONG, please report it'}."
        )


if __name__ == "__main__":
    main()
