"""Chooses the state backend of a job: the driver reads the settings, slots make the backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.datastream.state import StateDescriptor
from headrace.metrics import MetricGroup
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.state.latency import track_latency
from headrace.runtime.state.rocksdb_settings import RocksDBSettings, require_rocksdict
from headrace.runtime.state.table_backend import TableStateBackend

__all__ = ["StateBackendSettings", "StateBackends"]


@dataclass(frozen=True)
class StateBackendSettings:
    """Where the keyed state of a job lives.

    Attributes:
        type: `hashmap` or `rocksdb`.
        rocksdb: Settings of the latter.
        latency_sample_interval: Measure one of so many accesses to state; 0 for none.
    """

    type: str = "hashmap"
    rocksdb: RocksDBSettings = field(default_factory=RocksDBSettings)
    latency_sample_interval: int = 0

    @staticmethod
    def from_configuration(configuration: Configuration) -> StateBackendSettings:
        """Reads and checks the settings.

        Raises:
            ConfigurationError: A setting makes no sense, or a package is missing.
        """
        get = configuration.get
        backend: str = get(options.STATE_BACKEND)
        if backend == "rocksdb":
            require_rocksdict()
        tracked = get(options.LATENCY_TRACK)
        return StateBackendSettings(
            backend,
            RocksDBSettings.from_configuration(configuration),
            max(1, get(options.LATENCY_TRACK_SAMPLE_INTERVAL)) if tracked else 0,
        )


class StateBackends:
    """Makes the state backends of one slot, which share memory."""

    def __init__(self, settings: StateBackendSettings | None = None) -> None:
        self._settings = settings or StateBackendSettings()
        self._resources: Any = None

    def create(
        self,
        max_parallelism: int,
        clock: Callable[[], int],
        track_changes: bool,
        *,
        operator_uid: str | None,
        subtask: int,
        metrics: MetricGroup,
    ) -> TableStateBackend[Any]:
        """The backend of one operator in one subtask."""
        backend: TableStateBackend[Any]
        if self._settings.type == "rocksdb":
            # Late: the library is optional, and takes a while to load.
            from headrace.runtime.state.rocksdb import RocksDBStateBackend
            from headrace.runtime.state.rocksdb_store import RocksDBResources

            if self._resources is None:
                self._resources = RocksDBResources(self._settings.rocksdb)
            backend = RocksDBStateBackend(
                max_parallelism,
                clock,
                track_changes,
                operator_uid=operator_uid,
                resources=self._resources,
                subtask=subtask,
            )
        else:
            backend = HashMapStateBackend(
                max_parallelism, clock, track_changes, operator_uid=operator_uid
            )
        if self._settings.latency_sample_interval:
            _track(backend, metrics.add_group("state"), self._settings.latency_sample_interval)
        return backend


def _track(backend: TableStateBackend[Any], metrics: MetricGroup, sample_interval: int) -> None:
    """Lets each state object that the backend gives out be tracked."""
    create = backend.get_or_create

    def get_or_create(descriptor: StateDescriptor, cell: KeyCell, namespaced: bool = False) -> Any:
        state = create(descriptor, cell, namespaced)
        track_latency(state, metrics, descriptor.get_name(), sample_interval)
        return state

    backend.get_or_create = get_or_create  # type: ignore[method-assign]
