"""Files of object stores, which are read and written by way of a file on this machine.

A file is fetched as a whole before it is read, and sent as a whole when it is complete. So all
formats work there, and nobody ever sees half a file.
"""

from __future__ import annotations

import os
import shutil
import uuid
from typing import TYPE_CHECKING

from headrace.common.errors import HeadraceError
from headrace.common.files.scratch import ScratchDirectory

if TYPE_CHECKING:
    from headrace.runtime.storage import Storages

__all__ = ["Workspace"]

_CHUNK = 1024 * 1024


class Workspace:
    """A directory of a reader or writer for files on their way; it goes with `close`."""

    def __init__(self, storages: Storages) -> None:
        self._storages = storages
        self._directory: ScratchDirectory | None = None

    def path_for(self, name: str) -> str:
        """A path for a file; it has the end of the name, which may say how it is compressed."""
        if self._directory is None:
            self._directory = ScratchDirectory("files")
        return str(self._directory.path / f"{uuid.uuid4()}-{name}")

    def fetch(self, url: str) -> str:
        """A copy of a file on this machine, in directories of its partition, as in the URL."""
        *directories, name = url.split("/")
        partition = [d for d in directories if "=" in d]
        path = os.path.join(self.path_for("copy"), *partition, name)
        os.makedirs(os.path.dirname(path))
        try:
            with self._storages.of(url).open(url) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, _CHUNK)
        except OSError as error:
            raise HeadraceError(f"{url} cannot be read: {error}") from error
        return path

    def send(self, path: str, url: str) -> None:
        """Store a file of this machine under a URL; the file goes."""
        with open(path, "rb") as source, self._storages.of(url).create(url) as target:
            shutil.copyfileobj(source, target, _CHUNK)
        os.unlink(path)

    def close(self) -> None:
        """Delete what is left."""
        if self._directory is not None:
            self._directory.remove()
