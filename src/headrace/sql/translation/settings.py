"""What of a session's settings changes how plans are run."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.segments.planning import SegmentSettings

__all__ = ["TranslationSettings"]


@dataclass(frozen=True)
class TranslationSettings:
    """What of the session's settings changes how plans are run."""

    zone: str = "UTC"
    batch: bool = False
    state_ttl_ms: int = 0
    every_change: bool = False
    two_phase: bool = True
    idle_timeout_ms: int = 0
    arrow_batch_size: int = 1000
    concurrent_calls: int = 10
    call_timeout_ms: int = 180_000
    call_attempts: int = 3
    call_retry_delay_ms: int = 100
    spark_segments: bool = False

    def for_segments(self) -> SegmentSettings:
        """What decides which parts Spark's JVM runs."""
        return SegmentSettings(
            self.spark_segments,
            self.two_phase and not self.every_change,
            self.zone,
            self.idle_timeout_ms > 0,
        )
