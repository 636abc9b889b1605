"""User functions: wrapping callables, refusing wrong arguments, runtime context helpers."""

from __future__ import annotations

import pickle
from functools import partial

import cloudpickle
import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    CoMapFunction,
    FilterFunction,
    FunctionWrapper,
    IntCounter,
    KeyedProcessFunction,
    KeySelector,
    LongCounter,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RichMapFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    TaskInfo,
    as_co_group_function,
    as_filter_function,
    as_flat_map_function,
    as_join_function,
    as_key_selector,
    as_map_function,
    as_partitioner,
    as_reduce_function,
    as_sink_function,
    as_timestamp_assigner,
    check_function,
    positional_arguments,
)

WRAPPERS = [
    (as_map_function, "map", 1),
    (as_flat_map_function, "flat_map", 1),
    (as_filter_function, "filter", 1),
    (as_key_selector, "get_key", 1),
    (as_reduce_function, "reduce", 2),
    (as_partitioner, "partition", 2),
    (as_join_function, "join", 2),
    (as_co_group_function, "co_group", 2),
]


class Double(MapFunction):
    def map(self, value):
        return value * 2


@pytest.mark.parametrize(("wrap", "method", "arity"), WRAPPERS)
def test_a_wrapped_callable_is_reachable_bare(wrap, method, arity):
    def function(*args):
        return args

    wrapped = wrap(function)
    assert getattr(wrapped, method) is function
    assert isinstance(wrapped, FunctionWrapper)
    wrapped.open(None)
    wrapped.close()
    again = pickle.loads(cloudpickle.dumps(wrap(lambda *args: args)))
    assert getattr(again, method)(*range(arity)) == tuple(range(arity))


@pytest.mark.parametrize(("wrap", "method", "arity"), WRAPPERS)
def test_a_callable_with_another_number_of_arguments_is_refused(wrap, method, arity):
    with pytest.raises(FunctionTypeError, match="argument"):
        wrap(lambda a, b, c: a)
    with pytest.raises(FunctionTypeError, match="signature"):
        wrap(lambda: None)


@pytest.mark.parametrize(("wrap", "method", "arity"), WRAPPERS)
@pytest.mark.parametrize("wrong", [None, 3, "org.apache.flink.MyFunction"])
def test_what_cannot_be_called_is_refused(wrap, method, arity, wrong):
    with pytest.raises(FunctionTypeError):
        wrap(wrong)


def test_builtins_partials_and_classes_are_callables():
    assert as_map_function(str).map(1) == "1"
    assert as_map_function(partial(pow, 2)).map(3) == 8
    assert as_reduce_function(min).reduce(1, 2) == 1
    assert as_map_function(len).map("abc") == 3


def test_an_instance_is_taken_as_it_is():
    double = Double()
    assert as_map_function(double) is double


def test_a_function_class_is_not_an_instance():
    with pytest.raises(FunctionTypeError, match=r"pass an instance: Double\(\)"):
        as_map_function(Double)


def test_another_kind_of_function_is_named():
    class Keep(FilterFunction):
        def filter(self, value):
            return True

    with pytest.raises(FunctionTypeError, match=r"Keep \(a FilterFunction\)"):
        as_map_function(Keep())


def test_a_function_object_that_can_be_called_is_a_callable():
    class Both(KeySelector):
        def get_key(self, value):
            return value

        def __call__(self, value):
            return -value

    assert as_map_function(Both()).map(1) == -1


def test_a_coroutine_function_is_sent_to_async_io():
    async def fetch(value):
        return value

    with pytest.raises(FunctionTypeError, match="AsyncDataStream"):
        as_map_function(fetch)


def test_sinks_take_one_or_two_arguments():
    assert positional_arguments(as_sink_function(lambda value: None).invoke) == 1
    assert positional_arguments(as_sink_function(lambda value, ctx: None).invoke) == 2
    with pytest.raises(FunctionTypeError, match="1 or 2 arguments"):
        as_sink_function(lambda: None)


def test_positional_arguments_of_anything():
    assert positional_arguments(lambda *args: None) is None
    assert positional_arguments(lambda a, *, b=1: None) == 1
    assert positional_arguments(Double().map) == 1


def test_timestamp_assigners_take_one_or_two_arguments():
    def by_both(value, previous):
        return value + previous

    assert as_timestamp_assigner(by_both).extract_timestamp is by_both
    one = as_timestamp_assigner(lambda value: value * 10)
    assert isinstance(one, TimestampAssigner)
    assert one.extract_timestamp(3, -1) == 30
    assert pickle.loads(cloudpickle.dumps(one)).extract_timestamp(3, -1) == 30

    class Own(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return value

    own = Own()
    assert as_timestamp_assigner(own) is own


def test_check_function_takes_only_the_kinds_it_names():
    class Co(CoMapFunction):
        def map1(self, value):
            return value

        def map2(self, value):
            return value

    co = Co()
    assert check_function(co, CoMapFunction, "map") is co
    with pytest.raises(FunctionTypeError, match=r"must be a CoMapFunction"):
        check_function(lambda x: x, CoMapFunction, "map")
    with pytest.raises(FunctionTypeError, match="pass an instance"):
        check_function(Co, (CoMapFunction, ProcessFunction), "map")


@pytest.mark.parametrize("kind", [SourceFunction, SinkFunction])
def test_java_class_names_are_refused_with_advice(kind):
    with pytest.raises(FunctionTypeError, match="subclass it in Python"):
        kind("org.apache.flink.MyFunction")


def test_sources_and_sinks_are_written_in_python():
    class Numbers(SourceFunction):
        def __init__(self, count):
            self.count = count

        def run(self, ctx):
            for i in range(self.count):
                ctx.collect(i)

        def cancel(self):
            self.count = 0

    class Collect(SinkFunction):
        def __init__(self, target):
            self.target = target

        def invoke(self, value, context):
            self.target.append(value)

    class Ctx(SourceFunction.SourceContext):
        def __init__(self, sink):
            self.sink = sink

        def collect(self, element):
            self.sink.invoke(element, None)

        def collect_with_timestamp(self, element, timestamp): ...
        def emit_watermark(self, mark): ...
        def mark_as_temporarily_idle(self): ...
        def get_checkpoint_lock(self): ...

    out = []
    Numbers(3).run(Ctx(Collect(out)))
    assert out == [0, 1, 2]
    assert pickle.loads(cloudpickle.dumps(Numbers(3))).count == 3


def test_abstract_functions_cannot_be_made():
    for kind in (MapFunction, ReduceFunction, AggregateFunction, SinkFunction, AsyncFunction):
        with pytest.raises(TypeError):
            kind()


def test_on_timer_is_optional():
    class Process(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield value

    assert Process().on_timer(1, None) is None


def test_timeout_of_an_async_function_says_what_to_do():
    class Lookup(AsyncFunction):
        async def async_invoke(self, value):
            return [value]

    with pytest.raises(TimeoutError, match="override timeout"):
        Lookup().timeout("a")


def test_a_context_without_side_outputs_refuses_them():
    class Context(ProcessFunction.Context):
        def timer_service(self): ...
        def timestamp(self): ...

    with pytest.raises(HeadraceError, match="side output"):
        Context().output(None, 1)


class _Context(RuntimeContext):
    def __init__(self):
        self.accumulators = {}

    def get_state(self, state_descriptor): ...
    def get_list_state(self, state_descriptor): ...
    def get_map_state(self, state_descriptor): ...
    def get_reducing_state(self, state_descriptor): ...
    def get_aggregating_state(self, state_descriptor): ...

    def get_task_name(self):
        return "Map"

    def get_number_of_parallel_subtasks(self):
        return 6

    def get_max_number_of_parallel_subtasks(self):
        return 128

    def get_index_of_this_subtask(self):
        return 2

    def get_attempt_number(self):
        return 0

    def get_task_name_with_subtasks(self):
        return self.get_task_info().get_task_name_with_subtasks()

    def get_job_parameter(self, key, default_value):
        return default_value

    def get_metrics_group(self):
        return "metrics"

    def add_accumulator(self, name, accumulator):
        self.accumulators[name] = accumulator

    def get_accumulator(self, name):
        return self.accumulators.get(name)


def test_runtime_context_builds_task_info_and_counters():
    context = _Context()
    assert context.get_task_info() == TaskInfo("Map", 128, 2, 6, 0)
    assert context.get_task_name_with_subtasks() == "Map (3/6)#0"
    assert context.get_metric_group() == "metrics"
    counter = context.get_int_counter("seen")
    counter.add(2)
    assert context.get_int_counter("seen") is counter
    assert isinstance(counter, IntCounter)
    assert isinstance(context.get_long_counter("long"), LongCounter)
    assert context.get_histogram("h").get_local_value() == {}
    assert context.get_double_counter("d").get_local_value() == 0.0
    with pytest.raises(FunctionTypeError, match="is a IntCounter"):
        context.get_double_counter("seen")
    with pytest.raises(HeadraceError, match="get_distributed_cache"):
        context.get_distributed_cache()


def test_rich_functions_know_their_context_after_it_is_set():
    class Rich(RichMapFunction):
        def map(self, value):
            return self.get_runtime_context().get_task_name()

    rich = Rich()
    with pytest.raises(HeadraceError, match="open"):
        rich.map(1)
    rich.set_runtime_context(_Context())
    assert rich.map(1) == "Map"
    with pytest.raises(HeadraceError):
        pickle.loads(cloudpickle.dumps(rich)).map(1)


def test_errors_are_also_type_and_value_errors():
    with pytest.raises(TypeError):
        as_map_function(3)
    with pytest.raises(GraphError):
        as_map_function(3)
