"""Settings of the `rocksdb` backend, and what they are in the options of RocksDB.

A profile (`state.backend.rocksdb.predefined-options`) gives values for a kind of disk; a setting of
its own wins over the profile; an options factory has the last word.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

from headrace.common import options
from headrace.common.callables import find_callable
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.settings.types import BOOLEAN, INT, MEMORY, STRING

__all__ = ["RocksDBSettings", "require_rocksdict"]

_PREFIX = "state.backend.rocksdb."
_MB = 1 << 20

_TUNING: dict[str, Any] = {
    "block.blocksize": MEMORY,
    "block.cache-size": MEMORY,
    "bloom-filter.bits-per-key": INT,
    "compaction.level.max-size-level-base": MEMORY,
    "compaction.level.target-file-size-base": MEMORY,
    "compaction.level.use-dynamic-size": BOOLEAN,
    "compaction.style": STRING,
    "files.open": INT,
    "thread.num": INT,
    "use-bloom-filter": BOOLEAN,
    "writebuffer.count": INT,
    "writebuffer.number-to-merge": INT,
    "writebuffer.size": MEMORY,
}
"""The settings that RocksDB has an option for, without their prefix."""

_DEFAULTS: dict[str, Any] = {
    "block.blocksize": 4 << 10,
    "block.cache-size": 8 * _MB,
    "bloom-filter.bits-per-key": 10,
    "files.open": -1,
    "thread.num": 2,
    "use-bloom-filter": False,
    "writebuffer.count": 2,
    "writebuffer.size": 64 * _MB,
}

_SPINNING_DISK = {"compaction.level.use-dynamic-size": True, "thread.num": 4}
_PROFILES: dict[str, dict[str, Any]] = {
    "DEFAULT": {},
    "SPINNING_DISK_OPTIMIZED": _SPINNING_DISK,
    # Large blocks and files for few seeks; filters and a cache so that most reads need none.
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": {
        **_SPINNING_DISK,
        "block.blocksize": 128 << 10,
        "block.cache-size": 256 * _MB,
        "compaction.level.max-size-level-base": 1024 * _MB,
        "compaction.level.target-file-size-base": 256 * _MB,
        "use-bloom-filter": True,
        "writebuffer.count": 4,
        "writebuffer.number-to-merge": 3,
        "writebuffer.size": 64 * _MB,
    },
    "FLASH_SSD_OPTIMIZED": {"thread.num": 4},
}


def require_rocksdict() -> Any:
    """The library; if it is missing, an error says how to get it."""
    try:
        return importlib.import_module("rocksdict")
    except ImportError as error:
        raise ConfigurationError(
            f"the state backend 'rocksdb' needs the package rocksdict, which cannot be imported "
            f"({error}); install it where the job runs with: pip install rocksdict",
            key=options.STATE_BACKEND.key,
            value="rocksdb",
        ) from error


@dataclass(frozen=True)
class RocksDBSettings:
    """How the databases of a job are set up.

    Attributes:
        local_directories: Where the databases are; subtasks are spread over them. Without any, in
            the system's directory for temporary files.
        object_cache_size: How many decoded values a slot keeps in front of its databases.
        profile: Name of a predefined set of options.
        tuning: Settings of their own, by their key without `state.backend.rocksdb.`.
        options_factory: `module:name` of a callable that takes `rocksdict.Options` and returns
            those to use.
    """

    local_directories: tuple[str, ...] = ()
    object_cache_size: int = 100_000
    profile: str = "DEFAULT"
    tuning: dict[str, Any] = field(default_factory=dict)
    options_factory: str | None = None

    @staticmethod
    def from_configuration(configuration: Configuration) -> RocksDBSettings:
        """Reads and checks the settings."""
        directories = configuration.get(options.ROCKSDB_LOCALDIR) or ""
        factory = configuration.get_string(_PREFIX + "options-factory", "") or None
        if factory is not None:
            find_callable(factory)
        given = configuration.to_dict()
        settings = RocksDBSettings(
            local_directories=tuple(d.strip() for d in directories.split(",") if d.strip()),
            object_cache_size=configuration.get(options.ROCKSDB_CACHE_OBJECTS),
            profile=configuration.get(options.ROCKSDB_PREDEFINED_OPTIONS),
            tuning={
                name: option_type.parse(_PREFIX + name, given[_PREFIX + name])
                for name, option_type in _TUNING.items()
                if _PREFIX + name in given
            },
            options_factory=factory,
        )
        settings._require_sensible()
        return settings

    def _require_sensible(self) -> None:
        style = self.tuning.get("compaction.style", "LEVEL").upper()
        if style not in ("LEVEL", "UNIVERSAL"):
            key = _PREFIX + "compaction.style"
            raise ConfigurationError(
                f"{key} can be LEVEL or UNIVERSAL, not {style!r}: others lose old entries",
                key=key,
                value=style,
            )

    @property
    def effective(self) -> dict[str, Any]:
        """The tuning with what the profile and the defaults add to it."""
        return {**_DEFAULTS, **_PROFILES[self.profile], **self.tuning}

    def database_options(self, block_cache: Any) -> Any:
        """New `rocksdict.Options`."""
        rocksdict = require_rocksdict()
        tuning = self.effective
        result = rocksdict.Options(raw_mode=True)
        result.create_if_missing(True)
        # Checkpoints make state durable, not the database.
        result.set_use_fsync(False)
        result.set_stats_dump_period_sec(0)
        result.set_keep_log_file_num(1)
        result.set_max_log_file_size(_MB)
        result.set_max_open_files(tuning["files.open"])
        result.set_max_background_jobs(tuning["thread.num"])
        result.set_write_buffer_size(tuning["writebuffer.size"])
        result.set_max_write_buffer_number(tuning["writebuffer.count"])
        _set_compaction(rocksdict, result, tuning)
        table = rocksdict.BlockBasedOptions()
        table.set_block_size(tuning["block.blocksize"])
        table.set_block_cache(block_cache)
        if tuning["use-bloom-filter"]:
            table.set_bloom_filter(float(tuning["bloom-filter.bits-per-key"]), False)
        result.set_block_based_table_factory(table)
        if self.options_factory is not None:
            result = find_callable(self.options_factory)(result)
        return result


def _set_compaction(rocksdict: Any, result: Any, tuning: dict[str, Any]) -> None:
    if "writebuffer.number-to-merge" in tuning:
        result.set_min_write_buffer_number_to_merge(tuning["writebuffer.number-to-merge"])
    if "compaction.level.use-dynamic-size" in tuning:
        result.set_level_compaction_dynamic_level_bytes(tuning["compaction.level.use-dynamic-size"])
    if "compaction.level.target-file-size-base" in tuning:
        result.set_target_file_size_base(tuning["compaction.level.target-file-size-base"])
    if "compaction.level.max-size-level-base" in tuning:
        result.set_max_bytes_for_level_base(tuning["compaction.level.max-size-level-base"])
    if tuning.get("compaction.style", "LEVEL").upper() == "UNIVERSAL":
        result.set_compaction_style(rocksdict.DBCompactionStyle.universal())
