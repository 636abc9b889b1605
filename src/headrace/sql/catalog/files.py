"""The catalog that outlives its session, in files that sessions share: `'type' = 'file'`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import quote, unquote

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.runtime.storage import Storage, Storages, is_local, join, local_path
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.entries import DatabaseEntry
from headrace.sql.catalog.file_contents import Form, database_form, form_of
from headrace.sql.catalog.keeping import KeepingCatalog, Kind, Shelf
from headrace.sql.catalog.store import CatalogStore
from headrace.util.exceptions import CatalogException

__all__ = ["FileCatalog", "file_catalog"]

_OPTIONS = ("path", "default-database")
_SUFFIX = ".yaml"
_DATABASE = "database.yaml"


class _Files(Shelf):
    """A directory for each database, and in it one for each kind, with a file for each object.

    Files are read whenever something is asked for, so that a session sees what others have done.
    """

    def __init__(self, path: str, default_database: str) -> None:
        self._path = path
        self._default = default_database
        self.storage: Storage = Storages().of(path)
        self._read: dict[str, tuple[bytes, Any]] = {}
        """What files had when they were last read, and what that means."""

    def check(self) -> None:
        """See whether the directory can be read."""
        with self._asking(self._path):
            self.storage.names(self._path)

    # Databases.

    def databases(self) -> list[str]:
        with self._asking(self._path):
            found = {unquote(name) for name in self.storage.names(self._path)}
        return [n for n in {*found, self._default} if self.database(n) is not None]

    def database(self, name: str) -> DatabaseEntry | None:
        found: DatabaseEntry | None = self._content(self._database_file(name), database_form)
        return DatabaseEntry() if found is None and name == self._default else found

    def put_database(self, name: str, entry: DatabaseEntry) -> None:
        self._write(self._database_file(name), database_form.write(name, entry))

    def remove_database(self, name: str) -> None:
        file = self._database_file(name)
        with self._asking(file):
            # First what is in it: of a database that is gone, nothing may come back.
            for kind in get_args(Kind):
                self.storage.delete_directory(join(self._directory(name), kind))
            self.storage.delete(file)
            self.storage.delete_directory(self._directory(name))

    # Objects.

    def names(self, database: str, kind: Kind) -> list[str]:
        directory = join(self._directory(database), kind)
        with self._asking(directory):
            found = self.storage.names(directory)
        return [unquote(f.removesuffix(_SUFFIX)) for f in found if f.endswith(_SUFFIX)]

    def get(self, database: str, kind: Kind, name: str) -> Any:
        return self._content(self._file(database, kind, name), form_of(kind))

    def put(self, database: str, kind: Kind, name: str, kept: Any) -> None:
        self._write(self._file(database, kind, name), form_of(kind).write(name, kept))

    def add(self, database: str, kind: Kind, name: str, kept: Any) -> bool:
        path = self._file(database, kind, name)
        content = form_of(kind).write(name, kept)
        file = self._database_file(database)
        if database == self._default and self._content(file, database_form) is None:
            # Sessions may have another default database; to them, this one is there by its file.
            with self._asking(file):
                self.storage.write_new_private(file, database_form.write(database, DatabaseEntry()))
        with self._asking(path):
            return self.storage.write_new_private(path, content)

    def remove(self, database: str, kind: Kind, name: str) -> None:
        path = self._file(database, kind, name)
        with self._asking(path):
            self.storage.delete(path)

    # Files.

    def _directory(self, database: str) -> str:
        return join(self._path, _quoted(database))

    def _database_file(self, name: str) -> str:
        return join(self._directory(name), _DATABASE)

    def _file(self, database: str, kind: Kind, name: str) -> str:
        return join(self._directory(database), kind, _quoted(name) + _SUFFIX)

    def _content(self, path: str, form: Form) -> Any:
        with self._asking(path):
            try:
                content = self.storage.read(path)
            except (FileNotFoundError, NotADirectoryError):
                # Beside the directories of databases there may be files of others.
                return None
        known = self._read.get(path)
        if known is None or known[0] != content:
            try:
                known = (content, form.read(content))
            except Exception as error:
                raise CatalogException(
                    f"{path} is not what a catalog of type 'file' writes: {error}; mend the file, "
                    "or delete it"
                ) from error
            self._read[path] = known
        return known[1]

    def _write(self, path: str, content: bytes) -> None:
        with self._asking(path):
            # Options may have passwords.
            self.storage.write_private(path, content)

    @contextlib.contextmanager
    def _asking(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CatalogException(
                f"a catalog of type 'file' cannot use {path}: {error}"
            ) from error


class FileCatalog(KeepingCatalog):
    """Keeps each database, table, view, function and model in a file of YAML.

    Args:
        name: What the session calls the catalog.
        path: A directory, or a URL such as `s3://bucket/catalog`.
        default_database: The database that `USE CATALOG` chooses; it is always there.
    """

    def __init__(self, name: str, path: str, default_database: str = "default") -> None:
        self._files = _Files(path, default_database)
        super().__init__(name, default_database, self._files)
        self._path = path

    def open(self, configuration: Configuration) -> None:
        self._files.storage = Storages.from_configuration(configuration).of(self._path)
        self._files.check()


def file_catalog(name: str, options: dict[str, str]) -> CatalogStore:
    """`file`, with the options `path` and `default-database`."""
    unknown = sorted(options.keys() - {*_OPTIONS, "property-version"})
    if unknown:
        raise SqlError(
            f"Unsupported options found for 'file': {', '.join(unknown)}"
            f"{suggestion(unknown[0], _OPTIONS)} Supported options: {', '.join(_OPTIONS)}"
        )
    path = options.get("path")
    if not path:
        raise SqlError(f"catalog {name} of type 'file' needs the option 'path', a directory")
    if is_local(path) and not os.path.isabs(local_path(path)):
        raise SqlError(
            f"the 'path' of catalog {name} must be an absolute one, such as "
            f"'{os.path.abspath(local_path(path))}': sessions with other working directories use "
            "the catalog, too"
        )
    return FileCatalog(name, path, options.get("default-database") or "default")


def _quoted(name: str) -> str:
    """A name as one of a file; `..` would lead elsewhere, and hidden files are not ours."""
    text = quote(name, safe=" $")
    return f"%2E{text[1:]}" if text.startswith(".") else text
