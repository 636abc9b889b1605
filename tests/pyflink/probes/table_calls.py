"""Calls of functions in Python in many places, and their results."""

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import (
    AggregateFunction,
    ScalarFunction,
    TableFunction,
    udaf,
    udf,
    udtf,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, "hi there", 2), (2, "you", 5), (3, None, 7)], ["id", "text", "n"])


def show(found):
    with found.execute().collect() as results:
        for row in sorted(results, key=str):
            print(row)


class HashCode(ScalarFunction):
    def __init__(self):
        self.factor = 12

    def eval(self, s):
        return None if s is None else len(s) * self.factor


class Vectorized(ScalarFunction):
    def open(self, function_context):
        self.by = 10

    def eval(self, a, b):
        return a + b * self.by


class Split(TableFunction):
    def eval(self, text):
        for word in (text or "").split():
            yield word, len(word)


class Total(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator, others):
        for other in others:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator):
        return None if not accumulator[1] else accumulator[0] // accumulator[1]


hash_code = udf(HashCode(), result_type=DataTypes.BIGINT())
vectorized = udf(Vectorized(), result_type=DataTypes.BIGINT(), func_type="pandas")
split = udtf(Split(), result_types=[DataTypes.STRING(), DataTypes.INT()])
total = udaf(
    Total(),
    result_type=DataTypes.BIGINT(),
    accumulator_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
    ),
    name="total",
)
t_env.create_temporary_function("hash_code", hash_code)
t_env.create_temporary_function("vectorized", vectorized)
t_env.create_temporary_function("split", split)
t_env.create_temporary_function("total", total)
t_env.create_temporary_view("source", table)

# --- functions in many places
show(table.select(hash_code(col("text")), call("hash_code", col("text"))))
show(table.where(hash_code(col("text")) > 50))
show(
    table.add_columns(hash_code(col("text")).alias("h"))
    .group_by(col("h"))
    .select(col("h"), col("n").sum)
)
show(t_env.sql_query("SELECT hash_code(text), COUNT(*) FROM source GROUP BY hash_code(text)"))
show(
    t_env.sql_query(
        "SELECT a.id FROM source AS a JOIN source AS b ON a.id = b.id WHERE hash_code(a.text) > b.n"
    )
)
show(
    table.select(
        hash_code(col("text").upper_case),
        hash_code(col("text")) + 1,
        hash_code(hash_code(col("text")).cast(DataTypes.STRING())),
    )
)
show(
    table.select(
        vectorized(col("id"), col("n")), vectorized(vectorized(col("id"), col("n")), col("id"))
    )
)
show(table.select(vectorized(hash_code(col("text")), col("n"))))
show(table.where(vectorized(col("id"), col("n")) > 50).select(col("id")))
show(t_env.sql_query("SELECT CASE WHEN id > 1 THEN hash_code(text) ELSE -1 END FROM source"))


# --- functions of results
@udf(
    result_type=DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.INT()),
            DataTypes.FIELD("b", DataTypes.ARRAY(DataTypes.STRING())),
        ]
    )
)
def row_of(i):
    return Row(a=i, b=[str(i)] * i)


@udf(result_type="MAP<STRING, INT>")
def map_of(i):
    return {"k": i}


@udf(input_types=[DataTypes.BIGINT(), DataTypes.STRING()], result_type=DataTypes.STRING())
def both(i, s):
    return f"{i}{s}"


show(
    table.select(
        row_of(col("id")).get("a"),
        row_of(col("id")).get("b").at(1),
        map_of(col("id")).at("k"),
        both(col("id"), col("text")),
    )
)
show(table.map(row_of(col("id"))))
show(table.select(row_of(col("id")).flatten))
print(row_of(col("id")), both(1, "x"))
