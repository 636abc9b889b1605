"""What a table environment does with catalogs, databases, modules and models."""

from __future__ import annotations

from headrace.sql.catalog.manager import path_of
from headrace.sql.functions.core_module import CORE_FUNCTIONS
from headrace.sql.session.models import check_model, create_model, drop_model
from headrace.sql.session.session import Session
from headrace.table.catalog import (
    Catalog,
    CatalogDescriptor,
)
from headrace.table.model_descriptor import ModelDescriptor
from headrace.table.module import Module, ModuleEntry

__all__ = ["CatalogEnvironment", "path_of", "session_of"]


def session_of(environment: CatalogEnvironment) -> Session:
    """What is behind an environment; for whoever builds upon it here, not for programs."""
    return environment._session


class CatalogEnvironment:
    """The part of `TableEnvironment` that keeps names."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # Catalogs and databases.

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog of a description and add it."""
        described = catalog_descriptor
        registry = self._session.catalogs.registry
        registry.create(catalog_name, described._options, described._comment, False)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog that is there already, such as one of another environment."""
        self._session.catalogs.registry.register(catalog_name, catalog._store)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """The catalog of a name; None if there is none."""
        found = self._session.catalogs.find_catalog(catalog_name)
        return None if found is None else Catalog(found)

    def list_catalogs(self) -> list[str]:
        """Names of catalogs."""
        return self._session.catalogs.registry.names()

    def get_current_catalog(self) -> str:
        """The name of the current catalog."""
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one."""
        self._session.catalogs.use_catalog(catalog_name)

    def list_databases(self) -> list[str]:
        """Databases of the current catalog."""
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_databases()

    def get_current_database(self) -> str:
        """The name of the current database."""
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database the current one."""
        self._session.catalogs.use_database((database_name,))

    # What the current database has.

    def list_tables(self) -> list[str]:
        """Tables and views of the current database."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """Views of the current database."""
        return self._session.catalogs.list_kind("VIEW")

    def list_materialized_tables(self) -> list[str]:
        """Materialized tables of the current database."""
        return self._session.catalogs.list_kind("MATERIALIZED TABLE")

    def list_temporary_tables(self) -> list[str]:
        """Temporary tables and views of the current database."""
        return sorted([*self._temporary(views=False), *self._temporary(views=True)])

    def list_temporary_views(self) -> list[str]:
        """Temporary views of the current database."""
        return self._temporary(views=True)

    def _temporary(self, views: bool) -> list[str]:
        catalogs = self._session.catalogs
        known = set(catalogs.list_kind("VIEW"))
        found = [name for name in catalogs.list_tables() if (name in known) == views]
        return [name for name in found if catalogs.is_temporary((name,))]

    def list_functions(self) -> list[str]:
        """Names of all functions, those of the module `core` as Flink lists them."""
        others = self._session.modules.function_names()
        return sorted({*CORE_FUNCTIONS, *others, *self.list_user_defined_functions()})

    def list_user_defined_functions(self) -> list[str]:
        """Names of users' functions."""
        return self._session.catalogs.user_functions()

    # Models.

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> bool:
        """Make a model known; False if there was one already."""
        return self._create_model(model_path, model_descriptor, ignore_if_exists, False)

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> None:
        """Make a model known until the session ends."""
        self._create_model(model_path, model_descriptor, ignore_if_exists, True)

    def _create_model(
        self, path: str, descriptor: ModelDescriptor, ignore_if_exists: bool, temporary: bool
    ) -> bool:
        entry = descriptor.entry()
        check_model(entry)
        return create_model(
            self._session.catalogs,
            path_of(path),
            entry,
            temporary=temporary,
            if_not_exists=ignore_if_exists,
        )

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Forget a model; False if there was none."""
        path = path_of(model_path)
        return drop_model(self._session.catalogs, path, if_exists=ignore_if_not_exists)

    def drop_temporary_model(self, model_path: str) -> bool:
        """Forget a temporary model; False if there was none."""
        path = path_of(model_path)
        return drop_model(self._session.catalogs, path, temporary=True, if_exists=True)

    def list_models(self) -> list[str]:
        """Models of the current database."""
        return self._session.catalogs.list_models()

    def list_temporary_models(self) -> list[str]:
        """Temporary models of the current database."""
        catalogs = self._session.catalogs
        return sorted(p[2] for p in catalogs.temporary_models if p[:2] == catalogs.namespace)

    # Modules.

    def list_modules(self) -> list[str]:
        """Names of modules in use."""
        return list(self._session.modules.used)

    def list_full_modules(self) -> list[ModuleEntry]:
        """All loaded modules and whether they are used."""
        return [ModuleEntry(name, used) for name, used in self._session.modules.entries()]

    def load_module(self, module_name: str, module: Module) -> None:
        """Load a module and use it last."""
        self._session.modules.load(module_name, module.kind)

    def unload_module(self, module_name: str) -> None:
        """Forget a module."""
        self._session.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Use modules in this order."""
        self._session.modules.use(module_names)
