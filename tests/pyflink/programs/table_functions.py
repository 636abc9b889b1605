"""Python functions in SQL and the Table API: scalar, table, aggregate and table aggregate ones."""

from pyflink.common import Row
from pyflink.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    TableEnvironment,
    TableFunction,
)
from pyflink.table.expressions import call, col
from pyflink.table.udf import (
    ScalarFunction,
    TableAggregateFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)


class Scaled(ScalarFunction):
    def open(self, function_context):
        self.factor = 10

    def eval(self, price, qty):
        return None if qty is None else price * qty * self.factor


class Words(TableFunction):
    def eval(self, text):
        for word in (text or "").split(" "):
            if word:
                yield word, len(word)


class WeightedAverage(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def accumulate(self, accumulator, value, weight):
        if value is not None and weight is not None:
            accumulator[0] += value * weight
            accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        if value is not None and weight is not None:
            accumulator[0] -= value * weight
            accumulator[1] -= weight

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("sum", DataTypes.BIGINT()), DataTypes.FIELD("n", DataTypes.BIGINT())]
        )

    def get_result_type(self):
        return DataTypes.DOUBLE()


class TopTwo(TableAggregateFunction):
    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, value):
        if value is None:
            return
        if accumulator[0] is None or value > accumulator[0]:
            accumulator[1] = accumulator[0]
            accumulator[0] = value
        elif accumulator[1] is None or value > accumulator[1]:
            accumulator[1] = value

    def emit_value(self, accumulator):
        for place, value in enumerate(accumulator):
            if value is not None:
                yield Row(value, place)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("value", DataTypes.BIGINT()),
                DataTypes.FIELD("place", DataTypes.BIGINT()),
            ]
        )


@udf(result_type=DataTypes.STRING())
def shouted(text):
    return None if text is None else text.upper() + "!"


PAIR = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
)


@udf(result_type=PAIR)
def paired(number, text):
    return Row(number + 1, text)


@udf(result_type=DataTypes.ARRAY(DataTypes.BIGINT()), input_types=[DataTypes.BIGINT()])
def up_to(number):
    return list(range(number))


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def doubled(series):
    return series * 2


@udtf(result_types=[DataTypes.BIGINT()])
def halves(number):
    while number > 1:
        number //= 2
        yield number


def show(title, table):
    with table.execute().collect() as rows:
        left = []
        for row in rows:
            text = repr(row)
            kind = row.get_row_kind().name
            if kind in ("UPDATE_BEFORE", "DELETE"):
                left.remove(text)
            else:
                left.append(text)
    for text in sorted(left):
        print(title, text)


ROWS = [
    ("apple pie", 3, 2),
    ("pear", 5, 1),
    ("apple pie", 8, 4),
    ("plum jam now", 2, None),
    ("pear", 7, 3),
]

QUERIES = {
    "scalar": "SELECT item, scaled(price, qty), shouted(item) FROM orders",
    "row": "SELECT p.a, p.b FROM (SELECT paired(price, item) AS p FROM orders)",
    "array": "SELECT up_to(price), doubled(price) FROM orders WHERE price < 6",
    "filter": "SELECT item FROM orders WHERE scaled(price, qty) > 60",
    "table": "SELECT item, w, n FROM orders, LATERAL TABLE(words(item)) AS t(w, n)",
    "outer": "SELECT item, h FROM orders LEFT JOIN LATERAL TABLE(halves(price)) AS t(h) ON TRUE",
    "aggregate": "SELECT item, weighted(price, qty) FROM orders GROUP BY item",
    "retract": """
        SELECT n, weighted(s, n) FROM (
            SELECT item, COUNT(*) AS n, SUM(price) AS s FROM orders GROUP BY item
        ) GROUP BY n
    """,
}


def main():
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("python.fn-execution.bundle.size", "1")
    row = DataTypes.ROW(
        [
            DataTypes.FIELD("item", DataTypes.STRING()),
            DataTypes.FIELD("price", DataTypes.BIGINT()),
            DataTypes.FIELD("qty", DataTypes.BIGINT()),
        ]
    )
    orders = t_env.from_elements(ROWS, row)
    t_env.create_temporary_view("orders", orders)
    t_env.create_temporary_function("scaled", udf(Scaled(), result_type=DataTypes.BIGINT()))
    t_env.create_temporary_function("shouted", shouted)
    t_env.create_temporary_function("paired", paired)
    t_env.create_temporary_function("up_to", up_to)
    t_env.create_temporary_function("doubled", doubled)
    pair = [DataTypes.STRING(), DataTypes.BIGINT()]
    t_env.create_temporary_function("words", udtf(Words(), result_types=pair))
    t_env.create_temporary_function("halves", halves)
    t_env.create_temporary_function("weighted", udaf(WeightedAverage()))

    for title, query in QUERIES.items():
        show(title, t_env.sql_query(query))
    show("map", orders.map(paired(col("price"), col("item"))).alias("a", "b"))
    show("flat map", orders.flat_map(halves(col("price"))).alias("h"))
    top = udtaf(TopTwo())
    tops = orders.group_by(col("item")).flat_aggregate(top(col("price")).alias("v", "p"))
    show("top", tops.select(col("item"), col("v"), col("p")))
    show("call", orders.select(call("shouted", col("item")), call("scaled", col("price"), 2)))


if __name__ == "__main__":
    main()
