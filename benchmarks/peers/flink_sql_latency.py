"""The paced keyed count as a statement of Flink SQL, in the JVM alone; prints one JSON line.

    python flink_sql_latency.py RATE SECONDS

Rows of the generator get the time at which they are made, and their counts the time at which they
leave the aggregate, in milliseconds: what the generator lags behind its rate does not count, which
is in Flink's favour. Flink prints the rows into a file, which is read afterwards.
"""

import os
import re
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime

from ages import summary
from pyflink.table import EnvironmentSettings, TableEnvironment

KEYS = 1000
STEPS_PER_MS = 10
ROW = re.compile(r"\+[IU]\[\d+, \d+, (\S+), (\S+)\]")


def run(rate, seconds):
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = env.get_config()
    config.set("parallelism.default", "2")
    config.set("execution.buffer-timeout.interval", "1 ms")
    config.set("table.local-time-zone", "UTC")
    env.execute_sql(
        f"""CREATE TABLE paced (k INT, made AS CURRENT_ROW_TIMESTAMP()) WITH (
            'connector' = 'datagen', 'rows-per-second' = '{int(rate)}',
            'number-of-rows' = '{int(rate * seconds)}',
            'fields.k.min' = '0', 'fields.k.max' = '{KEYS - 1}')"""
    )
    env.execute_sql(
        """CREATE TABLE counted (k INT, n BIGINT, made TIMESTAMP_LTZ(3), done TIMESTAMP_LTZ(3))
        WITH ('connector' = 'print')"""
    )
    env.execute_sql(
        """INSERT INTO counted SELECT k, n, made, CURRENT_ROW_TIMESTAMP() FROM (
            SELECT k, COUNT(*) AS n, MAX(made) AS made FROM paced GROUP BY k)"""
    ).wait()


def millis(text):
    text = text.rstrip("Z")
    parsed = datetime.fromisoformat(text + ".000" if "." not in text else (text + "00")[:23])
    return int(parsed.replace(tzinfo=UTC).timestamp() * 1000)


def main():
    rate, seconds = float(sys.argv[1]), float(sys.argv[2])
    output = tempfile.mkstemp(prefix="flink-sql-latency-")[1]
    saved = os.dup(1)
    target = os.open(output, os.O_WRONLY)
    os.dup2(target, 1)
    try:
        run(rate, seconds)
    finally:
        os.dup2(saved, 1)
    with open(output) as file:
        rows = [(millis(a), millis(b)) for line in file for a, b in ROW.findall(line)]
    os.unlink(output)
    since = (rows[0][0] + seconds * 500) if rows else 0
    # A difference of whole milliseconds is on average right at its middle.
    ages = Counter((done - made) * STEPS_PER_MS + 4 for made, done in rows if made >= since)
    print(summary(ages, seconds / 2))


main()
