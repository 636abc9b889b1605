"""The text of a user's exception reaches the caller, wherever it was raised.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, MapFunction, ProcessFunction


class OpenFails(MapFunction):
    def open(self, runtime_context):
        raise RuntimeError("cannot open")

    def map(self, value):
        return value


class TimerFails(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp, ctx):
        raise KeyError("in the timer")


class NotKeyed(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)


def fail(value):
    raise ValueError(f"cannot take {value}")


def attempt(name, build, *texts):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    build(env.from_collection([1, 2], type_info=Types.INT())).print()
    try:
        env.execute(name)
        print(name, "no error")
    except Exception as error:
        print(name, [text in str(error) for text in texts])


attempt("map", lambda s: s.map(fail), "ValueError", "cannot take 1", "user_errors.py")
attempt("open", lambda s: s.map(OpenFails()), "RuntimeError", "cannot open")
attempt("timer", lambda s: s.key_by(lambda x: x).process(TimerFails()), "KeyError", "in the timer")
attempt("not keyed", lambda s: s.process(NotKeyed()), "keyed stream")
attempt("key", lambda s: s.key_by(fail).sum(0), "cannot take 1")
attempt("reduce", lambda s: s.key_by(lambda x: 0).reduce(lambda a, b: fail(b)), "cannot take 2")
