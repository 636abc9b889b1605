"""Catalogs, databases, partitions, functions and modules, in SQL and as objects."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    ModelDescriptor,
    Schema,
    TableEnvironment,
    TableSchema,
)
from headrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    Column,
    ObjectIdentifier,
    ObjectPath,
    ResolvedSchema,
    UniqueConstraint,
)
from headrace.table.module import HiveModule, ModuleEntry
from headrace.util import exceptions as e


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


@pytest.fixture
def catalog(t_env: TableEnvironment) -> Catalog:
    options = Configuration()
    options.set_string("type", "generic_in_memory")
    t_env.create_catalog("cc", CatalogDescriptor.of("cc", options, "mine"))
    found = t_env.get_catalog("cc")
    assert found is not None
    found.create_database("d1", CatalogDatabase.create_instance({"a": "b"}, "notes"), False)
    return found


class TestStatements:
    def test_a_catalog_is_made_described_changed_and_dropped(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE CATALOG c1 COMMENT 'hey' WITH ('type' = 'generic_in_memory', "
            "'default-database' = 'db0')"
        )
        assert rows(t_env, "SHOW CATALOGS LIKE 'c%'") == [("c1",)]
        assert rows(t_env, "SHOW CREATE CATALOG c1") == [
            (
                "CREATE CATALOG `c1`\nCOMMENT 'hey'\nWITH (\n  'default-database' = 'db0',\n"
                "  'type' = 'generic_in_memory'\n)\n",
            )
        ]
        t_env.execute_sql("ALTER CATALOG c1 COMMENT 'new'")
        assert rows(t_env, "DESCRIBE CATALOG EXTENDED c1") == [
            ("name", "c1"),
            ("type", "generic_in_memory"),
            ("comment", "new"),
            ("option:default-database", "db0"),
        ]
        t_env.execute_sql("USE CATALOG c1")
        assert rows(t_env, "SHOW CURRENT DATABASE") == [("db0",)]
        t_env.execute_sql("USE CATALOG default_catalog")
        t_env.execute_sql("DROP CATALOG c1")
        assert t_env.list_catalogs() == ["default_catalog"]

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("CREATE CATALOG c WITH ('type' = 'nope')", "any factory for identifier 'nope'"),
            ("CREATE CATALOG c", "do not contain an option key 'type'"),
            ("CREATE CATALOG default_catalog WITH ('type' = 'generic_in_memory')", "exists"),
            ("CREATE CATALOG c WITH ('type' = 'generic_in_memory', 'x' = 'y')", "Unsupported opt"),
            ("ALTER CATALOG default_catalog RESET ('type')", "does not support changing 'type'"),
            ("ALTER CATALOG nope SET ('a' = 'b')", "does not exist in the catalog store"),
            ("DESC CATALOG nope", "Cannot obtain metadata information from Catalog nope"),
            ("DROP CATALOG nope", "Catalog nope does not exist"),
            ("DROP CATALOG default_catalog", "currently in use"),
            ("USE CATALOG default_catalo", "did you mean 'default_catalog'?"),
            ("USE default_databas", "did you mean 'default_database'?"),
            ("DROP DATABASE default_database", "currently in use"),
            ("DROP DATABASE nope", "Database nope does not exist in Catalog default_catalog."),
            ("CREATE DATABASE default_database", "already exists in Catalog default_catalog."),
            ("ALTER DATABASE nope SET ('a' = 'b')", "Database nope does not exist"),
            ("SHOW DATABASES FROM nope", "Catalog nope does not exist"),
            ("SHOW TABLES FROM nope", "Database 'default_catalog'.'nope' doesn't exist."),
            ("SHOW CREATE TABLE nope", "SHOW CREATE TABLE. Table with identifier"),
            ("SHOW COLUMNS FROM nope", "'default_catalog.default_database.nope' doesn't exist"),
            ("DROP TABLE nope", "does not exist"),
            ("LOAD MODULE hiv", "any factory for identifier 'hiv', did you mean 'hive'?"),
            ("LOAD MODULE hive WITH ('hive-versio' = '3')", "did you mean 'hive-version'?"),
            ("LOAD MODULE core", "A module with name 'core' already exists"),
            ("USE MODULES core, core", "Module 'core' appears more than once"),
            ("UNLOAD MODULE cor", "No module with name 'cor' exists, did you mean 'core'?"),
            ("CREATE FUNCTION f AS 'org.Foo'", "is a function in JAVA"),
            ("CREATE FUNCTION f AS 'no.such.thing' LANGUAGE PYTHON", "cannot find the function"),
            ("DROP FUNCTION nope", "Function default_database.nope does not exist in Catalog"),
            ("DROP TEMPORARY SYSTEM FUNCTION nope", "A function named 'nope' doesn't exist."),
            ("DESCRIBE FUNCTION uper", "did you mean UPPER?"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, t_env: TableEnvironment, statement: str, message: str
    ) -> None:
        with pytest.raises(SqlError) as error:
            t_env.execute_sql(statement)
        assert message in str(error.value)

    def test_databases_have_properties_and_go_with_what_they_hold(
        self, t_env: TableEnvironment
    ) -> None:
        t_env.execute_sql("CREATE DATABASE db COMMENT 'x' WITH ('k' = 'v')")
        t_env.execute_sql("CREATE DATABASE IF NOT EXISTS db")
        t_env.execute_sql("ALTER DATABASE db SET ('k2' = 'v2')")
        assert rows(t_env, "DESCRIBE DATABASE EXTENDED db")[2:] == [
            ("comment", "x"),
            ("property:k", "v"),
            ("property:k2", "v2"),
        ]
        t_env.execute_sql("CREATE TABLE db.t (a INT) WITH ('connector' = 'blackhole')")
        assert rows(t_env, "SHOW TABLES IN db") == [("t",)]
        with pytest.raises(e.DatabaseNotEmptyException, match="is not empty"):
            t_env.execute_sql("DROP DATABASE db RESTRICT")
        t_env.execute_sql("DROP DATABASE db CASCADE")
        assert rows(t_env, "SHOW DATABASES LIKE 'd%'") == [("default_database",)]

    def test_names_with_catalog_and_database_are_found_from_everywhere(
        self, t_env: TableEnvironment
    ) -> None:
        t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
        t_env.execute_sql("CREATE DATABASE c.db")
        t_env.execute_sql("CREATE TABLE c.db.t (a INT) WITH ('connector' = 'datagen')")
        t_env.execute_sql("CREATE VIEW c.db.v AS SELECT a + 1 AS b FROM c.db.t")
        t_env.execute_sql("CREATE TEMPORARY VIEW c.db.w AS SELECT b FROM c.db.v")
        assert rows(t_env, "SHOW VIEWS FROM c.db") == [("v",), ("w",)]
        assert t_env.sql_query("SELECT w.b FROM c.db.w").get_schema().get_field_names() == ["b"]
        t_env.execute_sql("USE c.db")
        assert t_env.from_path("v").get_schema().get_field_names() == ["b"]

    def test_what_is_shown_can_be_executed_but_for_secrets(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE `o``k` (`a``b` INT COMMENT 'it''s', ts TIMESTAMP(3), "
            "v AS CAST(`a``b` AS VARCHAR), "
            "WATERMARK FOR ts AS ts - INTERVAL '1' SECONDS) COMMENT 'it''s' "
            "WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://u:pw1@h/d?password=pw2', "
            "'table-name' = 'it''s', 'password' = 'pw3')"
        )
        ((shown,),) = rows(t_env, "SHOW CREATE TABLE `o``k`")
        assert shown == (
            "CREATE TABLE `default_catalog`.`default_database`.`o``k` (\n"
            "  `a``b` INT COMMENT 'it''s',\n"
            "  `ts` TIMESTAMP(3),\n"
            "  `v` AS CAST(`a``b` AS VARCHAR),\n"
            "  WATERMARK FOR `ts` AS `ts` - INTERVAL '1' SECOND\n"
            ")\n"
            "COMMENT 'it''s'\n"
            "WITH (\n  'connector' = 'jdbc',\n  'password' = '******',\n"
            "  'table-name' = 'it''s',\n"
            "  'url' = 'jdbc:mysql://u:******@h/d?password=******'\n)\n"
        )
        t_env.execute_sql("DROP TABLE `o``k`")
        t_env.execute_sql(shown)
        assert rows(t_env, "SHOW CREATE TABLE `o``k`") == [(shown,)]

    @pytest.mark.parametrize(
        "expression",
        [
            "OVERLAY(`s` PLACING `s` FROM 1 FOR 2)",
            "TRIM(LEADING 'x' FROM `s`)",
            "JSON_VALUE(`s`, '$.a' RETURNING INT DEFAULT 1 ON EMPTY NULL ON ERROR)",
            "JSON_QUERY(`s`, '$.a' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON ERROR)",
            "JSON_OBJECT(KEY `s` VALUE `key` ABSENT ON NULL)",
            "JSON_OBJECT(`key` VALUE `value`)",
            "EXTRACT(WEEK FROM `ts`)",
            "TIMESTAMPADD(QUARTER, 1, FLOOR(`ts` TO WEEK))",
            "`s` SIMILAR TO `value`",
            "`s` LIKE 'a' ESCAPE '!' AND `ts` BETWEEN `ts` AND `ts`",
        ],
    )
    def test_computed_columns_are_shown_as_they_are_read(
        self, t_env: TableEnvironment, expression: str
    ) -> None:
        t_env.execute_sql(
            f"CREATE TABLE t (s STRING, `key` STRING, `value` STRING, ts TIMESTAMP(3), "
            f"c AS {expression.replace('`', '')}) WITH ('connector' = 'datagen')"
        )
        ((shown,),) = rows(t_env, "SHOW CREATE TABLE t")
        assert f"  `c` AS {expression}\n" in shown
        t_env.execute_sql("DROP TABLE t")
        t_env.execute_sql(shown)
        assert rows(t_env, "SHOW CREATE TABLE t") == [(shown,)]

    def test_catalogs_keep_their_secrets(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE CATALOG s WITH ('type' = 'generic_in_memory', "
            "'default-database' = 'it''s;password=pw')"
        )
        t_env.execute_sql("CREATE DATABASE s.d WITH ('a.secret' = 'pw')")
        ((shown,),) = rows(t_env, "SHOW CREATE CATALOG s")
        assert "'default-database' = 'it''s;password=******'" in shown
        assert "pw" not in str(rows(t_env, "DESCRIBE CATALOG EXTENDED s"))
        assert "pw" not in str(rows(t_env, "DESCRIBE DATABASE EXTENDED s.d"))

    def test_tables_show_how_they_were_made(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE t (a INT, b STRING COMMENT 'bb', dt STRING, "
            "PRIMARY KEY (a) NOT ENFORCED) COMMENT 'tab' DISTRIBUTED BY HASH(a) INTO 4 BUCKETS "
            "PARTITIONED BY (dt) "
            "WITH ('connector' = 'filesystem', 'path' = '/x', 'format' = 'json')"
        )
        assert rows(t_env, "SHOW CREATE TABLE t") == [
            (
                "CREATE TABLE `default_catalog`.`default_database`.`t` (\n"
                "  `a` INT NOT NULL,\n"
                "  `b` VARCHAR(2147483647) COMMENT 'bb',\n"
                "  `dt` VARCHAR(2147483647),\n"
                "  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED\n"
                ")\n"
                "COMMENT 'tab'\n"
                "DISTRIBUTED BY HASH(`a`) INTO 4 BUCKETS\n"
                "PARTITIONED BY (`dt`)\n"
                "WITH (\n  'connector' = 'filesystem',\n  'format' = 'json',\n  'path' = '/x'\n)\n",
            )
        ]
        with pytest.raises(e.TableException, match="Please use SHOW CREATE TABLE instead"):
            t_env.execute_sql("SHOW CREATE VIEW t")
        assert rows(t_env, "SHOW COLUMNS FROM t LIKE 'b%'")[0][:2] == ("b", "STRING")

    def test_buckets_can_be_changed(self, t_env: TableEnvironment) -> None:
        def buckets() -> list[str]:
            ((shown,),) = rows(t_env, "SHOW CREATE TABLE t")
            return [line for line in shown.splitlines() if line.startswith("DISTRIBUTED")]

        t_env.execute_sql("CREATE TABLE t (a INT, b INT) WITH ('connector' = 'blackhole')")
        with pytest.raises(SqlError, match="does not define a distribution"):
            t_env.execute_sql("ALTER TABLE t MODIFY DISTRIBUTION BY (a)")
        t_env.execute_sql("ALTER TABLE t ADD DISTRIBUTION BY RANGE(a)")
        t_env.execute_sql("ALTER TABLE t RENAME a TO c")
        assert buckets() == ["DISTRIBUTED BY RANGE(`c`)"]
        with pytest.raises(SqlError, match="already defined the distribution"):
            t_env.execute_sql("ALTER TABLE t ADD DISTRIBUTION BY (b)")
        with pytest.raises(SqlError, match="part of a key"):
            t_env.execute_sql("ALTER TABLE t DROP c")
        with pytest.raises(SqlError, match="is distributed into buckets"):
            t_env.execute_sql("INSERT INTO t SELECT 1, 2")
        t_env.execute_sql("CREATE TABLE u LIKE t")
        t_env.execute_sql("ALTER TABLE t MODIFY DISTRIBUTION INTO 3 BUCKETS")
        assert buckets() == ["DISTRIBUTED INTO 3 BUCKETS"]
        t_env.execute_sql("ALTER TABLE t DROP DISTRIBUTION")
        assert buckets() == []
        with pytest.raises(SqlError, match="does not define any distribution"):
            t_env.execute_sql("ALTER TABLE t DROP DISTRIBUTION")
        ((shown,),) = rows(t_env, "SHOW CREATE TABLE u")
        assert "DISTRIBUTED BY RANGE(`c`)" in shown

    def test_columns_of_a_key_stay_without_null(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'blackhole')"
        )
        t_env.execute_sql("ALTER TABLE t DROP PRIMARY KEY")
        assert "`a` INT NOT NULL" in rows(t_env, "SHOW CREATE TABLE t")[0][0]

    def test_partitions_are_added_shown_and_dropped(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE t (a INT, dt STRING) PARTITIONED BY (dt) WITH ('connector' = 'print')"
        )
        t_env.execute_sql("ALTER TABLE t ADD PARTITION (dt = '1') PARTITION (dt = '2')")
        t_env.execute_sql("ALTER TABLE t ADD IF NOT EXISTS PARTITION (dt = '1') WITH ('p' = 'q')")
        assert rows(t_env, "SHOW PARTITIONS t") == [("dt=1",), ("dt=2",)]
        assert rows(t_env, "SHOW PARTITIONS t PARTITION (dt = '2')") == [("dt=2",)]
        with pytest.raises(e.PartitionAlreadyExistsException, match="already exists"):
            t_env.execute_sql("ALTER TABLE t ADD PARTITION (dt = '1')")
        t_env.execute_sql("ALTER TABLE t DROP PARTITION (dt = '1')")
        t_env.execute_sql("ALTER TABLE t DROP IF EXISTS PARTITION (dt = '1')")
        assert rows(t_env, "SHOW PARTITIONS t") == [("dt=2",)]
        t_env.execute_sql("CREATE VIEW v AS SELECT a FROM (VALUES (1)) AS x(a)")
        with pytest.raises(e.TableException, match="is not partitioned"):
            t_env.execute_sql("SHOW PARTITIONS v")

    def test_functions_are_created_changed_and_dropped(self, t_env: TableEnvironment) -> None:
        here = f"{__name__}.double"
        t_env.execute_sql(f"CREATE FUNCTION f AS '{here}' LANGUAGE PYTHON")
        t_env.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION g AS '{here}' LANGUAGE PYTHON")
        assert rows(t_env, "SHOW USER FUNCTIONS") == [("f",), ("g",)]
        assert ("upper",) in rows(t_env, "SHOW FUNCTIONS LIKE 'up%'")
        assert rows(t_env, "DESCRIBE FUNCTION f")[2] == ("class name", here)
        with pytest.raises(e.FunctionAlreadyExistException):
            t_env.execute_sql(f"CREATE FUNCTION F AS '{here}' LANGUAGE PYTHON")
        t_env.execute_sql(f"ALTER FUNCTION f AS '{__name__}.triple' LANGUAGE PYTHON")
        assert rows(t_env, "DESCRIBE FUNCTION f")[2] == ("class name", f"{__name__}.triple")
        t_env.execute_sql("DROP FUNCTION f")
        t_env.execute_sql("DROP TEMPORARY SYSTEM FUNCTION g")
        assert rows(t_env, "SHOW USER FUNCTIONS") == []

    def test_modules_are_unloaded_and_loaded_again(self, t_env: TableEnvironment) -> None:
        assert rows(t_env, "SHOW FULL MODULES") == [("core", True)]
        t_env.execute_sql("UNLOAD MODULE core")
        assert rows(t_env, "SHOW MODULES") == []
        t_env.execute_sql("LOAD MODULE core")
        assert t_env.list_full_modules() == [ModuleEntry("core", True)]
        assert str(t_env.list_full_modules()) == "[ModuleEntry{name='core', used=true}]"

    def test_functions_of_hive_are_known_as_long_as_their_module_is_used(
        self, t_env: TableEnvironment
    ) -> None:
        known = set(t_env.list_functions())
        t_env.load_module("old", HiveModule("3.1.3"))
        assert t_env.list_modules() == ["core", "old"]
        assert {"get_json_object", "levenshtein"} <= {f for (f,) in rows(t_env, "SHOW FUNCTIONS")}
        with pytest.raises(SqlError, match="COLLECT_LIST is a function of Hive that the module"):
            t_env.sql_query("SELECT collect_list(x) FROM (VALUES (1)) AS t(x)")
        t_env.execute_sql("USE MODULES core")
        assert set(t_env.list_functions()) == known
        with pytest.raises(SqlError, match="No match found for function signature GET_JSON_OBJECT"):
            t_env.sql_query("SELECT get_json_object('{}', '$.x')")


def double(x: int) -> int:
    return 2 * x


def triple(x: int) -> int:
    return 3 * x


class TestCatalogObjects:
    def test_databases(self, t_env: TableEnvironment, catalog: Catalog) -> None:
        assert t_env.list_catalogs() == ["cc", "default_catalog"]
        assert t_env.get_catalog("nope") is None
        assert catalog.get_default_database() == "default"
        assert catalog.list_databases() == ["d1", "default"]
        held = catalog.get_database("d1")
        assert (held.get_properties(), held.get_comment()) == ({"a": "b"}, "notes")
        with pytest.raises(e.DatabaseAlreadyExistException, match="d1 already exists in Cata"):
            catalog.create_database("d1", held, False)
        catalog.create_database("d1", held, True)
        catalog.alter_database("d1", CatalogDatabase.create_instance({}), False)
        assert catalog.get_database("d1").get_properties() == {}
        with pytest.raises(e.DatabaseNotExistException, match="x does not exist in Catalog cc"):
            catalog.get_database("x")
        catalog.drop_database("d1", False)
        assert not catalog.database_exists("d1")

    def test_tables_of_the_api_are_tables_of_sql(
        self, t_env: TableEnvironment, catalog: Catalog
    ) -> None:
        schema = TableSchema.builder().field("a", DataTypes.INT()).build()
        table = CatalogBaseTable.create_table(schema, [], {"connector": "datagen"}, "tc")
        path = ObjectPath("d1", "t1")
        catalog.create_table(path, table, False)
        view = CatalogBaseTable.create_view("-", "SELECT a FROM cc.d1.t1", schema, {}, "vc")
        catalog.create_table(ObjectPath("d1", "v1"), view, False)
        assert catalog.list_tables("d1") == ["t1", "v1"]
        assert catalog.list_views("d1") == ["v1"]
        assert t_env.from_path("cc.d1.v1").get_schema().get_field_names() == ["a"]
        assert str(catalog.get_table(path).get_unresolved_schema()) == "(\n  `a` INT\n)"
        t_env.execute_sql("ALTER TABLE cc.d1.t1 SET ('rows-per-second' = '7')")
        assert catalog.get_table(path).get_options()["rows-per-second"] == "7"
        with pytest.raises(e.CatalogException, match="Existing table is 'VIEW' and new"):
            catalog.alter_table(ObjectPath("d1", "v1"), table, False)
        catalog.rename_table(path, "t2", False)
        assert catalog.table_exists(ObjectPath("d1", "t2"))
        with pytest.raises(e.TableNotExistException, match=r"d1\.t1 does not exist"):
            catalog.drop_table(path, False)
        with pytest.raises(e.TableAlreadyExistException, match=r"d1\.v1 already exists"):
            catalog.rename_table(ObjectPath("d1", "t2"), "v1", False)

    def test_partitions_and_statistics(self, catalog: Catalog) -> None:
        schema = Schema.new_builder().column("a", "INT").column("b", "STRING").build()
        path, spec = ObjectPath("d1", "t"), CatalogPartitionSpec({"b": "1"})
        catalog.create_table(path, CatalogBaseTable.create_table(schema, ["b"]), False)
        catalog.create_partition(path, spec, CatalogPartition.create_instance({"k": "v"}), False)
        assert [str(p) for p in catalog.list_partitions(path)] == ["CatalogPartitionSpec{{b=1}}"]
        assert catalog.get_partition(path, spec).get_properties() == {"k": "v"}
        wrong = CatalogPartitionSpec({"zz": "1"})
        assert not catalog.partition_exists(path, wrong)
        with pytest.raises(e.PartitionSpecInvalidException, match=r"partition keys \[b\]"):
            catalog.create_partition(path, wrong, CatalogPartition.create_instance({}), False)
        with pytest.raises(e.PartitionNotExistException):
            catalog.drop_partition(path, CatalogPartitionSpec({"b": "9"}), False)
        sizes = CatalogTableStatistics(1, 2, 3, 4)
        catalog.alter_table_statistics(path, sizes, False)
        assert catalog.get_table_statistics(path).get_row_count() == -1
        catalog.alter_partition_statistics(path, spec, sizes, False)
        assert catalog.bulk_get_partition_statistics(path, [spec])[0].get_total_size() == 3
        columns = CatalogColumnStatistics({"a": 5})
        catalog.alter_partition_column_statistics(path, spec, columns, False)
        found = catalog.get_partition_column_statistics(path, spec)
        assert found.get_column_statistics_data() == {"a": 5}

    def test_functions_are_loaded_when_they_are_used(
        self, t_env: TableEnvironment, catalog: Catalog
    ) -> None:
        path = ObjectPath("d1", "Nothing")
        catalog.create_function(path, CatalogFunction.create_instance("no.such"), False)
        assert catalog.list_functions("d1") == ["nothing"]
        with pytest.raises(SqlError, match="cannot find the function"):
            t_env.sql_query("SELECT cc.d1.nothing(1)")
        catalog.drop_function(path, False)
        with pytest.raises(e.FunctionNotExistException):
            catalog.get_function(path)

    def test_models_are_kept(self, t_env: TableEnvironment) -> None:
        schema = Schema.new_builder().column("a", "INT").build()
        builder = ModelDescriptor.for_provider("p").input_schema(schema).output_schema(schema)
        model = builder.option("k", "v").comment("c").build()
        assert t_env.create_model("m", model)
        assert not t_env.create_model("m", model, True)
        with pytest.raises(e.ModelAlreadyExistException):
            t_env.create_model("m", model)
        t_env.create_temporary_model("n", model)
        assert t_env.list_models() == ["m", "n"]
        assert t_env.drop_model("m")
        assert not t_env.drop_model("m")
        assert t_env.drop_temporary_model("n")

    def test_a_catalog_of_another_environment_can_be_registered(self, catalog: Catalog) -> None:
        other = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        other.register_catalog("shared", catalog)
        other.use_catalog("shared")
        other.use_database("d1")
        assert other.get_current_database() == "d1"


class TestPathsAndSchemas:
    def test_paths_compare_by_their_names(self) -> None:
        assert ObjectPath.from_string("a.b") == ObjectPath("a", "b") < ObjectPath("a", "c")
        with pytest.raises(ValueError, match=r"Cannot get split 'a\.b\.c'"):
            ObjectPath.from_string("a.b.c")
        name = ObjectIdentifier.of("c", "d", "o")
        assert (str(name), name.as_summary_string()) == ("`c`.`d`.`o`", "c.d.o")

    def test_a_declared_table_has_a_resolved_schema(self, t_env: TableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE zz (a INT NOT NULL, b AS a*2, ts TIMESTAMP(3), p AS PROCTIME(), "
            "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED) "
            "WITH ('connector' = 'datagen')"
        )
        schema = t_env.from_path("zz").get_resolved_schema()
        assert [str(c) for c in schema.get_columns()] == [
            "`a` INT NOT NULL",
            "`b` INT NOT NULL AS `a`*2",
            "`ts` TIMESTAMP(3) *ROWTIME*",
            "`p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME()",
        ]
        assert str(schema.get_watermark_specs()[0]) == (
            "WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts` - INTERVAL '1' SECOND"
        )
        key = schema.get_primary_key()
        assert isinstance(key, UniqueConstraint)
        assert str(key) == "CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED"
        assert schema.get_primary_key_indexes() == [0]

    def test_columns_are_written_as_flink_writes_them(self) -> None:
        stored = Column.physical("a", DataTypes.INT().not_null())
        known = Column.metadata("m", DataTypes.STRING(), "key", True)
        assert str(stored.with_comment("zz")) == "`a` INT NOT NULL COMMENT 'zz'"
        assert str(known) == "`m` STRING METADATA FROM 'key' VIRTUAL"
        schema = ResolvedSchema.of([stored, known])
        assert str(schema) == (
            "(\n  `a` INT NOT NULL,\n  `m` STRING METADATA FROM 'key' VIRTUAL\n)"
        )
        assert schema.get_column("q") is None
        assert (
            schema.to_sink_row_data_type()
            == DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT().not_null())]).not_null()
        )
