"""Files that live and end with this process: where jobs in a test keep their checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from headrace.runtime.storage import Storage, register_scheme

__all__ = ["SCHEME", "MemoryStorage"]

SCHEME = "in-process"


class MemoryStorage(Storage):
    """URLs `in-process://...`; all storages of a process share their files."""

    _files: dict[str, bytes] = {}  # noqa: RUF012

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        """A file that is there when it is whole."""
        file = BytesIO()
        yield file
        self._files[path] = file.getvalue()

    def write(self, path: str, data: bytes) -> None:
        """Keep a file."""
        self._files[path] = data

    def open(self, path: str) -> BinaryIO:
        """Read a file."""
        if path not in self._files:
            raise FileNotFoundError(path)
        return BytesIO(self._files[path])

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def names(self, directory: str) -> list[str]:
        """The first step of each path below a directory."""
        start = directory.rstrip("/") + "/"
        below = (path.removeprefix(start) for path in self._files if path.startswith(start))
        return sorted({path.partition("/")[0] for path in below})

    def delete(self, path: str) -> None:
        """Forget a file."""
        self._files.pop(path, None)

    def delete_directory(self, directory: str) -> None:
        """Forget all files below a directory."""
        start = directory.rstrip("/") + "/"
        for path in [path for path in self._files if path.startswith(start)]:
            del self._files[path]


register_scheme(SCHEME, lambda options: MemoryStorage())
