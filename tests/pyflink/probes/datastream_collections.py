"""What `from_collection` makes of values that are not of the declared type."""

from argparse import Namespace
from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

TEXTS = Types.MAP(Types.STRING(), Types.STRING())


def records(*args):
    with env.from_collection(*args).execute_and_collect() as results:
        return list(results)


# --- texts of numbers
values = [7, 1 << 40, -1.5, 1e20, 1e-5, float("nan"), True, Decimal("1.50"), "text"]
print(records(values, Types.STRING()))
print(records([(7, 8)], Types.TUPLE([Types.STRING(), Types.LONG()])))
print(records([[7, 2.5, None]], Types.BASIC_ARRAY(Types.STRING())))
print(sorted(records([{1: 2, "a": False}], TEXTS)[0].items()))

# --- no texts
raises(lambda: records([b"ab"], Types.STRING()), Exception)
raises(lambda: records(["1"], Types.INT()), Exception)

# --- maps of objects
readings = [(1, Namespace(name="n", level=2.5))]
for row in records(readings, Types.ROW_NAMED(["id", "of"], [Types.INT(), TEXTS])):
    print(row.id, sorted(row.of.items()))
