"""What of a session's settings changes how plans are run."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.common.configuration import Configuration
from headrace.sql import types as t
from headrace.sql.operators.emission import Emission
from headrace.sql.udf.batch_table import CallLimits

__all__ = ["PlanSettings", "SinkSettings"]


@dataclass(frozen=True)
class SinkSettings:
    """What happens to rows on their way into tables.

    Attributes:
        drop_null: Whether a row with NULL where there must be none is left out, instead of failing.
        lengths: IGNORE, TRIM_PAD or ERROR, for text and bytes of a wrong length.
        nested: IGNORE, ROWS or ROWS_AND_COLLECTIONS: where constraints inside of values count.
        materialize: NONE, AUTO or FORCE: whether the rows of each key are kept.
    """

    drop_null: bool = False
    lengths: str = "IGNORE"
    nested: str = "IGNORE"
    materialize: str = "AUTO"

    def parts(self, type_: t.DataType) -> tuple[t.DataType, ...]:
        """The types inside of one whose constraints count."""
        if self.nested != "IGNORE" and isinstance(type_, t.RowType):
            return tuple(f.data_type for f in type_.fields)
        if self.nested != "ROWS_AND_COLLECTIONS" or isinstance(type_, t.MultisetType):
            return ()
        if isinstance(type_, t.ArrayType):
            return (type_.element_type,)
        return (type_.key_type, type_.value_type) if isinstance(type_, t.MapType) else ()


@dataclass(frozen=True)
class PlanSettings:
    """What of a session's settings changes how plans are run.

    Attributes:
        zone: The session's time zone.
        batch: Whether all input comes to an end, and only final results count.
        state_ttl_ms: How long state is kept that nobody uses; 0 is for ever.
        every_change: Whether every row changes the result at once, instead of all of an epoch.
        watermark_interval_ms: By how much a watermark rises before rows that follow it may be late,
            where every change counts.
        two_phase: Whether rows are aggregated before the exchange where they can be.
        idle_timeout_ms: After how long without rows a source does not hold watermarks back.
        arrow_batch_size: How many rows a batched function gets at most.
        bundle_size: How many rows go through users' aggregate functions before changes come out,
            where every change counts; a batched function gets no more either.
        concurrent_calls: How many calls of an asynchronous function run at once.
        call_timeout_ms: How long such a call may take.
        call_attempts: How often it is tried.
        call_retry_delay_ms: How long it waits before the next try.
        concurrent_lookups: How many asynchronous lookups run at once.
        lookup_timeout_ms: How long one may take.
        model_calls: How asynchronous calls of models run.
        search_calls: How asynchronous vector searches run.
        reuse_subplans: Whether what a statement computes twice is computed once.
        pushdown: Whether tables look at conditions while they are read.
        multi_join: Whether joins on one key run in one operator.
        keep_lookups: Whether what was found for rows that may change is kept.
        configuration: That of the job, for what slots read by themselves.
        spark_segments: Whether Spark's JVM runs the parts of a plan that it can.
        sinks: What happens to rows on their way into tables.
    """

    zone: str = "UTC"
    batch: bool = False
    state_ttl_ms: int = 0
    every_change: bool = False
    watermark_interval_ms: int = 200
    two_phase: bool = True
    idle_timeout_ms: int = 0
    arrow_batch_size: int = 1000
    bundle_size: int = 100_000
    concurrent_calls: int = 10
    call_timeout_ms: int = 180_000
    call_attempts: int = 3
    call_retry_delay_ms: int = 100
    concurrent_lookups: int = 100
    lookup_timeout_ms: int = 180_000
    model_calls: CallLimits = field(default_factory=CallLimits)
    search_calls: CallLimits = field(default_factory=CallLimits)
    reuse_subplans: bool = True
    pushdown: bool = True
    multi_join: bool = False
    keep_lookups: bool = False
    configuration: Configuration = field(default_factory=Configuration)
    spark_segments: bool = False
    sinks: SinkSettings = SinkSettings()

    @property
    def emission(self) -> Emission:
        """When operators whose results change emit."""
        if self.batch:
            return Emission.FINAL
        return Emission.EVERY_CHANGE if self.every_change else Emission.NET_CHANGE
