"""Snapshots in storage: a damaged one is noticed.

A file is a magic line, the CRC-32 of the rest as eight hexadecimal digits, a newline, and a pickle.
"""

from __future__ import annotations

import pickle
import zlib
from typing import Any

import cloudpickle

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.runtime.storage import Storage

MAGIC = b"headrace snapshot 1\n"


def write_snapshot(storage: Storage, path: str, content: Any) -> int:
    """Write a snapshot; its size in bytes."""
    body = cloudpickle.dumps(content)
    data = MAGIC + b"%08x\n" % zlib.crc32(body) + body
    storage.write(path, data)
    return len(data)


def read_snapshot(storage: Storage, path: str) -> Any:
    """Read a snapshot back; a missing or damaged file is a `CheckpointError` that says which."""
    try:
        data = storage.read(path)
    except FileNotFoundError as error:
        raise _unusable(path, "is missing") from error
    except OSError as error:
        # The storage cannot be reached now: that says nothing about the file.
        raise CheckpointError(
            f"the snapshot file {path} cannot be read now: {error.strerror or error}",
            CheckpointFailureReason.IO_ERROR,
        ) from error
    if not data.startswith(MAGIC):
        raise _unusable(path, "is not a snapshot of a format that this version knows")
    checksum, _, body = data[len(MAGIC) :].partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise _unusable(path, "is damaged: its checksum does not match")
    return pickle.loads(body)


def _unusable(path: str, why: str) -> CheckpointError:
    return CheckpointError(
        f"the snapshot file {path} {why}; restore from another checkpoint or savepoint",
        CheckpointFailureReason.RESTORE_FAILURE,
    )
