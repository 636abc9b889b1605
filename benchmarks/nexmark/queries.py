"""Nexmark's queries q0 to q22 in SQL, the same text for headrace and for Flink.

They are those of the benchmark, with three differences that both sides share: events come from a
table for each of their kinds, q13 joins a table of files, which Flink cannot look up in, and q14
counts letters with built-in functions instead of one in Java. Needs neither headrace nor Flink.
"""

from __future__ import annotations

import re

_TABLES = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
    "state STRING, `dateTime` TIMESTAMP(3), extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
    "`dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "`dateTime` TIMESTAMP(3), extra STRING, p_time AS PROCTIME()",
}
_WATERMARK = ", WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND"
_FILES = " WITH ('connector' = 'filesystem', 'path' = '{folder}/{name}', 'format' = 'parquet')"


def _windows(function: str, table: str, *lengths: int) -> str:
    """A window table function; lengths in seconds."""
    intervals = ", ".join(f"INTERVAL '{seconds}' SECOND" for seconds in lengths)
    return f"TABLE({function}(TABLE {table}, DESCRIPTOR(`dateTime`), {intervals}))"


_HOP = _windows("HOP", "bid", 2, 10)
_COUNTS = (
    f"SELECT {{key}}COUNT(*) AS num, window_start AS starttime, window_end AS endtime FROM {_HOP} "
    "GROUP BY auction, window_start, window_end"
)
_WINNING = "A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires"
_RANKS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
_DAY = "DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
_CHANNEL_ID = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"
_LARGE = ("apple", "google", "facebook", "baidu")


def _by_rank(call: str) -> str:
    """An aggregate of all bids, and of those of each range of prices."""
    return ", ".join([call, *(f"{call} FILTER (WHERE {rank})" for rank in _RANKS)])


QUERIES = {
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price, `dateTime`, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": "SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P "
    "ON A.seller = P.id WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR "
    "P.state = 'CA')",
    "q4": "SELECT Q.category, AVG(Q.final) FROM (SELECT MAX(B.price) AS final, A.category "
    f"FROM auction A, bid B WHERE {_WINNING} GROUP BY A.id, A.category) Q GROUP BY Q.category",
    "q5": f"SELECT A.auction, A.num FROM ({_COUNTS.format(key='auction, ')}) AS A JOIN "
    "(SELECT MAX(C.num) AS maxn, C.starttime, C.endtime FROM "
    f"({_COUNTS.format(key='')}) AS C GROUP BY C.starttime, C.endtime) AS M "
    "ON A.starttime = M.starttime AND A.endtime = M.endtime AND A.num >= M.maxn",
    "q6": "SELECT Q.seller, AVG(Q.final) OVER (PARTITION BY Q.seller ORDER BY Q.`dateTime` "
    "ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM (SELECT * FROM (SELECT A.id, A.seller, "
    "B.price AS final, B.`dateTime`, ROW_NUMBER() OVER (PARTITION BY A.id, A.seller "
    f"ORDER BY B.price DESC) AS place FROM auction AS A, bid AS B WHERE {_WINNING}) "
    "WHERE place <= 1) AS Q",
    "q7": "SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN "
    "(SELECT MAX(price) AS maxprice, window_end AS `dateTime` FROM "
    f"{_windows('TUMBLE', 'bid', 10)} GROUP BY window_start, window_end) B1 "
    "ON B.price = B1.maxprice WHERE B.`dateTime` BETWEEN B1.`dateTime` - INTERVAL '10' SECOND "
    "AND B1.`dateTime`",
    "q8": "SELECT P.id, P.name, P.starttime FROM (SELECT id, name, window_start AS starttime, "
    f"window_end AS endtime FROM {_windows('TUMBLE', 'person', 10)} "
    "GROUP BY id, name, window_start, window_end) P JOIN (SELECT seller, "
    "window_start AS starttime, window_end AS endtime FROM "
    f"{_windows('TUMBLE', 'auction', 10)} GROUP BY seller, window_start, window_end) A "
    "ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime",
    "q9": "SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, "
    "category, extra, auction, bidder, price, bid_dateTime, bid_extra FROM (SELECT A.*, "
    "B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra, "
    "ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS place "
    f"FROM auction A, bid B WHERE {_WINNING}) WHERE place <= 1",
    "q10": f"SELECT auction, bidder, price, `dateTime`, extra, {_DAY}, "
    "DATE_FORMAT(`dateTime`, 'HH:mm') FROM bid",
    "q11": "SELECT bidder, COUNT(*), window_start, window_end FROM "
    f"{_windows('SESSION', 'bid PARTITION BY bidder', 10)} "
    "GROUP BY bidder, window_start, window_end",
    "q12": "SELECT bidder, COUNT(*), window_start, window_end FROM "
    "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(p_time), INTERVAL '10' SECOND)) "
    "GROUP BY bidder, window_start, window_end",
    "q13": "SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value` FROM bid AS B "
    "JOIN side AS S ON MOD(B.auction, 10000) = S.key",
    "q14": "SELECT auction, bidder, 0.908 * price, CASE WHEN HOUR(`dateTime`) >= 8 AND "
    "HOUR(`dateTime`) <= 18 THEN 'dayTime' WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 "
    "THEN 'nightTime' ELSE 'otherTime' END, `dateTime`, extra, "
    "CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) FROM bid "
    "WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    "q15": f"SELECT {_DAY}, {_by_rank('COUNT(*)')}, {_by_rank('COUNT(DISTINCT bidder)')}, "
    f"{_by_rank('COUNT(DISTINCT auction)')} FROM bid GROUP BY {_DAY}",
    "q16": f"SELECT channel, {_DAY}, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')), "
    f"{_by_rank('COUNT(*)')}, {_by_rank('COUNT(DISTINCT bidder)')}, "
    f"{_by_rank('COUNT(DISTINCT auction)')} FROM bid GROUP BY channel, {_DAY}",
    "q17": f"SELECT auction, {_DAY}, {_by_rank('COUNT(*)')}, MIN(price), MAX(price), AVG(price), "
    f"SUM(price) FROM bid GROUP BY auction, {_DAY}",
    "q18": "SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (SELECT *, "
    "ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS place "
    "FROM bid) WHERE place <= 1",
    "q19": "SELECT auction, bidder, price, channel, url, `dateTime`, extra, place FROM (SELECT *, "
    "ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) "
    "WHERE place <= 10",
    "q20": "SELECT auction, bidder, price, channel, url, B.`dateTime`, B.extra, itemName, "
    "description, initialBid, reserve, A.`dateTime`, expires, seller, category, A.extra "
    "FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10",
    "q21": "SELECT auction, bidder, price, channel, CASE "
    + " ".join(f"WHEN LOWER(channel) = '{c}' THEN '{i}'" for i, c in enumerate(_LARGE))
    + f" ELSE {_CHANNEL_ID} END FROM bid WHERE {_CHANNEL_ID} IS NOT NULL OR "
    f"LOWER(channel) IN ({', '.join(repr(c) for c in _LARGE)})",
    "q22": "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3), "
    "SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5) FROM bid",
}

_BID = "auction BIGINT, bidder BIGINT, price BIGINT"
_SESSIONS = "bidder BIGINT, num BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)"
_WHOLE = f"{_BID}, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING"
_ITEM = (
    "itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
    "opened TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, itemExtra STRING"
)
_DECIMAL = "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3)"


def _numbers(count: int) -> str:
    return ", ".join(f"n{i} BIGINT" for i in range(count))


SINKS = {
    "q0": f"{_BID}, `dateTime` TIMESTAMP(3), extra STRING",
    "q1": f"{_DECIMAL}, `dateTime` TIMESTAMP(3), extra STRING",
    "q2": "auction BIGINT, price BIGINT",
    "q3": "name STRING, city STRING, state STRING, id BIGINT",
    "q4": "category BIGINT, final BIGINT",
    "q5": "auction BIGINT, num BIGINT",
    "q6": "seller BIGINT, price BIGINT",
    "q7": "auction BIGINT, price BIGINT, bidder BIGINT, `dateTime` TIMESTAMP(3), extra STRING",
    "q8": "id BIGINT, name STRING, starttime TIMESTAMP(3)",
    "q9": f"id BIGINT, {_ITEM}, {_BID}, bid_dateTime TIMESTAMP(3), bid_extra STRING",
    "q10": f"{_BID}, `dateTime` TIMESTAMP(3), extra STRING, dt STRING, hm STRING",
    "q11": _SESSIONS,
    "q12": _SESSIONS,
    "q13": f"{_BID}, `dateTime` TIMESTAMP(3), `value` STRING",
    "q14": f"{_DECIMAL}, timeType STRING, `dateTime` TIMESTAMP(3), extra STRING, letters INT",
    "q15": f"`day` STRING, {_numbers(12)}",
    "q16": f"channel STRING, `day` STRING, `minute` STRING, {_numbers(12)}",
    "q17": f"auction BIGINT, `day` STRING, {_numbers(8)}",
    "q18": _WHOLE,
    "q19": f"{_WHOLE}, place BIGINT",
    "q20": f"{_WHOLE}, {_ITEM}",
    "q21": f"{_BID}, channel STRING, channel_id STRING",
    "q22": f"{_BID}, channel STRING, dir1 STRING, dir2 STRING, dir3 STRING",
}


LEFT_OUT = {"q6": "Flink refuses it: OVER is not in the order of a time attribute behind a join"}

READS = {
    "q3": ("auction", "person"),
    "q8": ("auction", "person"),
    **dict.fromkeys(("q4", "q6", "q9", "q20"), ("auction", "bid")),
}
"""The tables of queries that do not read bids alone."""

STATE = ("q4", "q9", "q20")
"""Queries whose state is measured."""


def tables(folder: str) -> list[str]:
    """What the queries read."""
    found = [
        f"CREATE TABLE {name} ({columns}{_WATERMARK})" + _FILES.format(folder=folder, name=name)
        for name, columns in _TABLES.items()
    ]
    side = _FILES.format(folder=folder, name="side")
    return [*found, f"CREATE TABLE side (key BIGINT, `value` STRING){side}"]


def endless(query: str) -> str:
    """A query over auctions and bids whose tables wait for more files."""
    hint = "/*+ OPTIONS('source.monitor-interval' = '1 s') */"
    return re.sub(r"\b(auction|bid) (?:AS )?([AB])\b", rf"\1 {hint} AS \2", query)


def declarations(folder: str, rows: int, fewer: int) -> list[str]:
    """The tables, and a sink for each query: q10 writes files by day and minute."""
    sinks = []
    for name, columns in SINKS.items():
        options = " WITH ('connector' = 'blackhole')"
        if name == "q10":
            files = f"'path' = '{folder}/q10', 'format' = 'csv'"
            options = f" PARTITIONED BY (dt, hm) WITH ('connector' = 'filesystem', {files})"
        sinks.append(f"CREATE TABLE {name} ({columns}){options}")
    return [*tables(folder), *sinks]
