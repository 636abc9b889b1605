"""The SQL of the benchmark of text, the same for headrace and for Flink. Needs neither of them."""

from __future__ import annotations

KEYS = 1_000
COLUMNS = "k BIGINT, v BIGINT, amount DOUBLE, item STRING"
GROUPS = "INSERT INTO groups_out SELECT k, COUNT(*), SUM(v) FROM {table} GROUP BY k"
LARGE = "INSERT INTO rows_out SELECT k, v, item FROM {table} WHERE amount > 0.5"

_SINKS = (
    "CREATE TABLE groups_out (k BIGINT, n BIGINT, total BIGINT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE rows_out (k BIGINT, v BIGINT, item STRING) WITH ('connector' = 'blackhole')",
)


def kafka_table(servers: str, topic: str) -> str:
    """A topic of JSON objects, from its start to its present end."""
    return (
        f"CREATE TABLE messages ({COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{servers}', 'format' = 'json', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )


def declarations(folder: str, rows: int, fewer: int) -> list[str]:
    """The sinks, and the tables: of files in a folder, or of the topic `kafka:SERVERS/TOPIC`."""
    if folder.startswith("kafka:"):
        servers, _, topic = folder.removeprefix("kafka:").partition("/")
        return [*_SINKS, kafka_table(servers, topic)]
    return [
        *_SINKS,
        *(
            f"CREATE TABLE {format_} ({COLUMNS}) WITH ('connector' = 'filesystem', "
            f"'path' = '{folder}/{format_}', 'format' = '{format_}')"
            for format_ in ("csv", "json")
        ),
    ]
