"""Finds dips of prices: a stream becomes a table, SQL looks for a pattern, and rows come back.

MATCH_RECOGNIZE looks for prices of a share that fall, at least twice in a row, and rise again.
"""

from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import Schema, StreamTableEnvironment

PRICES = {
    "ACME": [31, 30, 27, 24, 25, 29, 28, 27, 33],
    "LAMP": [12, 13, 11, 14, 9, 8, 7, 6, 10],
}
TRADE = Types.ROW_NAMED(["share", "price", "ms"], [Types.STRING(), Types.INT(), Types.LONG()])

DIPS = """
SELECT * FROM trades MATCH_RECOGNIZE (
    PARTITION BY share
    ORDER BY traded
    MEASURES
        HIGH.price AS `before`,
        LAST(FALL.price) AS bottom,
        RISE.price AS `after`,
        COUNT(FALL.price) AS steps
    AFTER MATCH SKIP TO LAST RISE
    PATTERN (HIGH FALL{2,} RISE) WITHIN INTERVAL '1' MINUTE
    DEFINE
        FALL AS FALL.price < COALESCE(LAST(FALL.price, 1), HIGH.price),
        RISE AS RISE.price > LAST(FALL.price)
)"""


class TradeTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.ms


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    trades = [
        Row(share, price, 1000 * second)
        for share, prices in PRICES.items()
        for second, price in enumerate(prices)
    ]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TradeTime())
    trades.sort(key=lambda trade: trade[2])
    stream = env.from_collection(trades, TRADE).assign_timestamps_and_watermarks(strategy)
    schema = (
        Schema.new_builder()
        .column_by_metadata("traded", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("traded", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("trades", t_env.from_data_stream(stream, schema))

    dips = t_env.to_data_stream(t_env.sql_query(DIPS))
    with dips.execute_and_collect("price dips") as rows:
        for row in sorted(rows, key=lambda row: (row[0], row[1])):
            share, before, bottom, after, steps = row
            print(f"{share} fell from {before} to {bottom} in {steps} steps, then rose to {after}")


if __name__ == "__main__":
    main()
