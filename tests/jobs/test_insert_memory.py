"""The driver of an INSERT does not get the rows that it inserts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
ROWS = 200_000
WIDTH = 1_000
MIB = 1 << 20
PROGRAM = f"""
import resource, sys
from headrace.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "2")
# Spark ends a job whose tasks send more than that to the driver.
t_env.get_config().set("spark.driver.maxResultSize", "16m")
folder, how = sys.argv[1:]


def run(count):
    t_env.execute_sql(f'''CREATE TEMPORARY TABLE made_{{count}} (id BIGINT, n INT) WITH (
        'connector' = 'datagen', 'number-of-rows' = '{{count}}', 'fields.id.kind' = 'sequence',
        'fields.id.start' = '1', 'fields.id.end' = '{{count}}')''')
    t_env.execute_sql(f'''CREATE TEMPORARY TABLE kept_{{count}} (id BIGINT, name STRING) WITH (
        'connector' = 'filesystem', 'path' = '{{folder}}/{{count}}', 'format' = 'parquet')''')
    query = (
        f"SELECT id, REPEAT(CAST(MAX(n) AS STRING) || '-', {WIDTH // 8}) FROM made_{{count}} "
        "GROUP BY id"
    )
    if how == "insert":
        t_env.execute_sql(f"INSERT INTO kept_{{count}} {{query}}").wait()
    else:
        list(t_env.execute_sql(query).collect())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


small, large = run(1_000), run({ROWS})
print("more", large - small)
"""


def test_memory_of_the_driver_does_not_grow_with_what_is_inserted(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), "insert"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ds.dataset(tmp_path / str(ROWS)).count_rows() == ROWS
    more = int(ran.stdout.split("more ")[1])
    assert more < ROWS * WIDTH // 4, f"{more / MIB:.0f} MiB"
