"""Where checkpoints are written.

A storage object is a bundle of settings; `apply_to` writes them into a `Configuration`, from which
the job master reads them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import ClassVar
from urllib.parse import urlsplit

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.options import CHECKPOINTING_DIR, CHECKPOINTING_STORAGE

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]

_INLINE_THRESHOLD_KEY = "execution.checkpointing.data-inline-threshold"
_WRITE_BUFFER_KEY = "execution.checkpointing.write-buffer-size"
_DEFAULT_INLINE_THRESHOLD = 20 * 1024
_DEFAULT_WRITE_BUFFER = 4 * 1024


class CheckpointStorage(ABC):
    """Base of all checkpoint storages."""

    @abstractmethod
    def get_name(self) -> str:
        """Returns the value of `execution.checkpointing.storage` that means this storage."""

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        configuration.set_string(CHECKPOINTING_STORAGE.key, self.get_name())


class JobManagerCheckpointStorage(CheckpointStorage):
    """Keeps checkpoints in the memory of the JobManager: for trying things out with little state.

    Args:
        checkpoint_path: Where to write metadata that shall outlive the job; nowhere if left out.
        max_state_size: The most bytes that one state of a subtask may have.
    """

    #: The default for `max_state_size`: 5 MiB.
    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | os.PathLike[str] | None = None,
        max_state_size: int | None = None,
    ) -> None:
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        if size <= 0:
            raise ConfigurationError(
                f"max_state_size of JobManagerCheckpointStorage must be positive, got {size}",
                value=size,
            )
        self._checkpoint_path = None if checkpoint_path is None else _checked_path(checkpoint_path)
        self._max_state_size = size

    def get_name(self) -> str:
        """Returns `jobmanager`."""
        return "jobmanager"

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        super().apply_to(configuration)
        if self._checkpoint_path is not None:
            configuration.set_string(CHECKPOINTING_DIR.key, self._checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        """Returns where metadata is written, or None."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Returns the most bytes that one state of a subtask may have."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Returns None: the setting `execution.checkpointing.savepoint-dir` decides."""
        return None

    def __str__(self) -> str:
        """Shows the settings."""
        return (
            f"JobManagerCheckpointStorage(checkpoint_path={self._checkpoint_path!r}, "
            f"max_state_size={self._max_state_size})"
        )

    __repr__ = __str__


class FileSystemCheckpointStorage(CheckpointStorage):
    """Writes checkpoints to a directory that every machine reaches.

    Args:
        checkpoint_path: A URI such as `s3://bucket/checkpoints` or `file:///data/checkpoints`, or
            an absolute local path.
        file_state_size_threshold: State up to so many bytes goes into the metadata file; at most
            `MAX_FILE_STATE_THRESHOLD`. -1 or None: the setting
            `execution.checkpointing.data-inline-threshold` decides.
        write_buffer_size: Buffer for writing, in bytes. -1: the setting
            `execution.checkpointing.write-buffer-size` decides.
    """

    #: The largest `file_state_size_threshold`: 1 MiB.
    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | os.PathLike[str] | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ConfigurationError(
                "checkpoint_path must not be None: FileSystemCheckpointStorage needs one, for "
                "example 'file:///tmp/checkpoints'",
                key=CHECKPOINTING_DIR.key,
            )
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ConfigurationError(
                "file_state_size_threshold must be between 0 and "
                f"{self.MAX_FILE_STATE_THRESHOLD} bytes, or -1 for the configured value; got "
                f"{threshold}",
                key=_INLINE_THRESHOLD_KEY,
                value=threshold,
            )
        if write_buffer_size < -1:
            raise ConfigurationError(
                "write_buffer_size must not be negative, or -1 for the configured value; got "
                f"{write_buffer_size}",
                key=_WRITE_BUFFER_KEY,
                value=write_buffer_size,
            )
        self._checkpoint_path = _checked_path(checkpoint_path)
        self._file_state_size_threshold = threshold
        self._write_buffer_size = write_buffer_size

    def get_name(self) -> str:
        """Returns `filesystem`."""
        return "filesystem"

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration; what was not set stays as it is."""
        super().apply_to(configuration)
        configuration.set_string(CHECKPOINTING_DIR.key, self._checkpoint_path)
        if self._file_state_size_threshold >= 0:
            configuration.set_integer(_INLINE_THRESHOLD_KEY, self._file_state_size_threshold)
        if self._write_buffer_size >= 0:
            configuration.set_integer(_WRITE_BUFFER_KEY, self._write_buffer_size)

    def get_checkpoint_path(self) -> str:
        """Returns the directory as a URI."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Returns None: the setting `execution.checkpointing.savepoint-dir` decides."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Returns up to how many bytes state goes into the metadata file."""
        if self._file_state_size_threshold >= 0:
            return self._file_state_size_threshold
        return _DEFAULT_INLINE_THRESHOLD

    def get_write_buffer_size(self) -> int:
        """Returns the buffer for writing, in bytes."""
        return self._write_buffer_size if self._write_buffer_size >= 0 else _DEFAULT_WRITE_BUFFER

    def __str__(self) -> str:
        """Shows the directory."""
        return f"FileSystemCheckpointStorage({self._checkpoint_path!r})"

    __repr__ = __str__


class CustomCheckpointStorage(CheckpointStorage):
    """A checkpoint storage of your own, as a subclass in Python.

    `get_name` returns `module:name` of a callable that makes the store. Most needs are met by
    `FileSystemCheckpointStorage`, which reaches every file system that fsspec does.
    """

    def __new__(cls, *args: object, **kwargs: object) -> CustomCheckpointStorage:
        """Refuses to wrap a Java object."""
        if cls is CustomCheckpointStorage:
            raise FunctionTypeError(
                "CustomCheckpointStorage cannot wrap a Java object: there is no Java runtime "
                "behind it; subclass it in Python, or use FileSystemCheckpointStorage with any "
                "URI that fsspec knows"
            )
        return super().__new__(cls)


def _checked_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if text.startswith("/"):
        text = f"file://{text}"
    parts = urlsplit(text)
    if not parts.scheme:
        raise ConfigurationError(
            f"the checkpoint path {text!r} has no scheme; write, for example, "
            "'file:///data/checkpoints' or 's3://bucket/checkpoints'",
            key=CHECKPOINTING_DIR.key,
            value=text,
        )
    if parts.scheme == "file" and not parts.path.strip("/"):
        raise ConfigurationError(
            "the root directory cannot be used for checkpoints; choose a directory below it",
            key=CHECKPOINTING_DIR.key,
            value=text,
        )
    if not parts.netloc and not parts.path.strip("/"):
        raise ConfigurationError(
            f"the checkpoint path {text!r} does not name a directory",
            key=CHECKPOINTING_DIR.key,
            value=text,
        )
    return text.rstrip("/")
