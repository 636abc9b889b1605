"""The best sellers of each minute, in SQL: windows, a ranking and a function in Python.

Orders come from a table of generated rows. Every window of a minute is counted by item, a ranking
keeps the first ones, and a Python function makes names of numbers.
"""

import argparse

from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import udf

ITEMS = ["apple", "banana", "cherry", "date", "elderberry"]

ORDERS = """
CREATE TABLE orders (
    id BIGINT,
    item AS MOD(id * id + 3 * id, 11),
    quantity AS 1 + MOD(id, 3),
    ordered AS TO_TIMESTAMP_LTZ(1767225600000 + id * 1000, 3),
    WATERMARK FOR ordered AS ordered - INTERVAL '5' SECOND
) WITH (
    'connector' = 'datagen',
    'number-of-rows' = '{rows}',
    'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{last}'
)"""

BEST = """
SELECT DATE_FORMAT(window_start, 'HH:mm') AS `minute`, place, name_of(item) AS item, sold
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end ORDER BY sold DESC, item
    ) AS place
    FROM (
        SELECT window_start, window_end, item, SUM(quantity) AS sold
        FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered), INTERVAL '1' MINUTE))
        GROUP BY window_start, window_end, item
    )
)
WHERE place <= {best}"""


@udf(result_type=DataTypes.STRING())
def name_of(item):
    return ITEMS[item % len(ITEMS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=180, help="how many orders")
    parser.add_argument("--best", type=int, default=2, help="how many items of each minute")
    arguments = parser.parse_args()

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.create_temporary_function("name_of", name_of)
    t_env.execute_sql(ORDERS.format(rows=arguments.rows, last=arguments.rows - 1))
    t_env.execute_sql(BEST.format(best=arguments.best)).print()


if __name__ == "__main__":
    main()
