"""Where checkpoints, savepoints and files of jobs are: local directories, and what fsspec reaches.

A path is a local one (`/data/checkpoints`, `file:///data/checkpoints`) or a URL such as
`s3://bucket/checkpoints`. A file appears whole or not at all, so that nobody ever sees half of one:
locally it is written under another name, synced and renamed; in an object store it is one put, or
an upload in parts that counts when it is completed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError

__all__ = [
    "LocalStorage",
    "Storage",
    "Storages",
    "is_local",
    "join",
    "local_path",
    "name_of",
    "register_scheme",
    "relative_to",
    "resolve",
    "scheme_of",
    "shared",
]


_COPY = 1024 * 1024


class Storage(ABC):
    """Files of one file system. What goes wrong is an `OSError`."""

    @abstractmethod
    def create(self, path: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """A new file to write in order. It is there when the block ends without an error."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a whole file at once; one that is there is replaced."""

    def write_private(self, path: str, data: bytes) -> None:
        """As `write`; where files have permissions, the owner alone may read the file."""
        self.write(path, data)

    def write_new_private(self, path: str, data: bytes) -> bool:
        """As `write_private`, unless there is such a file: then it stays, and the answer is False.

        An object store may not notice a file that another process writes in the same moment.
        """
        if self.exists(path):
            return False
        self.write_private(path, data)
        return True

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """A file to read; `seek` works."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """What is in a directory; nothing if it is not there."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""

    @abstractmethod
    def delete_directory(self, directory: str) -> None:
        """Delete a directory and everything in it, as far as possible."""

    def read(self, path: str) -> bytes:
        """A whole file."""
        with self.open(path) as file:
            return file.read()

    def read_range(self, path: str, start: int, end: int | None) -> bytes:
        """Some bytes of a file; a negative `start` counts from its end."""
        with self.open(path) as file:
            file.seek(start) if start >= 0 else _seek_back(file, -start)
            return file.read(-1 if end is None else end - start)

    def files(self, directory: str) -> list[str]:
        """The paths of all files in and below a directory, sorted."""
        found: list[str] = []
        for name in self.names(directory):
            path = join(directory, name)
            found += [path] if self.exists(path) else self.files(path)
        return sorted(found)

    def move(self, source: str, target: str) -> None:
        """Give a file another name. The target is there as a whole, or not yet."""
        with self.open(source) as old, self.create(target) as new:
            shutil.copyfileobj(old, new, _COPY)
        self.delete(source)

    def delete_empty_directory(self, directory: str) -> None:
        """Delete a directory if nothing is in it."""
        if not self.names(directory):
            self.delete_directory(directory)


def _seek_back(file: BinaryIO, count: int) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - count))


class LocalStorage(Storage):
    """Files on this machine, or on a file system that is mounted on all machines."""

    @contextlib.contextmanager
    def create(
        self,
        path: str,
        mode: int = 0o666,
        name: Callable[[Path, Path], None] = os.replace,
    ) -> Iterator[BinaryIO]:
        target = Path(local_path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        writer = f"{os.getpid()}-{threading.get_ident()}"
        temporary = target.with_name(f".{target.name}.{writer}.part")
        try:
            with open(temporary, "wb", opener=partial(os.open, mode=mode)) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            name(temporary, target)
            _sync_directory(target.parent)
        finally:
            temporary.unlink(missing_ok=True)

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as file:
            file.write(data)

    def write_private(self, path: str, data: bytes) -> None:
        with self.create(path, mode=0o600) as file:
            file.write(data)

    def write_new_private(self, path: str, data: bytes) -> bool:
        try:
            # Unlike a renamed file, a link takes the place of none.
            with self.create(path, mode=0o600, name=os.link) as file:
                file.write(data)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP):
                raise
            # A file system without links.
            return super().write_new_private(path, data)
        return True

    def open(self, path: str) -> BinaryIO:
        return open(local_path(path), "rb")

    def exists(self, path: str) -> bool:
        return os.path.isfile(local_path(path))

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(local_path(directory)))
        except FileNotFoundError:
            return []

    def delete(self, path: str) -> None:
        Path(local_path(path)).unlink(missing_ok=True)

    def delete_directory(self, directory: str) -> None:
        shutil.rmtree(local_path(directory), ignore_errors=True)


def _sync_directory(directory: Path) -> None:
    """Make a new name durable: after a crash the file is there, not only its content."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RemoteStorage(Storage):
    """Files that an fsspec file system reaches."""

    def __init__(self, scheme: str, options: Mapping[str, Any]) -> None:
        self._scheme = scheme
        self._options = dict(options)
        # Loaded here, connected later: a forked child makes a connection of its own, and finds the
        # library in memory.
        _require_file_system(scheme)

    @property
    def _files(self) -> Any:
        import fsspec

        # It keeps instances, one for each process and choice of options.
        return fsspec.filesystem(self._scheme, **self._options)

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        with _as_os_error(path):
            file = self._files.open(path, "wb")
        try:
            yield file
        except BaseException:
            # Closing it would make it count.
            with contextlib.suppress(Exception):
                file.discard()
            file.closed = True
            raise
        with _as_os_error(path):
            file.close()

    def write(self, path: str, data: bytes) -> None:
        with _as_os_error(path):
            self._files.pipe_file(path, data)

    def open(self, path: str) -> BinaryIO:
        with _as_os_error(path):
            # Snapshots are read range by range, each once.
            return cast("BinaryIO", self._files.open(path, "rb", cache_type="readahead"))

    def read(self, path: str) -> bytes:
        with _as_os_error(path):
            return cast("bytes", self._files.cat_file(path))

    def read_range(self, path: str, start: int, end: int | None) -> bytes:
        with _as_os_error(path):
            return cast("bytes", self._files.cat_file(path, start=start, end=end))

    def exists(self, path: str) -> bool:
        with _as_os_error(path):
            # A listing may be an old one that was kept.
            self._files.invalidate_cache(posixpath.dirname(path))
            return bool(self._files.isfile(path))

    def names(self, directory: str) -> list[str]:
        with _as_os_error(directory):
            self._files.invalidate_cache(directory)
            try:
                return sorted(posixpath.basename(n) for n in self._files.ls(directory, False))
            except FileNotFoundError:
                return []

    def files(self, directory: str) -> list[str]:
        with _as_os_error(directory):
            self._files.invalidate_cache(directory)
            # Names come without what the URL has in front of them.
            inside = len(self._files._strip_protocol(directory).rstrip("/"))
            try:
                found = self._files.find(directory)
            except FileNotFoundError:
                return []
            return sorted(directory.rstrip("/") + name[inside:] for name in found)

    def move(self, source: str, target: str) -> None:
        with _as_os_error(source):
            # The store copies it by itself.
            self._files.copy(source, target)
        self.delete(source)

    def delete(self, path: str) -> None:
        with _as_os_error(path), contextlib.suppress(FileNotFoundError):
            self._files.rm_file(path)

    def delete_directory(self, directory: str) -> None:
        with contextlib.suppress(OSError), _as_os_error(directory):
            self._files.invalidate_cache(directory)
            self._files.rm(directory, recursive=True)


@contextlib.contextmanager
def _as_os_error(path: str) -> Iterator[None]:
    """Libraries of object stores have errors of their own for what goes wrong on the way."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{path}: {type(error).__name__}: {error}") from error


def _require_file_system(scheme: str) -> None:
    try:
        import fsspec

        fsspec.get_filesystem_class(scheme)
    except ValueError as error:
        raise ConfigurationError(
            f"there is no file system for {scheme}:// ({error}); use a local path, or a scheme "
            "that fsspec has"
        ) from error
    except ImportError as error:
        line = "headrace[s3]" if scheme in ("s3", "s3a") else f"the package it names: {error}"
        raise ConfigurationError(
            f"{scheme}:// needs a package that is not installed; install it where the program and "
            "its workers run:\n    " + (f"pip install '{line}'" if line == "headrace[s3]" else line)
        ) from error


_Factory = Callable[[Mapping[str, Any]], Storage]
_schemes: dict[str, _Factory] = {
    "": lambda options: LocalStorage(),
    "file": lambda options: LocalStorage(),
    "local": lambda options: LocalStorage(),
}


def register_scheme(scheme: str, factory: _Factory) -> None:
    """Serve URLs of a scheme with a storage of one's own, in this process.

    Slots come to know it through `python.preload`, which names a module that registers it.
    """
    _schemes[scheme] = factory


@dataclass(frozen=True)
class Storages:
    """Finds the storage of a path. It travels to the slots.

    Attributes:
        options: What file systems are given, by scheme: credentials, endpoints.
    """

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def from_configuration(configuration: Configuration) -> Storages:
        """Reads what file systems need to know."""
        get = configuration.get
        region = get(options.S3_REGION)
        settings = {
            "key": get(options.S3_ACCESS_KEY),
            "secret": get(options.S3_SECRET_KEY),
            "endpoint_url": get(options.S3_ENDPOINT),
            "client_kwargs": {"region_name": region} if region else None,
        }
        s3 = {name: value for name, value in settings.items() if value is not None}
        return Storages({"s3": s3, "s3a": s3})

    def of(self, path: str) -> Storage:
        """The storage of a path.

        Raises:
            ConfigurationError: Nobody serves the scheme, or a package is missing.
        """
        scheme = scheme_of(path)
        given = self.options.get(scheme, {})
        factory = _schemes.get(scheme)
        return RemoteStorage(scheme, given) if factory is None else factory(given)


# Paths, which may be URLs.


def scheme_of(path: str) -> str:
    """The scheme of a URL; empty for a plain path."""
    scheme, separator, _ = path.partition("://")
    return scheme if separator else ""


def is_local(path: str) -> bool:
    """Whether a path is one of the local file system."""
    return scheme_of(path) in ("", "file", "local")


def local_path(path: str) -> str:
    """A local path without its scheme."""
    return path.partition("://")[2] if scheme_of(path) in ("file", "local") else path


def shared(path: str) -> str:
    """A place that all processes of a job see alike: where slots write, others read.

    Raises:
        ConfigurationError: Only one process can see it.
    """
    if scheme_of(path) == "memory":
        raise ConfigurationError(
            f"checkpoints cannot go to {path}: memory:// belongs to one process, and slots are "
            "separate processes; use a directory, or an object store"
        )
    # Slots may work in another directory.
    return os.path.abspath(local_path(path)) if is_local(path) else path


def join(directory: str, *names: str) -> str:
    """A path below a directory."""
    return posixpath.join(directory, *names)


def name_of(path: str) -> str:
    """The last part of a path."""
    return posixpath.basename(path.rstrip("/"))


def resolve(directory: str, relative: str) -> str:
    """A path that is given as seen from a directory; it may lead up with `..`."""
    scheme, separator, rest = directory.rpartition("://")
    return scheme + separator + posixpath.normpath(posixpath.join(rest, relative))


def relative_to(directory: str, path: str) -> str:
    """A path as it is seen from a directory of the same file system."""
    return posixpath.relpath(path.rpartition("://")[2], directory.rpartition("://")[2])
