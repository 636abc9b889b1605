"""Time-to-live of state: `StateTtlConfig` and its builder.

Re-exported by `headrace.datastream.state`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import ClassVar, TypeAlias

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time, to_millis

__all__ = ["StateTtlConfig"]

AmountOfTime: TypeAlias = Time | Duration | timedelta | int

_DEFAULT_INCREMENTAL_SIZE = 5
_DEFAULT_COMPACTION_ENTRIES = 1000
_LONG_MAX = 2**63 - 1


class StateTtlConfig:
    """Says when entries of a state expire, who may still see them, and how they are cleaned up.

    Built with `StateTtlConfig.new_builder(ttl)` and given to `StateDescriptor.enable_time_to_live`.

    Example:
        >>> config = StateTtlConfig.new_builder(Time.hours(1)).never_return_expired().build()
        >>> config.get_update_type()
        <UpdateType.OnCreateAndWrite: 1>
    """

    #: Time-to-live switched off.
    DISABLED: ClassVar[StateTtlConfig]

    class UpdateType(Enum):
        """What makes an entry young again."""

        #: Entries never expire.
        Disabled = 0
        #: Creating and writing it.
        OnCreateAndWrite = 1
        #: Creating, writing and reading it.
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry may be returned."""

        #: Yes, as long as it has not been removed.
        ReturnExpiredIfNotCleanedUp = 0
        #: No: it looks as if it did not exist.
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The clock by which entries age."""

        ProcessingTime = 0

    class CleanupStrategies:
        """How expired entries are removed, beside the removal of an expired entry when it is read.

        Args:
            strategies: The strategies that were asked for.
            is_cleanup_in_background: Whether the backend may use its default strategy.
        """

        class Strategies(Enum):
            """The kinds of clean-up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):  # noqa: B024
            """Base of the settings of a strategy."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A strategy without settings."""

            def __eq__(self, other: object) -> bool:
                """All are equal."""
                return type(self) is type(other)

            def __hash__(self) -> int:
                """All are equal."""
                return hash(type(self))

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Checks a few entries each time the state is used (hashmap backend).

            Args:
                cleanup_size: How many entries to check each time.
                run_cleanup_for_every_record: Also check when a record is processed without touching
                    the state.
            """

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size <= 0:
                    raise GraphError(
                        f"incremental clean-up needs a positive number of entries, not "
                        f"{cleanup_size}; {_DEFAULT_INCREMENTAL_SIZE} is a good start"
                    )
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = bool(run_cleanup_for_every_record)

            def get_cleanup_size(self) -> int:
                """Returns how many entries are checked each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Returns whether entries are checked for each record as well."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Drops expired entries when RocksDB compacts its files (rocksdb backend).

            Args:
                query_time_after_num_entries: The clock is read once for so many entries.
                periodic_compaction_time: Files older than this are compacted in any case; 30 days
                    if left out.
            """

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Duration | Time | timedelta | None = None,
            ) -> None:
                if query_time_after_num_entries < 0:
                    raise GraphError(
                        "query_time_after_num_entries must not be negative, got "
                        f"{query_time_after_num_entries}"
                    )
                self._query_time_after_num_entries = query_time_after_num_entries
                if periodic_compaction_time is None:
                    periodic_compaction_time = Duration.of_days(30)
                elif not isinstance(periodic_compaction_time, Duration):
                    periodic_compaction_time = Duration.of_millis(
                        to_millis(periodic_compaction_time, "periodic_compaction_time")
                    )
                self._periodic_compaction_time = periodic_compaction_time

            def get_query_time_after_num_entries(self) -> int:
                """Returns after how many entries the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Returns the age at which a file is compacted in any case."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY: ClassVar[EmptyCleanupStrategy] = EmptyCleanupStrategy()

        def __init__(
            self,
            strategies: Mapping[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Returns whether the backend may use its default strategy."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Returns whether full snapshots leave expired entries out."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """Returns the incremental strategy: the one asked for, else the default, else None.

            The default (5 entries for each access) applies while clean-up in the background is on.
            """
            chosen = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(chosen, self.IncrementalCleanupStrategy):
                return chosen
            if self._is_cleanup_in_background:
                return self.IncrementalCleanupStrategy(_DEFAULT_INCREMENTAL_SIZE, False)
            return None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """Returns the compaction strategy: the one asked for, else the default, else None."""
            chosen = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(chosen, self.RocksdbCompactFilterCleanupStrategy):
                return chosen
            if self._is_cleanup_in_background:
                return self.RocksdbCompactFilterCleanupStrategy(_DEFAULT_COMPACTION_ENTRIES)
            return None

    class Builder:
        """Builds a `StateTtlConfig`; every method but `build` returns the builder."""

        def __init__(self, ttl: AmountOfTime) -> None:
            self._ttl: AmountOfTime = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Sets what makes an entry young again."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Creating and writing an entry makes it young again; the default."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reading an entry makes it young again, too."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Sets whether an expired entry may be returned."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Expired entries are returned as long as they exist."""
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Expired entries are never returned; the default."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Sets the clock by which entries age."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Entries age by processing time; the default."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Full snapshots leave expired entries out, so that a restore is free of them."""
            kind = StateTtlConfig.CleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT
            self._strategies[kind] = StateTtlConfig.CleanupStrategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Checks `cleanup_size` entries each time the state is used (hashmap backend)."""
            kind = StateTtlConfig.CleanupStrategies.Strategies.INCREMENTAL_CLEANUP
            self._strategies[kind] = StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: Duration | Time | timedelta | None = None,
        ) -> StateTtlConfig.Builder:
            """Drops expired entries when RocksDB compacts its files (rocksdb backend)."""
            strategies = StateTtlConfig.CleanupStrategies
            kind = strategies.Strategies.ROCKSDB_COMPACTION_FILTER
            self._strategies[kind] = strategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Switches the backend's default strategy off; strategies asked for stay on."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: AmountOfTime) -> StateTtlConfig.Builder:
            """Sets how long an entry lives."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Returns the finished settings."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: AmountOfTime,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        _require(update_type, StateTtlConfig.UpdateType, "update_type")
        _require(state_visibility, StateTtlConfig.StateVisibility, "state_visibility")
        _require(
            ttl_time_characteristic, StateTtlConfig.TtlTimeCharacteristic, "ttl_time_characteristic"
        )
        self._ttl_ms = to_millis(ttl, "the time-to-live of state")
        if self._ttl_ms <= 0:
            raise GraphError(
                f"the time-to-live of state must be at least one millisecond, got {ttl}; "
                "leave enable_time_to_live() out for state that never expires"
            )
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl: AmountOfTime = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: AmountOfTime) -> StateTtlConfig.Builder:
        """Starts a builder for entries that live for `ttl`."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """Returns what makes an entry young again."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Returns whether an expired entry may be returned."""
        return self._state_visibility

    def get_ttl(self) -> AmountOfTime:
        """Returns how long an entry lives, as it was given."""
        return self._ttl

    def get_time_to_live(self) -> Duration:
        """Returns how long an entry lives, as a `Duration`."""
        return Duration.of_millis(self._ttl_ms)

    @property
    def ttl_ms(self) -> int:
        """How long an entry lives, in milliseconds."""
        return self._ttl_ms

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Returns the clock by which entries age."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Returns whether entries expire at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """Returns how expired entries are removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        """Shows the main settings, as PyFlink does."""
        return (
            f"StateTtlConfig<update_type={self._update_type}, "
            f"state_visibility={self._state_visibility},"
            f"ttl_time_characteristic ={self.get_ttl_time_characteristic()},ttl={self._ttl_ms} ms>"
        )


def _require(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise FunctionTypeError(
            f"{name} of a StateTtlConfig must be a StateTtlConfig.{kind.__name__}, not {value!r}"
        )


StateTtlConfig.DISABLED = StateTtlConfig(
    StateTtlConfig.UpdateType.Disabled,
    StateTtlConfig.StateVisibility.NeverReturnExpired,
    StateTtlConfig.TtlTimeCharacteristic.ProcessingTime,
    _LONG_MAX,
    StateTtlConfig.CleanupStrategies({}, True),
)
