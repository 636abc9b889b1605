"""Functions as PyFlink's guide shows them: all ways to write them, and what they may look at."""

import functools

from pyflink.common import Row
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ListView,
    TableEnvironment,
)
from pyflink.table.expressions import call, col, lit
from pyflink.table.udf import (
    AggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
b_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
for env in (t_env, b_env):
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("python.metric.enabled", "true")
    env.get_config().set("python.fn-execution.bundle.size", "1")
    env.get_config().set("pipeline.global-job-parameters", "factor:31,word:x")
orders = [(1, 2, "lee"), (3, 4, "jay"), (5, 6, "jay"), (7, 8, "lee")]
table = t_env.from_elements(orders, ["value", "count", "name"])
batch = b_env.from_elements(orders, ["value", "count", "name"])


def show(table):
    with table.execute().collect() as results:
        for row in results:
            print(row.get_row_kind().name, row)


def show_sorted(table):
    with table.execute().collect() as results:
        print(*sorted(map(str, results)), sep="\n")


class Add(ScalarFunction):
    def eval(self, i, j):
        return i + j


class CallableAdd:
    def __call__(self, i, j):
        return i + j


class Parameters(ScalarFunction):
    def open(self, function_context):
        self.factor = int(function_context.get_job_parameter("factor", "12"))
        self.other = function_context.get_job_parameter("other", "none")
        self.word = function_context.get_job_parameter("word", "none")

    def eval(self, i):
        return f"{i * self.factor} {self.other} {self.word}"


class Counting(ScalarFunction):
    def open(self, function_context):
        group = function_context.get_metric_group()
        self.counter = group.add_group("key", "value").counter("count")
        self.meter = group.meter("meter", time_span_in_seconds=5)
        self.distribution = group.distribution("distribution")
        group.gauge("gauge", lambda: 5)
        self.subtask = function_context.get_index_of_this_subtask()
        self.subtasks = function_context.get_number_of_parallel_subtasks()
        self.most = function_context.get_max_number_of_parallel_subtasks()
        self.attempt = function_context.get_attempt_number()

    def eval(self, i):
        self.counter.inc(i)
        self.meter.mark_event(2)
        self.distribution.update(i)
        return f"{self.subtask} {self.subtasks} {self.most} {self.attempt}"


class WeightedAverage(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_result_type(self):
        return "BIGINT"

    def get_accumulator_type(self):
        return "ROW<f0 BIGINT, f1 BIGINT>"


class Joined(AggregateFunction):
    def open(self, function_context):
        self.counter = function_context.get_metric_group().counter("values")

    def create_accumulator(self):
        return Row(ListView(), "")

    def accumulate(self, accumulator, value, separator):
        self.counter.inc()
        accumulator[1] = separator
        accumulator[0].add(value)

    def get_value(self, accumulator):
        return accumulator[1].join(accumulator[0])

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("f1", DataTypes.STRING()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class LargestSum(AggregateFunction):
    def open(self, function_context):
        self.counter = function_context.get_metric_group().counter("values")

    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, *columns):
        accumulator.append(sum(column.max() for column in columns))

    def get_value(self, accumulator):
        self.counter.inc(10)
        return accumulator[0]


class Top2(TableAggregateFunction):
    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, row):
        value = row[0]
        if accumulator[0] is None or value > accumulator[0]:
            accumulator[1], accumulator[0] = accumulator[0], value
        elif accumulator[1] is None or value > accumulator[1]:
            accumulator[1] = value

    def emit_value(self, accumulator):
        yield Row(accumulator[0])
        yield Row(accumulator[1])

    def get_accumulator_type(self):
        return "ARRAY<BIGINT>"

    def get_result_type(self):
        return "ROW<a BIGINT>"


class Letters(TableFunction):
    def open(self, function_context):
        self.counter = function_context.get_metric_group().counter("letters")

    def eval(self, text):
        for letter in text:
            self.counter.inc()
            yield letter, ord(letter)


def add_three(i, j, k):
    return i + j + k


kinds = [
    udf(Add(), result_type=DataTypes.BIGINT()),
    udf(lambda i, j: i + j, result_type="BIGINT"),
    udf(CallableAdd(), result_type="BIGINT"),
    udf(functools.partial(add_three, k=1), result_type="BIGINT"),
    udf(lambda i, j: i + j, result_type="BIGINT", func_type="pandas"),
    udf(CallableAdd(), result_type="BIGINT", func_type="pandas"),
]
average = udaf(WeightedAverage())

# --- all kinds of functions
calls = [f(col("value"), col("count")) for f in kinds]
show(table.select(*calls, call(kinds[0], col("value"), 1)))

# --- parameters of the job, and numbers of subtasks
parameters = udf(Parameters(), result_type="STRING")
counting = udf(Counting(), result_type="STRING")
show(table.select(parameters(col("value")), counting(col("count"))))

# --- averages as whole numbers
result = average(col("value"), col("count")).alias("avg")
show(table.group_by(col("name")).select(col("name"), result))

# --- averages by name
t_env.create_temporary_function("average", WeightedAverage())
t_env.create_temporary_view("orders", table)
by_name = call("average", col("value"), col("count"))
show(table.group_by(col("name")).select(by_name))
show(t_env.sql_query("SELECT average(`value`, `count`) AS a FROM orders GROUP BY name"))

# --- averages of changes
counts = table.group_by(col("name")).select(col("name"), col("value").max.alias("most"))
show(counts.select(average(col("most"), lit(1))))

# --- lists that are joined
joined = udaf(Joined())
show(table.select(joined(col("name"), "-")))

# --- aggregates of pandas of all kinds
largest = [
    udaf(LargestSum(), result_type="BIGINT", func_type="pandas"),
    udaf(lambda i, j: i.max() + j.max(), result_type="BIGINT", func_type="pandas"),
    udaf(
        functools.partial(lambda i, j, k: i.max() + j.max() + k, k=1),
        result_type="BIGINT",
        func_type="pandas",
    ),
]
calls = [f(col("value"), col("count")) for f in largest]
show_sorted(batch.group_by(col("name")).select(col("name"), *calls))

# --- table aggregates of whole rows
top2 = udtaf(Top2())
show(table.group_by(col("name")).flat_aggregate(top2).select(col("*")))

# --- table functions of all kinds
letters = udtf(Letters(), result_types=["STRING", "INT"])
several = udtf(lambda i: range(i % 3), result_types="BIGINT")
listed = udtf(lambda i: [i, i], result_types="BIGINT")
show(table.join_lateral(letters(col("name")).alias("l", "n")).select(col("l"), col("n")))
show(table.left_outer_join_lateral(several(col("value")).alias("n")).select(col("value"), col("n")))
show(table.join_lateral(listed(col("value")).alias("n")).select(col("n")))

# --- functions of functions
add = kinds[0]
show(table.select(add(add(col("value"), 1), add(col("count"), col("value")))))
show(table.where(add(col("value"), col("count")) > 7).select(col("name")))
