"""Directories under a temporary folder that go away with their owner.

What a killed process left behind is removed by the next process that makes a directory of the same
kind beside it: each holds a lock on a file in its directory for as long as it lives.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["ScratchDirectory"]

_LOCK = "lock"
_LONGEST_FOR_SOCKETS = 60
"""A socket's whole path has 104 bytes at most on some systems; names of ours take the rest."""
_swept: set[tuple[str, str]] = set()


class ScratchDirectory:
    """A new private directory of this process.

    Args:
        kind: What it is for; a part of its name.
        base: Where it is made, by default the folder for temporary files.
        sockets: Whether Unix sockets will be in it. Their paths must be short, so that with a long
            `TMPDIR` it is made in `/tmp`.
    """

    def __init__(self, kind: str, base: str | None = None, *, sockets: bool = False) -> None:
        base = base or tempfile.gettempdir()
        if sockets and len(os.fsencode(base)) > _LONGEST_FOR_SOCKETS:
            base = "/tmp"
        prefix = f"headrace-{kind}-"
        if (base, prefix) not in _swept:
            _swept.add((base, prefix))
            _remove_abandoned(Path(base), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        self._lock = _lock(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def remove(self) -> None:
        """Delete it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _lock(directory: Path) -> int:
    # Locked before it has its name: somebody who sees the file and gets the lock may remove all.
    new = directory / f"{_LOCK}.new"
    descriptor = os.open(new, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(new, directory / _LOCK)
    return descriptor


def _remove_abandoned(base: Path, prefix: str) -> None:
    for directory in base.glob(prefix + "*"):
        try:
            if directory.lstat().st_uid != os.getuid() or directory.is_symlink():
                continue
            descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
        except OSError:
            pass  # in use
        finally:
            os.close(descriptor)
