"""Logs that can be listed and read in parts: files of this host, and those of Spark's workers."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from headrace.common.errors import HeadraceError
from headrace.common.files.rolling_log import old_parts

__all__ = ["JoinedLogs", "LocalLog", "Log", "LogReadError", "WorkerLog"]

_CHUNK = 1 << 16
_WORKER_CHUNK = 1 << 20
_WORKER_S = 10.0
_WORKER_HEAD = re.compile(rb"^==== Bytes (\d+)-(\d+) of (\d+) of [^\n]* ====\n")


class LogReadError(HeadraceError):
    """A log is there, but cannot be read."""


class Log(Protocol):
    """A text that may grow at its end."""

    @property
    def name(self) -> str:
        """Its name in a list."""

    @property
    def mtime_ms(self) -> int:
        """When it was written last; 0 if nobody knows."""

    def begin(self) -> int:
        """The place of the first byte that is left of it."""

    def size(self) -> int:
        """The place behind its last byte: its length, with what is not left of it."""

    def read(self, offset: int, limit: int) -> Iterator[bytes]:
        """At most so many bytes from a place on that is left, in pieces."""


@dataclass(frozen=True)
class LocalLog:
    """A file of this host, with its old parts."""

    name: str
    path: Path

    @property
    def mtime_ms(self) -> int:
        with self._opened() as parts:
            return int(os.fstat(parts[-1][1].fileno()).st_mtime * 1000)

    def begin(self) -> int:
        with self._opened() as parts:
            return parts[0][0]

    def size(self) -> int:
        with self._opened() as parts:
            place, file = parts[-1]
            return place + _size(file)

    def read(self, offset: int, limit: int) -> Iterator[bytes]:
        with self._opened() as parts:
            for place, file in parts:
                file.seek(max(offset - place, 0))
                while limit > 0 and (piece := file.read(min(limit, _CHUNK))):
                    limit -= len(piece)
                    yield piece

    @contextlib.contextmanager
    def _opened(self) -> Iterator[list[tuple[int, BinaryIO]]]:
        """All parts that are there, with their places."""
        with contextlib.ExitStack() as stack:
            current = _open(self.path, stack)
            # After the current one, which may be an old part by now, and none is missed.
            old = [(place, _open(path, stack)) for place, path in old_parts(self.path)]
            parts = [(place, file) for place, file in old if file is not None]
            if current is not None and not any(_is_same(current, file) for _, file in parts):
                end = parts[-1][0] + _size(parts[-1][1]) if parts else 0
                parts.append((end, current))
            if not parts:
                raise FileNotFoundError(self.path)
            yield parts


def _open(path: Path, stack: contextlib.ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(path.open("rb"))
    except FileNotFoundError:
        return None


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _is_same(one: BinaryIO, other: BinaryIO) -> bool:
    return os.path.sameopenfile(one.fileno(), other.fileno())


@dataclass(frozen=True)
class WorkerLog:
    """A log of an executor, served by the worker of Spark's standalone cluster that started it."""

    name: str
    url: str

    @staticmethod
    def served_at(url: str) -> bool:
        """Whether a worker serves it; other cluster managers have pages of their own."""
        return urllib.parse.urlsplit(url).path.rstrip("/").endswith("/logPage")

    @property
    def mtime_ms(self) -> int:
        return 0

    def begin(self) -> int:
        return 0

    def size(self) -> int:
        return self._ask(0, 1)[1]

    def read(self, offset: int, limit: int) -> Iterator[bytes]:
        while limit > 0:
            piece, size = self._ask(offset, min(limit, _WORKER_CHUNK))
            if not piece:
                return
            yield piece
            offset, limit = offset + len(piece), limit - len(piece)
            if offset >= size:
                return

    def _ask(self, offset: int, length: int) -> tuple[bytes, int]:
        """A part, and the size of the whole."""
        address = re.sub(r"/logPage/?\?", "/log?", self.url, count=1)
        url = f"{address}&offset={offset}&byteLength={length}"
        try:
            with urllib.request.urlopen(url, timeout=_WORKER_S) as answer:
                text: bytes = answer.read()
        except OSError as error:
            raise LogReadError(f"Spark's worker did not return the log: {error}") from None
        head = _WORKER_HEAD.match(text)
        if head is None:
            raise LogReadError(f"Spark's worker did not return the log: {text[:200]!r}")
        start, end, size = map(int, head.groups())
        # Where there is nothing more, a worker answers with the end once again.
        return (text[head.end() :] if start == offset and end > start else b""), size


@dataclass(frozen=True)
class JoinedLogs:
    """Several logs as one, each below its name."""

    name: str
    logs: Sequence[Log]

    @property
    def mtime_ms(self) -> int:
        return max((log.mtime_ms for log in self.logs), default=0)

    def begin(self) -> int:
        return 0

    def size(self) -> int:
        return sum(len(_title(log)) + log.size() - log.begin() for log in self.logs)

    def read(self, offset: int, limit: int) -> Iterator[bytes]:
        whole = itertools.chain.from_iterable(
            itertools.chain((_title(log),), log.read(0, log.size() - log.begin()))
            for log in self.logs
        )
        for piece in whole:
            part = piece[offset : offset + limit]
            offset, limit = max(offset - len(piece), 0), limit - len(part)
            if part:
                yield part
            if limit <= 0:
                return


def _title(log: Log) -> bytes:
    return f"==== {log.name} ====\n".encode()
