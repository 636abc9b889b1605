"""Jobs as `/jobs` and what is below it show them; for all of one job see `JobParts`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_type_hints

from headrace.coordination.bodies.checkpoints import (
    CheckpointConfiguration,
    CheckpointDetails,
    Checkpoints,
)
from headrace.coordination.bodies.flink_json import OMITTED, called, camel_case, snake_case
from headrace.coordination.bodies.metrics import JobMetrics
from headrace.coordination.bodies.vertices import (
    BackPressure,
    SubtaskWatermark,
    VertexDetails,
    VertexSummary,
)

__all__ = [
    "PARTS",
    "AccumulatorValue",
    "Accumulators",
    "Diagnosis",
    "Epoch",
    "Epochs",
    "ExceptionEntry",
    "ExceptionHistory",
    "Exceptions",
    "Finding",
    "HeldWatermark",
    "JobConfig",
    "JobDetails",
    "JobExecutionConfig",
    "JobOverview",
    "JobParts",
    "JobPlan",
    "ListedJob",
    "Moment",
    "Phase",
    "Plan",
    "PlanInput",
    "PlanNode",
    "PlanOperator",
    "Setting",
    "SlotReport",
    "SlotSubtask",
    "SourceWatermark",
    "SplitWatermark",
    "TaskCounts",
    "Timeline",
    "VertexWatermark",
    "Watermarks",
]

# What is the matter.


@dataclass(frozen=True)
class Finding:
    """One thing that is the matter: how bad it is, what it is, and what to do."""

    status: str
    code: str
    sentence: str
    advice: str = ""
    vertex: str | None = None
    subtask: int | None = None


@dataclass(frozen=True)
class Diagnosis(Finding):
    """The most important finding, with the others."""

    findings: tuple[Finding, ...] = ()


# A job in a few figures.


@dataclass(frozen=True)
class ListedJob:
    """What is known of every job; `end_time` is -1 while it runs."""

    jid: str
    name: str
    state: str
    start_time: int
    end_time: int
    duration: int
    pid: int | None = field(default=None, metadata=OMITTED, kw_only=True)
    error: str | None = field(default=None, metadata=OMITTED, kw_only=True)
    diagnosis: Diagnosis | None = field(default=None, metadata=OMITTED, kw_only=True)


@dataclass(frozen=True)
class TaskCounts:
    """Subtasks by state. Flink's clients want all states; in some no subtask of ours ever is."""

    total: int = 0
    created: int = 0
    scheduled: int = 0
    deploying: int = 0
    initializing: int = 0
    reconciling: int = 0
    running: int = 0
    finished: int = 0
    canceling: int = 0
    canceled: int = 0
    failed: int = 0


@dataclass(frozen=True)
class JobOverview(ListedJob):
    """What a list of jobs shows about one of them."""

    last_modification: int
    tasks: TaskCounts = TaskCounts()
    pending_operators: int = 0
    parallelism: int = 0
    restarts: int = 0


# The job graph.


@dataclass(frozen=True)
class PlanOperator:
    """An operator of a chain."""

    id: str
    name: str
    uid: str | None
    keyed: bool


@snake_case
@dataclass(frozen=True)
class PlanInput:
    """An edge that leads to a vertex."""

    num: int
    id: str
    ship_strategy: str
    exchange: str = "pipelined_bounded"


@snake_case
@dataclass(frozen=True)
class PlanNode:
    """A vertex."""

    id: str
    parallelism: int
    description: str
    level: int
    operators: tuple[PlanOperator, ...]
    inputs: tuple[PlanInput, ...] | None = field(default=None, metadata=OMITTED)
    operator: str = ""
    operator_strategy: str = ""
    optimizer_properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The vertices of a job, and how they are connected."""

    jid: str
    name: str
    nodes: tuple[PlanNode, ...] = ()
    type: str = "STREAMING"


@dataclass(frozen=True)
class JobPlan:
    """A place of its own for the plan, as Flink has it."""

    plan: Plan


@dataclass(frozen=True)
class JobDetails(ListedJob):
    """A job with its vertices."""

    max_parallelism: int = field(metadata=called("maxParallelism"))
    now: int
    timestamps: dict[str, int]
    vertices: tuple[VertexSummary, ...]
    status_counts: dict[str, int]
    plan: Plan
    is_stoppable: bool = field(default=False, metadata=called("isStoppable"))


# Failures.


@camel_case
@dataclass(frozen=True)
class ExceptionEntry:
    """A failure that ended an attempt at the job."""

    exception_name: str
    stacktrace: str
    timestamp: int
    task_name: str | None = None
    endpoint: str | None = None
    concurrent_exceptions: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ExceptionHistory:
    """Failures, the newest first."""

    entries: tuple[ExceptionEntry, ...] = ()
    truncated: bool = False


@dataclass(frozen=True)
class Exceptions:
    """Why a job failed or restarted."""

    root_exception: str | None = None
    timestamp: int | None = None
    all_exceptions: tuple[Any, ...] = ()
    truncated: bool = False
    exception_history: ExceptionHistory = field(
        default=ExceptionHistory(), metadata=called("exceptionHistory")
    )


# Epochs.


@dataclass(frozen=True)
class Phase:
    """A part of an epoch's time."""

    name: str
    ms: float


@dataclass(frozen=True)
class Epoch:
    """One epoch, or several that were short. The phases add up to the duration."""

    id: int
    attempt: int
    start_time: int
    duration: float
    wait_before: float
    records: int
    more: bool
    checkpoint: int | None
    watermark: int | None
    phases: tuple[Phase, ...]


@dataclass(frozen=True)
class Epochs:
    """The last epochs, the newest at the end."""

    target_ms: int = 0
    total: int = 0
    epochs: tuple[Epoch, ...] = ()


@dataclass(frozen=True)
class Moment:
    """A second of a job. Only live jobs have channels, of which the usage and alignment are.

    Attributes:
        time: When it began.
        records: What sources read.
        epochs: How many epochs ended.
        p50: How long half of the records took at most, from the start of their epoch to its end.
        p99: The same of 99 of 100 records.
        alignment: The longest time that a subtask waited for barriers after the first one.
        alignment_bytes: What came meanwhile, over all subtasks.
        in_usage: The largest usage of a subtask's input.
        out_usage: The largest usage of a subtask's output.
        watermark: The lowest event time of all subtasks at the end of the last epoch.
    """

    time: int
    records: int
    epochs: int
    p50: float
    p99: float
    alignment: float
    alignment_bytes: int
    in_usage: float
    out_usage: float
    watermark: int | None = None


@dataclass(frozen=True)
class Timeline:
    """The last minutes of a job, the newest second at the end; `live` says if it is live now."""

    live: bool = False
    moments: tuple[Moment, ...] = ()


# Event time.


@dataclass(frozen=True)
class HeldWatermark:
    """A source, and where known its split, that holds event time back."""

    vertex: str
    name: str
    subtask: int
    split: str | None
    watermark: int | None
    behind_ms: int | None


@dataclass(frozen=True)
class SplitWatermark:
    """How far a split is."""

    id: str
    watermark: int | None
    idle: bool


@dataclass(frozen=True)
class SourceWatermark:
    """How far a subtask is, and the splits that it reads."""

    subtask: int
    watermark: int | None
    splits: tuple[SplitWatermark, ...]


@dataclass(frozen=True)
class VertexWatermark:
    """How far a vertex is."""

    id: str
    name: str
    watermark: int | None
    subtasks: tuple[SourceWatermark, ...]


@dataclass(frozen=True)
class Watermarks:
    """Watermarks of all subtasks and splits, and the one that the job waits for."""

    watermark: int | None = None
    held_back_by: HeldWatermark | None = None
    vertices: tuple[VertexWatermark, ...] = ()


# How it runs.


@dataclass(frozen=True)
class JobExecutionConfig:
    """How a job is run, in Flink's few words."""

    restart_strategy: str = ""
    job_parallelism: int = 0
    user_config: dict[str, str] = field(default_factory=dict)
    execution_mode: str = "PIPELINED"
    object_reuse_mode: bool = False


@dataclass(frozen=True)
class Setting:
    """An option that is set."""

    key: str
    value: str


@dataclass(frozen=True)
class JobConfig:
    """How a job is run."""

    jid: str
    name: str
    execution_config: JobExecutionConfig = JobExecutionConfig()
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class SlotSubtask:
    """A subtask in a slot."""

    vertex: str
    name: str
    subtask: int


@dataclass(frozen=True)
class SlotReport:
    """A process in which subtasks live."""

    index: int
    pid: int
    host: str
    subtasks: tuple[SlotSubtask, ...]


@dataclass(frozen=True)
class AccumulatorValue:
    """An accumulator of the user's functions."""

    name: str
    type: str
    value: str


@dataclass(frozen=True)
class Accumulators:
    """The accumulators of a job."""

    job_accumulators: tuple[Any, ...] = ()
    user_task_accumulators: tuple[AccumulatorValue, ...] = ()
    serialized_user_task_accumulators: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobParts:
    """All that can be told about a job, and what is left of one that has ended.

    A part has the name of the last piece of its path: `/jobs/:id` is `job`.
    """

    overview: JobOverview
    job: JobDetails
    plan: JobPlan
    exceptions: Exceptions
    metrics: JobMetrics
    config: JobConfig
    diagnosis: Diagnosis
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    checkpoint_details: dict[str, CheckpointDetails] = field(default_factory=dict)
    checkpoint_config: CheckpointConfiguration | None = None
    epochs: Epochs = Epochs()
    timeline: Timeline = Timeline()
    watermarks: Watermarks = Watermarks()
    vertex_watermarks: dict[str, tuple[SubtaskWatermark, ...]] = field(default_factory=dict)
    vertices: dict[str, VertexDetails] = field(default_factory=dict)
    backpressure: dict[str, BackPressure] = field(default_factory=dict)
    slots: tuple[SlotReport, ...] = ()
    accumulators: Accumulators = Accumulators()
    exit_code: int | None = field(default=None, metadata=OMITTED)


PARTS: dict[str, Any] = get_type_hints(JobParts)
"""The type of each part."""
