"""Catalogs of type `file`: tables that outlive their session, and that sessions share."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.cluster.sql_gateway.sessions import GatewaySession
from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.sql.catalog import DatabaseEntry, FileCatalog, FunctionEntry, TableEntry
from headrace.sql.catalog.entries import ColumnStatistics, TableStatistics
from headrace.sql.catalog.materialization import Freshness, Materialization
from headrace.sql.catalog.start_mode import StartMode
from headrace.table import EnvironmentSettings, Schema, StreamTableEnvironment, TableEnvironment
from headrace.table import expressions as e
from headrace.table.catalog import CatalogBaseTable, ObjectPath
from headrace.testing.connectors import check_catalog
from headrace.util.exceptions import (
    CatalogException,
    DatabaseNotEmptyException,
    TableAlreadyExistException,
)
from tests.s3_server import BUCKET, running_s3_server

DECLARED = """
CREATE TABLE orders (
  id BIGINT NOT NULL COMMENT 'the ''number''',
  `a b` ROW<x ARRAY<STRING NOT NULL>, y MAP<STRING, DECIMAL(10, 2)>>,
  part INT METADATA FROM 'partition' VIRTUAL,
  day STRING,
  twice AS id * 2 COMMENT 'both',
  ts TIMESTAMP_LTZ(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'all
of them' PARTITIONED BY (day) WITH (
  'connector' = 'kafka', 'topic' = 'it''s', 'properties.bootstrap.servers' = 'localhost:9092',
  'properties.sasl.password' = 'secret', 'format' = 'json', 'properties.k' = ': -#
%YAML')
"""


def session(directory: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"CREATE CATALOG shop WITH ('type' = 'file', 'path' = '{directory}')")
    t_env.use_catalog("shop")
    return t_env


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


def test_the_catalog_keeps_the_contract(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.execute_sql(DECLARED)
    t_env.execute_sql("CREATE VIEW big AS SELECT id, day FROM orders WHERE id > 7")
    t_env.execute_sql("CREATE DATABASE archive")
    t_env.execute_sql("CREATE TABLE archive.old (id INT) WITH ('connector' = 'blackhole')")
    tables = {"default": ["big", "orders"], "archive": ["old"]}
    check_catalog(lambda: FileCatalog("shop", str(tmp_path)), tables)


def test_declarations_are_the_same_in_the_next_session(tmp_path: Path) -> None:
    first = session(tmp_path)
    first.execute_sql(DECLARED)
    first.execute_sql("CREATE DATABASE `../odd` COMMENT 'x' WITH ('k' = 'v')")
    first.execute_sql("CREATE VIEW `../odd`.big COMMENT 'c' AS SELECT id, ts FROM orders")
    later = session(tmp_path)
    for statement in (
        "SHOW CREATE TABLE orders",
        "DESCRIBE orders",
        "SHOW CREATE VIEW `../odd`.big",
        "DESCRIBE `../odd`.big",
        "DESCRIBE DATABASE EXTENDED `../odd`",
        "SHOW DATABASES",
    ):
        assert rows(later, statement) == rows(first, statement), statement
    stores = [t.get_catalog("shop")._store for t in (first, later)]  # type: ignore[union-attr]
    assert stores[1].table("default", "orders").options == {
        "connector": "kafka",
        "topic": "it's",
        "properties.bootstrap.servers": "localhost:9092",
        "properties.sasl.password": "secret",
        "format": "json",
        "properties.k": ": -#\n%YAML",
    }
    assert stores[1].table("../odd", "big").comment == "c"
    # All of it is below the directory, and passwords are for its owner alone.
    assert sorted(p.name for p in tmp_path.parent.iterdir() if p.name == "odd") == []
    assert (tmp_path / "default/tables/orders.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "expression",
    [
        *("name IS JSON", "name IS JSON OBJECT", "x'1F'", "U&'\\00e9'", "a /* why */ + 1"),
        *("CAST(name AS TIMESTAMP WITH LOCAL TIME ZONE)", "TRIM(BOTH ' ' FROM name)", "`Json`"),
    ],
)
def test_expressions_are_kept_as_they_were_written(tmp_path: Path, expression: str) -> None:
    first = session(tmp_path)
    first.execute_sql(
        f"CREATE TABLE t (a INT, name STRING, `Json` STRING, c AS {expression} COMMENT 'c', "
        "ts TIMESTAMP(3), WATERMARK FOR ts AS CASE WHEN name IS JSON ARRAY THEN ts END) "
        "WITH ('connector' = 'datagen')"
    )
    later = session(tmp_path)
    for statement in ("DESCRIBE t", "SHOW CREATE TABLE t", "EXPLAIN SELECT c FROM t"):
        assert rows(later, statement) == rows(first, statement), statement
    found = later.get_catalog("shop")._store.table("default", "t")  # type: ignore[union-attr]
    assert [c.expression_text for c in found.columns if c.name == "c"] == [expression]
    assert found.watermark is not None
    assert found.watermark.text == "CASE WHEN name IS JSON ARRAY THEN ts END"


@pytest.mark.parametrize(
    "odd",
    [
        *("a\x85b\nc", "a\u2028b\nc", "a\nb\u2029c", "a\x85b c\u2029", "\n \n\n a\n\n"),
        "a\x85b\nc\u2028 d\u2029\n\ne\r\n \ufeff\t\U0001f600 ",
    ],
)
def test_text_is_kept_with_all_its_line_ends(tmp_path: Path, odd: str) -> None:
    first = session(tmp_path)
    first.execute_sql(f"CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'k' = '{odd}')")
    first.execute_sql(f"CREATE VIEW v AS SELECT\n '{odd}' AS x")
    store = session(tmp_path).get_catalog("shop")._store  # type: ignore[union-attr]
    assert store.table("default", "t").options["k"] == odd
    assert store.table("default", "v").view_text == f"SELECT\n '{odd}' AS x"


def test_sessions_with_other_default_databases_see_all_tables(tmp_path: Path) -> None:
    entry = TableEntry(options={"connector": "print"})
    FileCatalog("shop", str(tmp_path)).create_table("default", "t", entry, False)
    other = FileCatalog("shop", str(tmp_path), "web")
    assert sorted(other.list_databases()) == ["default", "web"]
    assert other.list_tables("default") == ["t"]


def test_a_database_whose_drop_was_interrupted_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = FileCatalog("shop", str(tmp_path))
    catalog.create_database("archive", DatabaseEntry(), False)
    catalog.create_table("archive", "t", TableEntry(options={"connector": "print"}), False)

    def interrupted(directory: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(catalog._files.storage, "delete_directory", interrupted)
        with pytest.raises(KeyboardInterrupt):
            catalog.drop_database("archive", False, True)
    assert sorted(FileCatalog("shop", str(tmp_path)).list_databases()) == ["archive", "default"]
    catalog.drop_database("archive", False, True)
    assert FileCatalog("shop", str(tmp_path)).list_databases() == ["default"]
    assert not (tmp_path / "archive").exists()


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.execute_sql("CREATE DATABASE archive")
    (tmp_path / "README.md").write_text("Tables of the shop")
    (tmp_path / ".gitignore").write_text("*.tmp")
    assert rows(t_env, "SHOW DATABASES") == [("archive",), ("default",)]


def test_sessions_see_what_others_change(tmp_path: Path) -> None:
    one, other = session(tmp_path), session(tmp_path)
    one.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    other.execute_sql("ALTER TABLE t ADD (b STRING)")
    assert [row[0] for row in rows(one, "DESCRIBE t")] == ["a", "b"]
    one.execute_sql("ALTER TABLE t RENAME TO u")
    assert rows(other, "SHOW TABLES") == [("u",)]
    with pytest.raises(TableAlreadyExistException):
        other.execute_sql("CREATE TABLE u (a INT) WITH ('connector' = 'print')")
    catalog = other.get_catalog("shop")
    assert catalog is not None
    with pytest.raises(DatabaseNotEmptyException):
        catalog.drop_database("default", False)
    other.execute_sql("DROP TABLE u")
    assert rows(one, "SHOW TABLES") == []
    one.execute_sql("CREATE DATABASE archive")
    one.execute_sql("CREATE TABLE archive.t (a INT) WITH ('connector' = 'blackhole')")
    other.execute_sql("DROP DATABASE archive CASCADE")
    assert rows(one, "SHOW DATABASES") == [("default",)]


def test_of_two_that_create_a_table_at_once_one_does(tmp_path: Path) -> None:
    catalogs = [FileCatalog("shop", str(tmp_path)) for _ in range(8)]
    entry, begin = TableEntry(options={"connector": "print"}), threading.Barrier(len(catalogs))
    created: list[bool] = []

    def create(catalog: FileCatalog) -> None:
        begin.wait()
        created.append(catalog.create_table("default", "t", entry, True))

    threads = [threading.Thread(target=create, args=(c,)) for c in catalogs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(created) == [False] * 7 + [True]
    assert [p.name for p in (tmp_path / "default/tables").iterdir()] == ["t.yaml"]


def test_functions_and_models_are_kept(tmp_path: Path) -> None:
    one = session(tmp_path)
    one.execute_sql("CREATE FUNCTION dump AS 'json.dumps' LANGUAGE PYTHON")
    one.execute_sql(
        "CREATE MODEL m INPUT (a STRING) OUTPUT (b STRING) COMMENT 'it' WITH ('provider' = 'x')"
    )
    later = session(tmp_path)
    assert rows(later, "SHOW USER FUNCTIONS") == [("dump",)]
    assert rows(later, "SHOW CREATE MODEL m") == rows(one, "SHOW CREATE MODEL m")
    store = later.get_catalog("shop")._store  # type: ignore[union-attr]
    found = store.function("default", "dump")
    assert (found.identifier, found.language) == ("json.dumps", "PYTHON")
    later.execute_sql("DROP FUNCTION dump")
    later.execute_sql("DROP MODEL m")
    assert rows(one, "SHOW USER FUNCTIONS") == rows(one, "SHOW MODELS") == []


def test_partitions_and_statistics_are_kept(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.execute_sql(
        "CREATE TABLE t (a INT, day STRING) PARTITIONED BY (day) WITH ('connector' = 'blackhole')"
    )
    t_env.execute_sql("ALTER TABLE t ADD PARTITION (day = '2024-01-01') WITH ('k' = 'v')")
    t_env.execute_sql("ALTER TABLE t ADD PARTITION (day = '2024-01-02')")
    t_env.execute_sql("ALTER TABLE t DROP PARTITION (day = '2024-01-02')")
    spec = (("day", "2024-01-01"),)
    figures = ColumnStatistics({"a": {"max": Decimal("1.50"), "ndv": 3}})
    FileCatalog("shop", str(tmp_path)).put_column_statistics("default", "t", figures, spec)
    sizes = TableStatistics(row_count=7)
    FileCatalog("shop", str(tmp_path)).put_table_statistics("default", "t", sizes, spec)
    later = FileCatalog("shop", str(tmp_path))
    assert later.list_partitions("default", "t") == [spec]
    found = later.find_partition("default", "t", spec)
    assert found is not None
    assert found.options == {"k": "v"}
    assert later.column_statistics("default", "t", spec) == figures
    assert later.table_statistics("default", "t", spec) == sizes


def test_a_materialized_table_is_kept_with_its_query_and_its_job(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.execute_sql("CREATE TABLE src (id INT, ds STRING) WITH ('connector' = 'datagen')")
    source = FileCatalog("shop", str(tmp_path)).table("default", "src")
    query = "SELECT id, ds\nFROM src"
    filled = Materialization(
        query,
        ("shop", "default"),
        Freshness(30, "SECOND"),
        "CONTINUOUS",
        StartMode("FROM_NOW", (7, "DAY")),
        "SUSPENDED",
        "0" * 31 + "1",
        "s3://savepoints/1",
    )
    options = {"connector": "blackhole", "partition.fields.ds.date-formatter": "yyyy"}
    entry = replace(source, options=options, partition_keys=("ds",), materialization=filled)
    FileCatalog("shop", str(tmp_path)).create_table("default", "m", entry, False)
    found = FileCatalog("shop", str(tmp_path)).table("default", "m")
    assert found.materialization == filled
    assert (found.options, found.partition_keys) == (options, ("ds",))
    assert rows(t_env, "SHOW MATERIALIZED TABLES") == [("m",)]


def test_a_gateway_that_was_started_again_has_the_tables(tmp_path: Path) -> None:
    kept = Configuration.from_dict(
        {
            "table.catalog-store.kind": "file",
            "table.catalog-store.file.path": str(tmp_path / "catalogs"),
        }
    )
    first = GatewaySession(None, kept)
    first.configure(f"CREATE CATALOG shop WITH ('type' = 'file', 'path' = '{tmp_path}/shop')")
    first.configure("USE CATALOG shop")
    first.configure("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    first.close()
    again = GatewaySession(None, kept)
    again.configure("USE CATALOG shop")
    assert again.session.catalogs.list_tables() == ["t"]
    again.close()


@pytest.mark.server
def test_the_files_may_be_in_an_object_store() -> None:
    with running_s3_server() as server:
        settings = Configuration.from_dict(server.settings)
        catalogs = [FileCatalog("shop", f"s3://{BUCKET}/shop") for _ in range(2)]
        for catalog in catalogs:
            catalog.open(settings)
        assert catalogs[0].list_databases() == ["default"]
        entry = TableEntry(options={"connector": "print"})
        catalogs[0].create_table("default", "t", entry, False)
        made = iter(catalogs)
        check_catalog(lambda: next(made), {"default": ["t"]})
        catalogs[1].rename_table("default", "t", "u", False)
        assert catalogs[0].list_tables("default") == ["u"]
        catalogs[0].create_database("archive", DatabaseEntry(), False)
        catalogs[0].create_table("archive", "t", entry, False)
        catalogs[1].drop_database("archive", False, True)
        assert catalogs[0].list_databases() == ["default"]
        assert catalogs[0].find_table("archive", "t") is None


def test_what_only_this_program_knows_is_refused(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    catalog = t_env.get_catalog("shop")
    assert catalog is not None
    schema = Schema.new_builder().column_by_expression("b", e.col("a") + 1).build()
    table = CatalogBaseTable.create_table(schema, [], {"connector": "blackhole"}, "")
    with pytest.raises(CatalogException, match=r"column 'b' is an expression of the Table API"):
        catalog.create_table(ObjectPath("default", "t"), table, False)
    with pytest.raises(CatalogException, match=r"use CREATE FUNCTION f AS 'module\.f'"):
        catalog._store.put_function("default", "f", FunctionEntry("a.b", function=lambda x: x))
    view = StreamTableEnvironment.create().from_elements([(1,)])
    with pytest.raises(CatalogException, match=r"use CREATE VIEW"):
        catalog._store.create_table("default", "v", TableEntry(plan=view), False)
    assert rows(t_env, "SHOW TABLES") == []


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    (tmp_path / "default/tables/t.yaml").write_text("create: CREATE TABLE t (")
    with pytest.raises(CatalogException, match=r"t\.yaml is not what (.|\n)* mend the file"):
        t_env.execute_sql("DESCRIBE t")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("'x' = 'y'", "Unsupported options found for 'file': x"),
        ("'default-database' = 'd'", "needs the option 'path'"),
        ("'path' = 'tables'", r"must be an absolute one, such as '/.*/tables'"),
    ],
)
def test_options_are_checked(options: str, why: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(SqlError, match=why):
        t_env.execute_sql(f"CREATE CATALOG c WITH ('type' = 'file', {options})")


def test_a_directory_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(json.dumps({}))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(CatalogException, match=f"cannot use {tmp_path}/file"):
        t_env.execute_sql(f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{tmp_path}/file')")
