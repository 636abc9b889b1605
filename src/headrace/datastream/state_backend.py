"""Where state lives while a job runs: in the heap or in RocksDB.

A state backend object is a bundle of settings; `apply_to` writes them into a `Configuration`, from
which the runtime reads them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from urllib.parse import urlsplit

from headrace.common.callables import find_callable
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.options import (
    CHECKPOINTING_INCREMENTAL,
    ROCKSDB_LOCALDIR,
    ROCKSDB_PREDEFINED_OPTIONS,
    STATE_BACKEND,
)
from headrace.datastream.checkpoint_storage import (
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]

_OPTIONS_FACTORY_KEY = "state.backend.rocksdb.options-factory"
_TRANSFER_THREADS_KEY = "state.backend.rocksdb.checkpoint.transfer.thread.num"
_DEFAULT_TRANSFER_THREADS = 4


class StateBackend(ABC):
    """Base of all state backends."""

    @abstractmethod
    def get_name(self) -> str:
        """Returns the value of `state.backend.type` that means this backend."""

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        configuration.set_string(STATE_BACKEND.key, self.get_name())


class HashMapStateBackend(StateBackend):
    """Keeps state as Python objects in memory: fastest, and limited by memory."""

    def get_name(self) -> str:
        """Returns `hashmap`."""
        return "hashmap"

    def __str__(self) -> str:
        """Has no settings to show."""
        return "HashMapStateBackend()"

    __repr__ = __str__


class PredefinedOptions(Enum):
    """Sets of RocksDB options for kinds of disks."""

    DEFAULT = 0
    #: Larger files and more background work, for spinning disks.
    SPINNING_DISK_OPTIMIZED = 1
    #: The same with a large block cache and bloom filters.
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    #: More parallel background work, for SSDs.
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Keeps state in a RocksDB on the local disk of each slot: state may be larger than memory.

    Args:
        enable_incremental_checkpointing: Whether a checkpoint writes only what changed. Left out,
            the setting `execution.checkpointing.incremental` decides.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise FunctionTypeError(
                "Unsupported input for 'enable_incremental_checkpointing': "
                f"{enable_incremental_checkpointing!r}; it must be True, False or None"
            )
        self._incremental = enable_incremental_checkpointing
        self._db_storage_paths: list[str] = []
        self._predefined_options: PredefinedOptions | None = None
        self._options_factory: str | None = None
        self._transfer_threads: int | None = None

    def get_name(self) -> str:
        """Returns `rocksdb`."""
        return "rocksdb"

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration; what was not set stays as it is."""
        super().apply_to(configuration)
        if self._incremental is not None:
            configuration.set_boolean(CHECKPOINTING_INCREMENTAL.key, self._incremental)
        if self._db_storage_paths:
            configuration.set_string(ROCKSDB_LOCALDIR.key, ",".join(self._db_storage_paths))
        if self._predefined_options is not None:
            configuration.set_string(ROCKSDB_PREDEFINED_OPTIONS.key, self._predefined_options.name)
        if self._options_factory is not None:
            find_callable(self._options_factory)
            configuration.set_string(_OPTIONS_FACTORY_KEY, self._options_factory)
        if self._transfer_threads is not None:
            configuration.set_integer(_TRANSFER_THREADS_KEY, self._transfer_threads)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Sets the local directories for the databases; with none, the slot's own directory.

        Args:
            paths: Absolute local paths. Subtasks are spread over them.
        """
        self._db_storage_paths = [_local_path(path) for path in paths]

    def get_db_storage_paths(self) -> list[str]:
        """Returns the local directories that were set."""
        return list(self._db_storage_paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Returns whether this object switches incremental checkpoints on."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Chooses a set of options for the kind of disk."""
        if not isinstance(options, PredefinedOptions):
            raise FunctionTypeError(
                f"PredefinedOptions are needed, not {options!r}; "
                "write PredefinedOptions.FLASH_SSD_OPTIMIZED"
            )
        self._predefined_options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Returns the set of options."""
        return self._predefined_options or PredefinedOptions.DEFAULT

    def set_options(self, options_factory_class_name: str) -> None:
        """Sets a factory that may change RocksDB's options.

        It is looked for when an environment is given the backend.

        Args:
            options_factory_class_name: `module:name` or `module.name` of a Python callable. It is
                called in each slot with the `rocksdict.Options` chosen so far and returns those to
                use.
        """
        if not isinstance(options_factory_class_name, str):
            raise FunctionTypeError(
                f"the name of an options factory is a str, not {options_factory_class_name!r}"
            )
        self._options_factory = options_factory_class_name

    def get_options(self) -> str | None:
        """Returns the name of the options factory, or None."""
        return self._options_factory

    def get_number_of_transfer_threads(self) -> int:
        """Returns how many threads move files to and from checkpoint storage."""
        return self._transfer_threads or _DEFAULT_TRANSFER_THREADS

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Sets how many threads move files to and from checkpoint storage."""
        if number_of_transfering_threads <= 0:
            raise ConfigurationError(
                "the number of threads that transfer files must be greater than zero, got "
                f"{number_of_transfering_threads}",
                key=_TRANSFER_THREADS_KEY,
                value=number_of_transfering_threads,
            )
        self._transfer_threads = number_of_transfering_threads

    def __str__(self) -> str:
        """Shows the main settings."""
        return (
            f"EmbeddedRocksDBStateBackend(incremental={self._incremental}, "
            f"predefined_options={self.get_predefined_options().name}, "
            f"db_storage_paths={self._db_storage_paths})"
        )

    __repr__ = __str__


class CustomStateBackend(StateBackend):
    """A state backend of your own.

    Args:
        factory: `module:name` of a Python callable, which each slot calls to make the table that
            holds its state.
    """

    def __init__(self, factory: str) -> None:
        find_callable(factory)
        self._factory = factory

    def get_name(self) -> str:
        """Returns the name of the factory."""
        return self._factory

    def __repr__(self) -> str:
        """Shows the factory."""
        return f"CustomStateBackend({self._factory!r})"


# The backends of PyFlink 1.x, each of which says where checkpoints go as well.


class MemoryStateBackend(HashMapStateBackend):
    """A `HashMapStateBackend` whose checkpoints stay with the driver."""

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        super().apply_to(configuration)
        JobManagerCheckpointStorage().apply_to(configuration)


class FsStateBackend(HashMapStateBackend):
    """A `HashMapStateBackend` with a directory for checkpoints.

    Args:
        checkpoint_directory_uri: The directory.
    """

    def __init__(self, checkpoint_directory_uri: str) -> None:
        self._storage = FileSystemCheckpointStorage(checkpoint_directory_uri)

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        super().apply_to(configuration)
        self._storage.apply_to(configuration)


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """An `EmbeddedRocksDBStateBackend` with a directory for checkpoints.

    Args:
        checkpoint_data_uri: The directory.
        enable_incremental_checkpointing: As with the other one.
    """

    def __init__(
        self, checkpoint_data_uri: str, enable_incremental_checkpointing: bool | None = None
    ) -> None:
        super().__init__(enable_incremental_checkpointing)
        self._storage = FileSystemCheckpointStorage(checkpoint_data_uri)

    def apply_to(self, configuration: Configuration) -> None:
        """Writes the settings into a configuration."""
        super().apply_to(configuration)
        self._storage.apply_to(configuration)


def _local_path(path: str) -> str:
    parts = urlsplit(str(path))
    # As in Flink, the host of a file's URL means nothing: file://var/db is /db.
    if parts.scheme not in ("", "file"):
        raise ConfigurationError(
            f"RocksDB needs a local directory, but {path!r} is remote; checkpoints go to "
            "'execution.checkpointing.dir', which may be remote",
            key=ROCKSDB_LOCALDIR.key,
            value=path,
        )
    if not parts.path.startswith("/"):
        raise ConfigurationError(
            f"RocksDB needs an absolute directory, but {path!r} is relative",
            key=ROCKSDB_LOCALDIR.key,
            value=path,
        )
    return parts.path.rstrip("/") or "/"
