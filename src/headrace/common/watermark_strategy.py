"""How a stream gets its timestamps and watermarks.

`WatermarkStrategy` is a picklable description, from which the runtime makes a generator for each
subtask.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from headrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time, to_millis

__all__ = [
    "BatchWatermarkGenerator",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarksGenerator",
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

AmountOfTime: TypeAlias = Duration | datetime.timedelta | Time | int
TimestampFunction: TypeAlias = Callable[[Any, int], int]


@dataclass(frozen=True, order=True)
class Watermark:
    """The promise that no record with a timestamp at or below `timestamp` will follow."""

    timestamp: int

    MAX: ClassVar[Watermark]
    """The watermark after the last record of a bounded stream."""


Watermark.MAX = Watermark(MAX_LONG_VALUE)


class WatermarkOutput(Protocol):
    """Where a `WatermarkGenerator` sends its watermarks. The runtime provides it."""

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Sends a watermark, unless it would go back, and marks the output active."""

    def mark_idle(self) -> None:
        """Says that no records are expected for now: downstream stops waiting for this input."""

    def mark_active(self) -> None:
        """Takes `mark_idle` back."""


class TimestampAssigner(ABC):
    """Gives each record its event timestamp."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Called for every record, before the watermark generator sees it.

        Args:
            value: The record.
            record_timestamp: The timestamp the record has so far, from the source or an earlier
                assigner; the smallest 64-bit integer if it has none.

        Returns:
            The timestamp, in milliseconds since the epoch.
        """


class WatermarkGenerator(ABC):
    """Makes watermarks from the records that pass: periodically, per record, or both.

    One generator exists for each subtask (and for each split of a source that reads several). It is
    used by one thread. It is not part of a checkpoint: after a restore a new one starts.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for every record, after its timestamp was assigned. May emit a watermark."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called every `pipeline.auto-watermark-interval`, and at the end of each epoch."""


class BatchWatermarkGenerator(WatermarkGenerator):
    """Looks at many records at once. It makes watermarks of records, not of their timestamps."""

    @abstractmethod
    def on_records(self, records: Sequence[Any], output: WatermarkOutput) -> None:
        """Called with some records, after they were passed on. May emit a watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """One record is a few records."""
        self.on_records([event], output)


class NoWatermarksGenerator(WatermarkGenerator):
    """Never emits a watermark."""

    __slots__ = ()

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Does nothing."""

    def on_batch(self, timestamps: Sequence[int]) -> None:
        """Does nothing."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """Emits the largest timestamp seen, minus the bound, minus one millisecond.

    With a bound of 0 it serves monotonous timestamps.
    """

    __slots__ = ("_lag_ms", "_max_timestamp")

    def __init__(self, max_out_of_orderness_ms: int = 0) -> None:
        """Creates a generator for records that are at most so many milliseconds late."""
        # The minus one: a record with the same timestamp as the largest one may still follow.
        self._lag_ms = max_out_of_orderness_ms + 1
        self._max_timestamp = MIN_LONG_VALUE + self._lag_ms

    @property
    def current_watermark(self) -> int:
        """The timestamp that `on_periodic_emit` would send now."""
        return self._max_timestamp - self._lag_ms

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Remembers the largest timestamp."""
        if event_timestamp > self._max_timestamp:
            self._max_timestamp = event_timestamp

    def on_batch(self, timestamps: Sequence[int]) -> None:
        """Remembers the largest timestamp of a batch: the same as `on_event` for each of them."""
        if timestamps:
            largest = max(timestamps)
            if largest > self._max_timestamp:
                self._max_timestamp = largest

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emits the current watermark, once there was a record."""
        watermark = self._max_timestamp - self._lag_ms
        if watermark > MIN_LONG_VALUE:
            output.emit_watermark(watermark)


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one group wait for each other when their watermarks drift apart."""

    group: str
    max_drift_ms: int
    update_interval_ms: int = 1000


@dataclass(frozen=True)
class WatermarkStrategy:
    """Describes how a stream gets timestamps and watermarks.

    Start with one of the static methods and refine with `with_*`; each returns a new strategy and
    leaves this one as it was.

    Example:
        >>> strategy = (
        ...     WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        ...     .with_timestamp_assigner(lambda value, _: value["ts"])
        ...     .with_idleness(Duration.of_minutes(1))
        ... )
    """

    kind: Literal["none", "monotonous", "bounded", "generator"] = "none"
    bound_ms: int = 0
    generator_factory: Callable[[], WatermarkGenerator] | None = None
    timestamp_assigner: TimestampAssigner | TimestampFunction | None = field(default=None)
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks at all, for programs in processing time."""
        return WatermarkStrategy("none")

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For timestamps that never decrease: the watermark follows the latest one closely."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: AmountOfTime) -> WatermarkStrategy:
        """For records that come at most `max_out_of_orderness` after later ones."""
        bound_ms = to_millis(max_out_of_orderness, "max_out_of_orderness")
        if bound_ms < 0:
            raise GraphError(f"max_out_of_orderness cannot be negative: {bound_ms} ms")
        return WatermarkStrategy("bounded", bound_ms)

    @staticmethod
    def for_generator(generator_factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Uses generators of your own.

        Args:
            generator_factory: Called with no argument once for each subtask or split; a class with
                such a constructor will do.
        """
        if isinstance(generator_factory, WatermarkGenerator):
            raise FunctionTypeError(
                "for_generator takes a function or class that creates a generator, not a "
                f"generator: pass {type(generator_factory).__name__} or a lambda, so that each "
                "subtask gets its own"
            )
        if not callable(generator_factory):
            raise FunctionTypeError(
                "for_generator takes a function or class that creates a WatermarkGenerator, not "
                f"{generator_factory!r}"
            )
        return WatermarkStrategy("generator", generator_factory=generator_factory)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | TimestampFunction
    ) -> WatermarkStrategy:
        """Takes timestamps from a `TimestampAssigner` or a function of value and old timestamp."""
        if isinstance(timestamp_assigner, type):
            raise FunctionTypeError(
                f"with_timestamp_assigner got the class {timestamp_assigner.__name__}; "
                f"pass an object: {timestamp_assigner.__name__}()"
            )
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(
            timestamp_assigner
        ):
            raise FunctionTypeError(
                "with_timestamp_assigner takes a TimestampAssigner or a function "
                f"(value, record_timestamp) -> milliseconds, not {timestamp_assigner!r}"
            )
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: AmountOfTime) -> WatermarkStrategy:
        """Marks the stream idle when no record came for `idle_timeout`, so others need not wait."""
        idle_timeout_ms = to_millis(idle_timeout, "idle_timeout")
        if idle_timeout_ms <= 0:
            raise GraphError(f"idle_timeout must be positive, not {idle_timeout_ms} ms")
        return replace(self, idle_timeout_ms=idle_timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: AmountOfTime,
        update_interval: AmountOfTime | None = None,
    ) -> WatermarkStrategy:
        """Pauses a source whose watermark is too far ahead of the others in its group.

        It counts for `from_source`; a strategy in the middle of a stream cannot pause anything.

        Args:
            watermark_group: Name of the group.
            max_allowed_watermark_drift: How far ahead a source may be before it waits.
            update_interval: How soon a source that waited goes on, if others of the group are
                still reading; one second by default.
        """
        if not isinstance(watermark_group, str):
            raise FunctionTypeError(f"watermark_group is a str, not {watermark_group!r}")
        alignment = WatermarkAlignment(
            watermark_group,
            to_millis(max_allowed_watermark_drift, "max_allowed_watermark_drift"),
            1000 if update_interval is None else to_millis(update_interval, "update_interval"),
        )
        if alignment.max_drift_ms < 0 or alignment.update_interval_ms <= 0:
            raise GraphError(
                f"watermark alignment needs a drift of at least 0 ms and an update interval above "
                f"0 ms, not {alignment.max_drift_ms} and {alignment.update_interval_ms}"
            )
        return replace(self, alignment=alignment)

    def create_generator(self) -> WatermarkGenerator:
        """Makes the generator of one subtask or split."""
        if self.kind == "none":
            return NoWatermarksGenerator()
        if self.generator_factory is None:
            return BoundedOutOfOrdernessWatermarks(self.bound_ms)
        generator = self.generator_factory()
        if not isinstance(generator, WatermarkGenerator):
            raise FunctionTypeError(
                f"the factory given to WatermarkStrategy.for_generator returned {generator!r}, "
                "which is not a WatermarkGenerator"
            )
        return generator

    def timestamp_function(self) -> TimestampFunction | None:
        """The assigner as a function of value and old timestamp; None if there is none."""
        assigner = self.timestamp_assigner
        return assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner
