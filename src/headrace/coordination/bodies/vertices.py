"""Vertices and subtasks of a job as `/jobs/:id/vertices` and what is below it show them."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.coordination.bodies.flink_json import OMITTED, called, camel_case
from headrace.runtime.epoch import HotKey

__all__ = [
    "Aggregate",
    "AggregatedIo",
    "BackPressure",
    "Io",
    "IoAggregates",
    "Rates",
    "SubtaskBackPressure",
    "SubtaskDetails",
    "SubtaskWatermark",
    "VertexDetails",
    "VertexSummary",
]


@dataclass(frozen=True)
class Io:
    """What subtasks read, wrote and spent their time on since their attempt started."""

    read_bytes: int
    write_bytes: int
    read_records: int
    write_records: int
    accumulated_backpressured_time: int
    accumulated_idle_time: int
    accumulated_busy_time: int
    read_bytes_complete: bool = True
    write_bytes_complete: bool = True
    read_records_complete: bool = True
    write_records_complete: bool = True


@dataclass(frozen=True)
class Rates:
    """What subtasks did lately, per second, and shares of their time."""

    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float
    busy: float
    back_pressured: float
    idle: float
    watermark: int | None
    max_busy: float | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class VertexSummary:
    """A vertex as `/jobs/:id` lists it."""

    id: str
    name: str
    max_parallelism: int = field(metadata=called("maxParallelism"))
    parallelism: int
    status: str
    start_time: int
    end_time: int
    duration: int
    tasks: dict[str, int]
    metrics: Io
    rates: Rates


@dataclass(frozen=True)
class SubtaskDetails:
    """A subtask; a job knows hosts only, whoever knows the task managers puts theirs in."""

    subtask: int
    status: str
    attempt: int
    endpoint: str
    host: str
    taskmanager_id: str
    start_time: int
    end_time: int
    duration: int
    metrics: Io
    rates: Rates
    watermark: int | None
    hot_key: HotKey | None


@dataclass(frozen=True)
class Aggregate:
    """A figure over the subtasks of a vertex."""

    min: float
    max: float
    avg: float
    sum: float
    p25: float
    median: float
    p75: float
    p95: float


@dataclass(frozen=True)
class IoAggregates:
    """Each figure of `Io` over the subtasks of a vertex."""

    read_bytes: Aggregate
    write_bytes: Aggregate
    read_records: Aggregate
    write_records: Aggregate
    accumulated_backpressured_time: Aggregate
    accumulated_idle_time: Aggregate
    accumulated_busy_time: Aggregate


@dataclass(frozen=True)
class AggregatedIo:
    """A place of its own for the metrics, as Flink has it."""

    metrics: IoAggregates


@dataclass(frozen=True)
class VertexDetails:
    """A vertex with its subtasks."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int = field(metadata=called("maxParallelism"))
    now: int
    aggregated: AggregatedIo
    subtasks: tuple[SubtaskDetails, ...]


@camel_case
@dataclass(frozen=True)
class SubtaskBackPressure:
    """How much a subtask waits for those below."""

    subtask: int
    attempt_number: int = field(metadata=called("attempt-number"))
    backpressure_level: str
    old_level: str = field(metadata=called("backpressure-level"))
    ratio: float
    idle_ratio: float
    busy_ratio: float


@camel_case
@dataclass(frozen=True)
class BackPressure:
    """How much the subtasks of a vertex wait for those below."""

    status: str
    backpressure_level: str
    old_level: str = field(metadata=called("backpressure-level"))
    end_timestamp: int = field(metadata=called("end-timestamp"))
    subtasks: tuple[SubtaskBackPressure, ...]


@dataclass(frozen=True)
class SubtaskWatermark:
    """A watermark in the form of a metric."""

    id: str
    value: str
