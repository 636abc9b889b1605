"""Which files there are, and how they are cut into splits."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.java.patterns import java_pattern
from headrace.datastream.connectors.base import SplitEnumerator

if TYPE_CHECKING:
    from headrace.runtime.storage import Storages

__all__ = [
    "FileEnumerator",
    "FileEnumeratorProvider",
    "FileSplit",
    "FileSplitAssignerProvider",
    "file_path",
    "is_remote",
    "local_path",
    "writable",
]

_log = logging.getLogger(__name__)

SPLIT_SIZE = 16 * 1024 * 1024


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Says whether a large file is read by several subtasks."""

    split_size: int | None

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Large files are cut into pieces, where the format allows it. This is the default."""
        return FileEnumeratorProvider(SPLIT_SIZE)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Every file is read by one subtask, from its start to its end."""
        return FileEnumeratorProvider(None)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Says which subtask reads which piece."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Accepted as in Flink; who has the least to read gets the next piece of any file."""
        return FileSplitAssignerProvider()


@dataclass(frozen=True)
class FileSplit:
    """The records of a file that begin at `start` or later and before `end`.

    Attributes:
        split_id: File and start.
        path: The file.
        start: First byte.
        end: The byte after the last one in which a record of this split may begin; None: to the
            end of the file.
        position: How far reading has come, as the format counts it: the byte at which the next
            line begins, or the number of rows read. None as long as nothing was read.
    """

    split_id: str
    path: str
    start: int
    end: int | None
    position: int | None = None

    @property
    def size(self) -> int | None:
        """How many bytes it has, if that is known without opening it."""
        if is_remote(self.path):
            return None
        return (os.path.getsize(self.path) if self.end is None else self.end) - self.start


def file_path(path: Any) -> str:
    """An absolute path of this machine, or the URL of a file system that fsspec reaches.

    Raises:
        ConfigurationError: The scheme is not known, or a package is missing.
    """
    if not is_remote(path):
        return local_path(path)
    from headrace.runtime.storage import Storages

    Storages().of(path)
    return str(path).rstrip("/")


def is_remote(path: Any) -> bool:
    """Whether a path is a URL of another file system than this machine's."""
    return isinstance(path, str) and "://" in path and not path.startswith("file:")


def local_path(path: Any) -> str:
    """An absolute path of this machine, from a path or a `file:` URI."""
    if isinstance(path, os.PathLike):
        path = str(os.fspath(path))
    if not isinstance(path, str) or not path:
        raise FunctionTypeError(f"a path must be a non-empty str, not {path!r}")
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    elif is_remote(path):
        raise GraphError(
            f"{path!r} cannot be used here: give a path that is mounted on all workers, or write "
            "files there with a FileSink"
        )
    return os.path.abspath(str(path))


def writable(path: str) -> str:
    """A directory of this machine that is there, or can be made.

    Raises:
        HeadraceError: Files cannot be written there.
    """
    there = path
    while not os.path.exists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there) or not os.access(there, os.W_OK | os.X_OK):
        raise HeadraceError(
            f"files cannot be written to {path}: {there} is not a directory that this user may "
            "write to; choose another path, or change its owner or mode"
        )
    return path


class FileEnumerator(SplitEnumerator):
    """Finds files: once, or again and again for new ones. A file is read once, by its name."""

    def __init__(
        self,
        paths: Sequence[str],
        parallelism: int,
        split_size: int | None,
        interval_ms: int | None = None,
        splittable: Callable[[str], bool] = lambda path: True,
        storages: Storages | None = None,
        pattern: str = "",
    ) -> None:
        self._paths = paths
        self._storages = storages
        self._wanted = java_pattern(pattern).fullmatch if pattern else None
        self._splittable = splittable
        self._parallelism = parallelism
        self._split_size = split_size
        self._interval_ms = interval_ms
        self._seen: set[str] = set()
        self._dealt = [0] * parallelism
        self._next_ms: int | None = None
        self._done = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if self._done or (self._next_ms is not None and now_ms < self._next_ms):
            return {}
        found: dict[int, list[Any]] = {}
        for path in self._paths:
            for file in self._files(path):
                if file not in self._seen and (self._wanted is None or self._wanted(file)):
                    self._seen.add(file)
                    self._deal(file, found)
        self._done = self._interval_ms is None
        self._next_ms = None if self._interval_ms is None else now_ms + self._interval_ms
        return found

    def _files(self, path: str) -> Iterable[str]:
        found: list[str] = []
        if is_remote(path):
            assert self._storages is not None
            found = remote_files_under(path, self._storages)
        elif os.path.exists(path):
            return files_under(path)
        if not found and self._interval_ms is None:
            raise HeadraceError(f"the file source found no file or directory at {path}")
        if not found:
            _log.info("nothing to read at %s yet", path)
        return found

    def _deal(self, file: str, found: dict[int, list[Any]]) -> None:
        """Give each piece to the subtask with the fewest bytes so far."""
        # To ask for the size of a remote file takes a request.
        size = SPLIT_SIZE if is_remote(file) else max(os.path.getsize(file), 1)
        splits = self._splits(file, size)
        for split in splits:
            subtask = self._dealt.index(min(self._dealt))
            found.setdefault(subtask, []).append(split)
            self._dealt[subtask] += size // len(splits)

    def _splits(self, file: str, size: int) -> list[FileSplit]:
        """Pieces of the same size, so that no subtask gets many of the short last ones."""
        step, count = self._split_size, 1
        if step is not None and not is_remote(file) and self._splittable(file):
            count = -(-size // step)
        starts = [size * piece // count for piece in range(count)]
        return [
            FileSplit(f"{file}:{start}", file, start, end)
            for start, end in zip(starts, [*starts[1:], None], strict=True)
        ]

    @property
    def finished(self) -> bool:
        return self._done

    def next_discovery(self, now_ms: int) -> int | None:
        return self._next_ms

    def snapshot(self) -> Any:
        return {"seen": sorted(self._seen), "dealt": list(self._dealt), "done": self._done}

    def restore(self, snapshot: Any) -> None:
        self._seen = set(snapshot["seen"])
        dealt = snapshot["dealt"]
        # Older snapshots have a number, and at another parallelism all splits are dealt out anew.
        if isinstance(dealt, list) and len(dealt) == self._parallelism:
            self._dealt = list(dealt)
        self._done = snapshot["done"]


def remote_files_under(path: str, storages: Storages) -> list[str]:
    """A file itself, or the files in and below a directory but for hidden ones, sorted by name."""
    storage = storages.of(path)
    if storage.exists(path):
        return [path]
    return [
        file
        for file in storage.files(path)
        if not any(name.startswith((".", "_")) for name in file[len(path) + 1 :].split("/"))
    ]


def files_under(path: str) -> Iterator[str]:
    """A file itself, or the files in and below a directory but for hidden ones, sorted by name."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise HeadraceError(f"the file source found no file or directory at {path}")
        yield path
        return
    for name in sorted(os.listdir(path)):
        if not name.startswith((".", "_")):
            child = os.path.join(path, name)
            if os.path.exists(child):
                yield from files_under(child)
