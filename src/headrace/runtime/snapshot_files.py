"""Snapshots on disk: a file appears whole or not at all, and a damaged one is noticed.

A file is a magic line, the CRC-32 of the rest as eight hexadecimal digits, a newline, and a pickle.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from headrace.common.errors import CheckpointError, CheckpointFailureReason

MAGIC = b"headrace snapshot 1\n"


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_snapshot(
    path: str | Path,
    content: Any,
    write: Callable[[str | Path, bytes], None] = write_atomically,
) -> int:
    """Write a snapshot; its size in bytes."""
    body = cloudpickle.dumps(content)
    data = MAGIC + b"%08x\n" % zlib.crc32(body) + body
    write(path, data)
    return len(data)


def read_snapshot(path: str | Path) -> Any:
    """Read a snapshot back; a missing or damaged file is a `CheckpointError` that says which."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror or error})") from error
    if not data.startswith(MAGIC):
        raise _unusable(path, "is not a snapshot of a format that this version knows")
    checksum, _, body = data[len(MAGIC) :].partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise _unusable(path, "is damaged: its checksum does not match")
    return pickle.loads(body)


def _unusable(path: str | Path, why: str) -> CheckpointError:
    return CheckpointError(
        f"the snapshot file {path} {why}; restore from another checkpoint or savepoint",
        CheckpointFailureReason.RESTORE_FAILURE,
    )
