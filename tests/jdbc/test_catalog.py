"""The jdbc catalog: tables of real servers, without declaring them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.catalog import CatalogStore
from headrace.sql.catalog.jdbc import jdbc_catalog
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.catalog import JdbcCatalog
from headrace.testing.connectors import check_catalog
from headrace.util.exceptions import CatalogException
from tests.jdbc.test_tables import Table
from tests.sql.sessions import LocalSession
from tools.database_server import DatabaseServer, MariaDbServer, PostgreSqlServer

pytestmark = pytest.mark.timeout(180)

_numbers = itertools.count(1)


def catalog_options(server: DatabaseServer, **changed: str) -> str:
    given = {
        "type": "jdbc",
        "base-url": server.url.removesuffix(f"/{server.database}"),
        "default-database": server.database,
        "username": server.user,
        "password": server.password,
        **{k.replace("_", "-"): v for k, v in changed.items()},
    }
    return ", ".join(f"'{k}' = '{v}'" for k, v in given.items() if v)


def session_with(server: DatabaseServer) -> LocalSession:
    session = LocalSession()
    session.execute(f"CREATE CATALOG db WITH ({catalog_options(server)})")
    session.execute("USE CATALOG db")
    return session


def environment(server: DatabaseServer) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"CREATE CATALOG db WITH ({catalog_options(server)})")
    t_env.execute_sql("USE CATALOG db")
    return t_env


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_the_catalog_keeps_the_contract(server: Any) -> None:
    Table(server, "id INT PRIMARY KEY, name VARCHAR(40)")
    given = {
        "base-url": server.url.removesuffix(f"/{server.database}"),
        "default-database": server.database,
        "username": server.user,
        "password": server.password,
    }

    def made() -> CatalogStore:
        return jdbc_catalog("db", given)

    catalog = made()
    check_catalog(made, {d: catalog.list_tables(d) for d in catalog.list_databases()})


def test_tables_are_there_without_a_declaration(server: Any) -> None:
    source = Table(server, "id INT PRIMARY KEY, name VARCHAR(40)")
    target = Table(server, "name VARCHAR(40) PRIMARY KEY, many BIGINT NOT NULL")
    source.execute(f"INSERT INTO {source.name} VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    session = session_with(server)
    session.insert(
        f"INSERT INTO {target.name} SELECT name, COUNT(*) FROM {source.name} GROUP BY name"
    )
    assert target.rows() == [("a", 2), ("b", 1)]


def test_databases_and_tables_are_listed(server: Any) -> None:
    table = Table(server, "id INT PRIMARY KEY")
    t_env = environment(server)
    assert (server.database,) in rows(t_env, "SHOW DATABASES")
    # Every database of PostgreSQL can have tables, also the one that is there from the beginning.
    own = {("postgres",), ("mysql",), ("template1",)} & set(rows(t_env, "SHOW DATABASES"))
    assert own == ({("postgres",)} if server.product == "postgresql" else set())
    prefix = "public." if server.product == "postgresql" else ""
    assert (prefix + table.name,) in rows(t_env, "SHOW TABLES")
    with pytest.raises(SqlError, match="nothing"):
        t_env.execute_sql("SELECT * FROM nothing")
    with pytest.raises(CatalogException, match="has no CREATE TABLE"):
        t_env.execute_sql("CREATE TABLE mine (id INT) WITH ('connector' = 'datagen')")


POSTGRESQL = {
    "SMALLINT": "SMALLINT",
    "SERIAL": "INT NOT NULL",
    "BIGINT NOT NULL": "BIGINT NOT NULL",
    "REAL": "FLOAT",
    "DOUBLE PRECISION": "DOUBLE",
    "NUMERIC(10, 2)": "DECIMAL(10, 2)",
    "NUMERIC": "DECIMAL(38, 18)",
    "BOOLEAN": "BOOLEAN",
    "BYTEA": "BYTES",
    "CHAR(3)": "CHAR(3)",
    "VARCHAR(9)": "VARCHAR(9)",
    "TEXT": "STRING",
    "TIMESTAMP(3)": "TIMESTAMP(3)",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ(6)",
    "TIME(0)": "TIME(0)",
    "DATE": "DATE",
    "INT[]": "ARRAY<INT>",
    "TEXT[]": "ARRAY<STRING>",
}
MARIADB = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "TINYINT UNSIGNED": "SMALLINT",
    "SMALLINT UNSIGNED": "INT",
    "MEDIUMINT": "INT",
    "INT UNSIGNED NOT NULL": "BIGINT NOT NULL",
    "BIGINT UNSIGNED": "DECIMAL(20, 0)",
    "DECIMAL(10, 2)": "DECIMAL(10, 2)",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "CHAR(3)": "CHAR(3)",
    "VARCHAR(9)": "VARCHAR(9)",
    "LONGTEXT": "STRING",
    "ENUM('a', 'b')": "STRING",
    "BLOB": "BYTES",
    "DATETIME(3)": "TIMESTAMP(3)",
    "TIME": "TIME(0)",
    "DATE": "DATE",
}


def described(server: DatabaseServer, types: dict[str, str]) -> dict[str, str]:
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(types))
    table = Table(server, columns)
    found = rows(environment(server), f"DESCRIBE {table.name}")
    nullable = {True: "", False: " NOT NULL"}
    return {t: f"{row[1]}{nullable[row[2]]}" for t, row in zip(types, found, strict=True)}


def test_columns_have_flinks_types_of_postgresql(postgresql: PostgreSqlServer) -> None:
    assert described(postgresql, POSTGRESQL) == POSTGRESQL


def test_columns_have_flinks_types_of_mysql(mariadb: MariaDbServer) -> None:
    assert described(mariadb, MARIADB) == MARIADB


def test_a_type_that_is_none_of_ours_is_said(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, place POINT")
    with pytest.raises(SqlError, match="no type for point of its column place"):
        environment(postgresql).execute_sql(f"DESCRIBE {table.name}")


def test_tables_of_schemas_have_their_name_in_front(postgresql: PostgreSqlServer) -> None:
    schema = f"s{next(_numbers)}"
    with postgresql.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f'CREATE TABLE {schema}.t (b INT, a INT, "C" TEXT, PRIMARY KEY (a, b))')
        connection.execute(f"INSERT INTO {schema}.t VALUES (1, 2, 'x')")
    t_env = environment(postgresql)
    assert (f"{schema}.t",) in rows(t_env, "SHOW TABLES")
    shown = rows(t_env, f"DESCRIBE `{schema}.t`")
    assert [row[0] for row in shown] == ["b", "a", "C"]
    assert {row[3] for row in shown} == {"PRI(a, b)", None}
    session = session_with(postgresql)
    assert session.query(f"SELECT `C` FROM `{schema}.t`").materialized() == [("x",)]


def test_a_program_can_register_one(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT PRIMARY KEY")
    server = postgresql
    base = server.url.removesuffix(f"/{server.database}")
    catalog = JdbcCatalog("shop", server.database, server.user, server.password, base)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.register_catalog("shop", catalog)
    assert f"public.{table.name}" in catalog.list_tables(server.database)
    found = t_env.from_path(f"shop.{server.database}.{table.name}").get_schema()
    assert found.get_field_names() == ["id"]


WRONG = [
    ({"password": "wrong"}, "refuses the connection"),
    ({"username": ""}, "needs the options username"),
    ({"base_url": "jdbc:postgresql://127.0.0.1:1/shop"}, "names a server and not a database"),
    ({"base_url": "jdbc:oracle://127.0.0.1:1"}, "there is no connector for 'oracle'"),
    ({"colour": "red"}, "Unsupported options found for 'jdbc': colour"),
]


@pytest.mark.parametrize(("changed", "words"), WRONG, ids=[next(iter(c)) for c, _ in WRONG])
def test_a_wrong_option_is_refused(
    postgresql: PostgreSqlServer, changed: dict[str, str], words: str
) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(HeadraceError, match=words):
        t_env.execute_sql(f"CREATE CATALOG db WITH ({catalog_options(postgresql, **changed)})")
    assert rows(t_env, "SHOW CATALOGS") == [("default_catalog",)]
