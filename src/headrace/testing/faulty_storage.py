"""A storage that fails on purpose, to see what a job makes of it.

URLs `faulty:///some/directory` are local directories in which faults happen. A `FaultPlan` in the
directory says which; it is read by all processes of a job, and counts what they do together. Slots
know the scheme if they load this module, which is named with `python.preload`. An example::

    plan = FaultPlan(tmp_path)
    plan.install(Fault("full", files="*.snapshot", first=3))   # the third snapshot does not fit
    settings = {
        "execution.checkpointing.dir": plan.url,
        "python.preload": "headrace.testing.faulty_storage",
    }
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO, Literal

from headrace.runtime.storage import LocalStorage, Storage, name_of, register_scheme

__all__ = ["Fault", "FaultPlan", "FaultyStorage"]

_PLAN = "faults.json"
_SCHEME = "faulty"

FaultKind = Literal["full", "slow", "lost", "torn", "denied"]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        kind: `full`: the disk is full after half of the file. `slow`: the operation takes
            `delay_s` longer. `lost`: the file is said to be written and is not there. `torn`: the
            same with half of its bytes there. `denied`: the operation is refused.
        operation: `write`, `read` or `delete`.
        files: Which files, as a pattern for their name.
        first: The first operation that it happens to, counted over all processes from 1.
        times: How many operations it happens to; None for all from then on.
        delay_s: For `slow`.
    """

    kind: FaultKind
    operation: Literal["write", "read", "delete"] = "write"
    files: str = "*"
    first: int = 1
    times: int | None = 1
    delay_s: float = 0.0

    def happens_to(self, number: int) -> bool:
        """Whether it happens to the operation of that number."""
        last = None if self.times is None else self.first + self.times
        return number >= self.first and (last is None or number < last)


class FaultPlan:
    """The faults of a directory."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        """The directory as jobs are given it."""
        return f"{_SCHEME}://{self.directory.absolute()}"

    def install(self, *faults: Fault) -> None:
        """Make these the faults; counting begins anew."""
        for count in self.directory.glob(".fault-*"):
            count.unlink()
        part = self.directory / (_PLAN + ".part")
        part.write_text(json.dumps([asdict(f) for f in faults]))
        part.replace(self.directory / _PLAN)

    @property
    def faults(self) -> list[Fault]:
        """The faults that are installed."""
        path = self.directory / _PLAN
        return [Fault(**f) for f in json.loads(path.read_text())] if path.exists() else []

    def count(self, index: int) -> int:
        """How many operations the pattern of a fault has seen."""
        path = self.directory / f".fault-{index}"
        return path.stat().st_size if path.exists() else 0

    def happening(self, operation: str, path: str) -> list[Fault]:
        """The faults that happen to an operation; it is counted."""
        return [
            fault
            for index, fault in enumerate(self.faults)
            if fault.operation == operation
            and fnmatch(name_of(path), fault.files)
            and fault.happens_to(self._next(index))
        ]

    def _next(self, index: int) -> int:
        descriptor = os.open(self.directory / f".fault-{index}", os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            number = os.lseek(descriptor, 0, os.SEEK_END) + 1
            os.write(descriptor, b".")
            return number
        finally:
            os.close(descriptor)

    @staticmethod
    def over(path: str) -> FaultPlan:
        """The plan of the directory that a file is in."""
        for directory in Path(path).parents:
            if (directory / _PLAN).exists():
                return FaultPlan(directory)
        return FaultPlan(Path(path).parent)


class FaultyStorage(Storage):
    """Local files with faults.

    Args:
        plan: What goes wrong; by default the plan in the directory above a file decides.
    """

    def __init__(self, plan: FaultPlan | None = None) -> None:
        self._plan = plan
        self._files = LocalStorage()

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        local = _local(path)
        kinds = self._suffer("write", local)
        if "lost" in kinds:
            with open(os.devnull, "wb") as nowhere:
                yield nowhere
            return
        with self._files.create(local) as file:
            yield file
            half = file.tell() // 2
            if "full" in kinds:
                file.truncate(half)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), local)
            if "torn" in kinds:
                file.truncate(half)

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as file:
            file.write(data)

    def open(self, path: str) -> BinaryIO:
        if "lost" in self._suffer("read", _local(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._files.open(_local(path))

    def read_range(self, path: str, start: int, end: int | None) -> bytes:
        with self.open(path):
            return self._files.read_range(_local(path), start, end)

    def exists(self, path: str) -> bool:
        return self._files.exists(_local(path))

    def names(self, directory: str) -> list[str]:
        hidden = (_PLAN, ".fault-")
        return [n for n in self._files.names(_local(directory)) if not n.startswith(hidden)]

    def delete(self, path: str) -> None:
        if "lost" not in self._suffer("delete", _local(path)):
            self._files.delete(_local(path))

    def delete_directory(self, directory: str) -> None:
        with contextlib.suppress(OSError):
            if "lost" not in self._suffer("delete", _local(directory)):
                self._files.delete_directory(_local(directory))

    def _suffer(self, operation: str, path: str) -> set[str]:
        faults = (self._plan or FaultPlan.over(path)).happening(operation, path)
        for fault in faults:
            if fault.kind == "slow":
                time.sleep(fault.delay_s)
            elif fault.kind == "denied":
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return {fault.kind for fault in faults}


def _local(path: str) -> str:
    return path.removeprefix(f"{_SCHEME}://")


register_scheme(_SCHEME, lambda options: FaultyStorage())
