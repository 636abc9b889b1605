"""Readings go three ways by their level, and two of these are connected again."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import CoProcessFunction, ProcessFunction


def sensor():
    return Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])


ALARM = OutputTag("alarm", sensor())
WARN = OutputTag("warn", sensor())
LINES = [f"sensor_{n % 2 + 1},{n},{level}" for n, level in enumerate([12, 35, 41, 30, 29, 55])]


def reading(line):
    name, time, level = line.split(",")
    return name, int(time), int(level)


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value[2] >= 40:
            yield ALARM, value
        elif value[2] >= 30:
            yield WARN, value
        else:
            yield value


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield f"alarm {value[0]} {value[2]}"

    def process_element2(self, value, ctx):
        yield f"warning {value[0]} {value[2]}"


env = StreamExecutionEnvironment.get_execution_environment()
readings = env.from_collection(LINES).map(reading, sensor())
split = readings.process(Split(), sensor())
split.print("normal")
alarms, warnings = split.get_side_output(ALARM), split.get_side_output(WARN)
alarms.connect(warnings).process(Both(), Types.STRING()).print("connected")
env.execute()
