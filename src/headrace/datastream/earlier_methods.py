"""Methods of PyFlink 1.x that PyFlink 2 has options for; programs still call them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from headrace.common import options
from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from headrace.datastream.state_backend import StateBackend
from headrace.datastream.time_characteristic import TimeCharacteristic

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.datastream.data_stream import DataStream

__all__ = ["EarlierMethods", "deprecated"]


def deprecated(method: str, instead: str) -> None:
    """Warns at the line of the program that calls a method."""
    warnings.warn(f"{method} is deprecated: {instead}", DeprecationWarning, stacklevel=3)


class EarlierMethods:
    """What the environment of PyFlink 1.x had."""

    if TYPE_CHECKING:

        def get_configuration(self) -> Configuration:
            """All settings."""

        def from_collection(self, collection: Any) -> DataStream[Any]:
            """A stream of the elements of a collection."""

    def set_state_backend(self, state_backend: StateBackend) -> Any:
        """Set where keyed state lives; `state.backend.type` does the same."""
        if not isinstance(state_backend, StateBackend):
            raise FunctionTypeError(f"a StateBackend is needed, not {state_backend!r}")
        deprecated("set_state_backend", f"set {options.STATE_BACKEND.key}")
        state_backend.apply_to(self.get_configuration())
        return self

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> None:
        """Set what follows a failure; `restart-strategy.*` does the same."""
        deprecated("set_restart_strategy", f"set {options.RESTART_STRATEGY_TYPE.key}")
        RestartStrategies.apply(restart_strategy, self.get_configuration())

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """What follows a failure."""
        configured = RestartStrategies.from_configuration(self.get_configuration())
        return RestartStrategies.fall_back_restart() if configured is None else configured

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Choose processing time, without watermarks, or event time, which needs no choice."""
        if characteristic is TimeCharacteristic.IngestionTime:
            raise ConfigurationError(
                "there is no ingestion time; take the time of arrival as event time with "
                "WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(...)"
            )
        deprecated("set_stream_time_characteristic", "choose windows and timers of that time")
        if characteristic is TimeCharacteristic.ProcessingTime:
            self.get_configuration().set_string(options.AUTO_WATERMARK_INTERVAL.key, "0 ms")

    def from_elements(self, *elements: Any) -> DataStream[Any]:
        """A stream of the arguments; the same as `from_collection` of a list of them."""
        deprecated("from_elements", "call from_collection([...])")
        return self.from_collection(list(elements))
