"""Directories that only this user can enter, also where everybody may make some, as in `/tmp`."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from headrace.common.errors import ConfigurationError

__all__ = ["private_directory"]


def private_directory(path: str | Path) -> Path:
    """Make a directory with a known name, or take the one that is there if it is ours alone.

    Somebody else may have been there first, with a directory that they can write to or a link to
    one of ours, to have us read what they wrote or delete what is ours. One with a name that nobody
    knows before, of `tempfile.mkdtemp`, needs none of this.

    Raises:
        ConfigurationError: It is a link, belongs to others or can be written by them.
        OSError: It cannot be made.
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Of the name itself: what a link leads to says nothing about who made the link.
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode):
        raise ConfigurationError(f"{path} is a link, not a directory; remove it")
    if about.st_uid != os.getuid():
        raise ConfigurationError(f"the directory {path} belongs to another user; choose another")
    if stat.S_IMODE(about.st_mode) & 0o022:
        raise ConfigurationError(f"others can write to the directory {path}; use chmod 700")
    return path
