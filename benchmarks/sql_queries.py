"""The SQL of the benchmark, the same text for headrace and for Flink. Needs neither of them."""

from __future__ import annotations

KEYS = 1_000

_COLUMNS = "id BIGINT, k BIGINT, price BIGINT, amount DOUBLE, item STRING, ts TIMESTAMP(3)"

_PARQUET = (
    "CREATE TABLE {name} (" + _COLUMNS + ", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
    "WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet')"
)
_DATAGEN = (
    "CREATE TABLE {name} (id BIGINT, k BIGINT, price BIGINT, ts AS TO_TIMESTAMP_LTZ(id, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', "
    "'number-of-rows' = '{rows}', 'rows-per-second' = '1000000000', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{last}', "
    f"'fields.k.min' = '0', 'fields.k.max' = '{KEYS - 1}', "
    "'fields.price.min' = '1', 'fields.price.max' = '10000')"
)
_SINKS = (
    "CREATE TABLE rows_out (id BIGINT, price BIGINT, k BIGINT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE groups_out (k BIGINT, n BIGINT, total BIGINT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE windows_out (w TIMESTAMP(3), k BIGINT, n BIGINT, total BIGINT) "
    "WITH ('connector' = 'blackhole')",
    "CREATE TABLE numbers_out (id BIGINT) WITH ('connector' = 'blackhole')",
)

QUERIES = {
    "filter and projection": "INSERT INTO rows_out SELECT id, price * 2, k FROM {table} "
    "WHERE price > 3000",
    "group aggregate": "INSERT INTO groups_out SELECT k, COUNT(*), SUM(price) FROM {table} "
    "GROUP BY k",
    "tumbling window": "INSERT INTO windows_out SELECT window_start, k, COUNT(*), SUM(price) "
    "FROM TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
    "GROUP BY window_start, window_end, k",
}
UDF_QUERY = "INSERT INTO numbers_out SELECT plus_one(price) FROM {table}"


def plus_one(number: int) -> int:
    """The scalar function of the benchmark."""
    return number + 1


def declarations(folder: str, rows: int, fewer: int) -> list[str]:
    """All tables: of files and of datagen, with all rows and with fewer of them."""
    found = list(_SINKS)
    for count, suffix in ((rows, ""), (fewer, "_few")):
        path = f"{folder}/table{suffix}"
        found.append(_PARQUET.format(name=f"files{suffix}", path=path))
        found.append(_DATAGEN.format(name=f"generated{suffix}", rows=count, last=count - 1))
    return found
