"""Catalogs that outlive a session: `table.catalog-store.kind` is `file`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.cluster.sql_gateway.sessions import GatewaySession
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.catalog import Catalog
from headrace.util.exceptions import CatalogException

MEMORY = "'type' = 'generic_in_memory'"


def settings(directory: Path) -> Configuration:
    return Configuration.from_dict(
        {
            "table.catalog-store.kind": "file",
            "table.catalog-store.file.path": str(directory / "catalogs"),
        }
    )


def session(directory: Path) -> TableEnvironment:
    given = EnvironmentSettings.new_instance().with_configuration(settings(directory))
    return TableEnvironment.create(given.build())


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


def test_a_catalog_is_there_in_the_next_session(tmp_path: Path) -> None:
    options = f"{MEMORY}, 'default-database' = 'web'"
    session(tmp_path).execute_sql(f"CREATE CATALOG shop WITH ({options})")
    assert (tmp_path / "catalogs" / "shop.yaml").read_text() == (
        "default-database: web\ntype: generic_in_memory\n"
    )
    # Options may have passwords.
    assert (tmp_path / "catalogs" / "shop.yaml").stat().st_mode & 0o777 == 0o600
    later = session(tmp_path)
    assert rows(later, "SHOW CATALOGS") == [("default_catalog",), ("shop",)]
    later.execute_sql("USE CATALOG shop")
    assert later.get_current_database() == "web"
    later.execute_sql("ALTER CATALOG shop SET ('default-database' = 'desk')")
    described = rows(session(tmp_path), "DESCRIBE CATALOG EXTENDED shop")
    assert ("option:default-database", "desk") in described


def test_sessions_see_what_others_make_and_drop(tmp_path: Path) -> None:
    one, other = session(tmp_path), session(tmp_path)
    one.execute_sql(f"CREATE CATALOG shop WITH ({MEMORY})")
    with pytest.raises(CatalogException, match="Catalog shop already exists"):
        other.execute_sql(f"CREATE CATALOG shop WITH ({MEMORY})")
    other.execute_sql(f"CREATE CATALOG IF NOT EXISTS shop WITH ({MEMORY})")
    other.execute_sql("DROP CATALOG shop")
    assert rows(session(tmp_path), "SHOW CATALOGS") == [("default_catalog",)]


def test_the_gateway_has_the_same_catalogs(tmp_path: Path) -> None:
    session(tmp_path).execute_sql(f"CREATE CATALOG shop WITH ({MEMORY})")
    gateway = GatewaySession(None, settings(tmp_path))
    gateway.configure("USE CATALOG shop")
    gateway.configure(f"CREATE CATALOG desk WITH ({MEMORY})")
    gateway.close()
    assert ("desk",) in rows(session(tmp_path), "SHOW CATALOGS")


def test_a_catalog_that_a_program_registers_belongs_to_its_session(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    first = t_env.get_catalog("default_catalog")
    assert isinstance(first, Catalog)
    t_env.register_catalog("mine", first)
    assert rows(session(tmp_path), "SHOW CATALOGS") == [("default_catalog",)]
    with pytest.raises(CatalogException, match="does not exist in the catalog store"):
        t_env.execute_sql("ALTER CATALOG mine SET ('a' = 'b')")


def test_what_is_no_catalog_is_said_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs" / "odd.yaml").write_text("- 1\n")
    with pytest.raises(CatalogException, match=r"odd\.yaml must have the options of a catalog"):
        session(tmp_path).execute_sql("USE CATALOG odd")


def test_a_store_of_files_needs_a_directory() -> None:
    given = EnvironmentSettings.new_instance().with_configuration(
        Configuration.from_dict({"table.catalog-store.kind": "file"})
    )
    with pytest.raises(ConfigurationError, match=r"'table\.catalog-store\.file\.path' must name"):
        TableEnvironment.create(given.build())
