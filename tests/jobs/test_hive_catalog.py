"""The hive catalog: tables of an embedded Derby metastore.

Whether a Spark session has Hive support is decided when it starts, so the program runs in a process
of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.util.exceptions import CatalogException

pytestmark = pytest.mark.timeout(300)

SITE = """<configuration>
  <property>
    <name>javax.jdo.option.ConnectionURL</name>
    <value>jdbc:derby:;databaseName={folder}/metastore;create=true</value>
  </property>
  <property>
    <name>hive.metastore.warehouse.dir</name>
    <value>{folder}/warehouse</value>
  </property>
</configuration>
"""

PROGRAM = """
import sys

from headrace.datastream import StreamExecutionEnvironment
from headrace.sql.catalog.hive import hive_catalog
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.catalog import HiveCatalog
from headrace.testing.connectors import check_catalog

folder = sys.argv[1]
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(f"CREATE CATALOG hive WITH ('type' = 'hive', 'hive-conf-dir' = '{folder}')")
print([tuple(row) for row in t_env.execute_sql("SHOW DATABASES IN hive").collect()])
spark = StreamExecutionEnvironment.get_execution_environment().get_spark_session()
spark.sql("CREATE DATABASE sales")
spark.sql("CREATE TABLE sales.orders (id INT, shop STRING) STORED AS ORC")
spark.sql("INSERT INTO sales.orders VALUES (1, 'a'), (2, 'b'), (3, 'a')")
print([row[:2] for row in map(tuple, t_env.execute_sql("DESCRIBE hive.sales.orders").collect())])
found = t_env.execute_sql("SELECT id, shop FROM hive.sales.orders WHERE shop = 'a'").collect()
print(sorted(map(tuple, found)))
t_env.register_catalog("again", HiveCatalog("again", "sales", folder))
t_env.use_catalog("again")
print(t_env.list_tables())
options = {"default-database": "sales", "hive-conf-dir": folder}
check_catalog(lambda: hive_catalog("hive", options), {"default": [], "sales": ["orders"]})
"""


def test_tables_of_a_metastore_are_read(tmp_path: Path) -> None:
    (tmp_path / "hive-site.xml").write_text(SITE.format(folder=tmp_path))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == [
        "[('default',)]",
        "[('id', 'INT'), ('shop', 'STRING')]",
        "[(1, 'a'), (3, 'a')]",
        "['orders']",
    ]
    assert (tmp_path / "metastore").is_dir()


def test_a_session_without_hive_support_is_not_enough() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE s (a INT) WITH ('connector' = 'blackhole')")
    t_env.execute_sql("INSERT INTO s VALUES (1)").wait()
    t_env.execute_sql("CREATE CATALOG hive WITH ('type' = 'hive')")
    with pytest.raises(CatalogException, match="needs a Spark session with Hive support"):
        t_env.execute_sql("SHOW TABLES FROM hive.`default`")
