"""Reads a Spark table and writes one: a DataFrame, keyed totals and a SparkSink.

Spark reads the sales of a table, without the small ones, inside the job itself. The job keeps the
total of each shop in keyed state and writes every new total, and Spark shows the last ones. Without
arguments it makes a table to play with.
"""

import argparse
import tempfile

from headrace.common import Row, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.spark_sink import SparkSink
from headrace.datastream.state import ValueStateDescriptor

TOTAL = Types.ROW_NAMED(["shop", "sales", "total"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])


class Total(KeyedProcessFunction):
    def open(self, runtime_context):
        self.sales = runtime_context.get_state(ValueStateDescriptor("sales", Types.LONG()))
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.DOUBLE()))

    def process_element(self, value, ctx):
        sales = (self.sales.value() or 0) + 1
        total = (self.total.value() or 0.0) + value.amount
        self.sales.update(sales)
        self.total.update(total)
        yield Row(value.shop, sales, total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", help="a Parquet table with the columns shop and amount")
    parser.add_argument("--output", help="directory of the table to write")
    parser.add_argument("--least", type=float, default=10.0, help="amounts below are left out")
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    spark = env.get_spark_session()
    source = arguments.input
    if source is None:
        source = tempfile.mkdtemp(prefix="headrace-sales-") + "/sales"
        made = "element_at(array('Ulm', 'Jena', 'Hof'), int(id % 3) + 1) as shop"
        spark.range(1000).selectExpr(made, "double(id % 50) as amount").write.parquet(source)
    target = arguments.output or tempfile.mkdtemp(prefix="headrace-totals-") + "/totals"

    sales = spark.read.parquet(source).where(f"amount >= {arguments.least}")
    totals = env.from_data_frame(sales).key_by(lambda sale: sale.shop, Types.STRING())
    totals.process(Total(), TOTAL).sink_to(SparkSink.for_path(target))
    env.execute("table totals")

    last = spark.read.parquet(target).groupBy("shop").agg({"sales": "max", "total": "max"})
    for row in last.orderBy("shop").collect():
        print(f"{row['shop']}: {row['max(sales)']} sales, {row['max(total)']:.2f} in all")


if __name__ == "__main__":
    main()
