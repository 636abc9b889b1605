"""Nexmark's queries in SQL, the same text for headrace and for Flink.

q3, q4 and q8 join tables, which is not there yet. q5 and q7 join an aggregate with itself in the
original; here the best of a window is found by a ranking, which gives one row where several are
equal.
"""

from __future__ import annotations

BID = (
    "CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "`dateTime` TIMESTAMP(3), extra STRING, p_time AS PROCTIME(), "
    "WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) "
    "WITH ('connector' = 'filesystem', 'path' = '{folder}/bid', 'format' = 'parquet')"
)

_WINDOW_RANK = (
    "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
    "ORDER BY {order} DESC) AS place FROM ({rows})) WHERE place <= 1"
)
_HOP = "TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))"
_TUMBLE = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))"

SINKS = {
    "q0": "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING",
    "q1": "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` TIMESTAMP(3), "
    "extra STRING",
    "q2": "auction BIGINT, price BIGINT",
    "q5": "auction BIGINT, num BIGINT",
    "q7": "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3)",
    "q11": "bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
    "q12": "bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
}

QUERIES = {
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price, `dateTime`, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q5": _WINDOW_RANK.format(
        columns="auction, num",
        order="num",
        rows=f"SELECT auction, COUNT(*) AS num, window_start, window_end FROM {_HOP} "
        "GROUP BY auction, window_start, window_end",
    ),
    "q7": _WINDOW_RANK.format(
        columns="auction, bidder, price, `dateTime`",
        order="price",
        rows=f"SELECT * FROM {_TUMBLE}",
    ),
    "q11": "SELECT bidder, COUNT(*), SESSION_START(`dateTime`, INTERVAL '10' SECOND), "
    "SESSION_END(`dateTime`, INTERVAL '10' SECOND) FROM bid "
    "GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND)",
    "q12": "SELECT bidder, COUNT(*), CAST(TUMBLE_START(p_time, INTERVAL '10' SECOND) "
    "AS TIMESTAMP(3)), CAST(TUMBLE_END(p_time, INTERVAL '10' SECOND) AS TIMESTAMP(3)) FROM bid "
    "GROUP BY bidder, TUMBLE(p_time, INTERVAL '10' SECOND)",
}

LEFT_OUT = {name: "joins tables" for name in ("q3", "q4", "q8")}


def declarations(folder: str, rows: int, fewer: int) -> list[str]:
    """The table of bids, and a sink for each query."""
    sinks = [
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'blackhole')"
        for name, columns in SINKS.items()
    ]
    return [BID.format(folder=folder), *sinks]
