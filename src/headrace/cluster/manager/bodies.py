"""What the REST interface tells about the cluster and its programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.coordination.bodies.flink_json import OMITTED, called, camel_case
from headrace.coordination.bodies.jobs import SlotReport

__all__ = [
    "AllocatedSlot",
    "FailureCause",
    "Hardware",
    "JobState",
    "OperationOutcome",
    "ProgramStatus",
    "Resource",
    "Stage",
    "TaskManager",
    "ThreadInfo",
    "TriggerStatus",
]


@dataclass(frozen=True)
class JobState:
    """A job and its state."""

    id: str
    status: str


@dataclass(frozen=True)
class ProgramStatus:
    """A program: how it is or ended, and all of its jobs in order."""

    id: str
    status: str
    jobs: tuple[JobState, ...]


# Operations that take a while.


@dataclass(frozen=True)
class Stage:
    """How far an operation is: IN_PROGRESS or COMPLETED."""

    id: str


@dataclass(frozen=True)
class FailureCause:
    """An error as Flink's clients read one; the Java form of it is left empty."""

    class_name: str = field(metadata=called("class"))
    stack_trace: str
    timestamp: int
    serialized_throwable: str = ""


@dataclass(frozen=True)
class OperationOutcome:
    """What an operation led to: a place, or a failure, or neither."""

    location: Any = field(default=None, metadata=OMITTED)
    failure_cause: FailureCause | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class TriggerStatus:
    """Flink's answer to who asks for an operation; the outcome is there once it is complete."""

    status: Stage = Stage("IN_PROGRESS")
    operation: OperationOutcome | None = None


# Executors.


@camel_case
@dataclass(frozen=True)
class Resource:
    """What an executor or a slot has."""

    cpu_cores: float
    task_heap_memory: int
    task_off_heap_memory: int = 0
    managed_memory: int = 0
    network_memory: int = 0
    extended_resources: dict[str, Any] = field(default_factory=dict)


@camel_case
@dataclass(frozen=True)
class AllocatedSlot(SlotReport):
    """A slot of a job."""

    job_id: str
    job_name: str
    resource: Resource = field(default_factory=lambda: Resource(1.0, 0))


@camel_case
@dataclass(frozen=True)
class Hardware:
    """The machine of an executor."""

    cpu_cores: int
    physical_memory: int
    free_memory: int
    managed_memory: int = 0


@camel_case
@dataclass(frozen=True)
class TaskManager:
    """An executor of Spark in the words of Flink, with the slots beside it."""

    id: str
    path: str
    time_since_last_heartbeat: int
    slots_number: int
    free_slots: int
    total_resource: Resource
    free_resource: Resource
    hardware: Hardware
    host: str
    active_tasks: int = field(metadata=called("active-tasks"))
    max_memory: int
    memory_used: int
    allocated_slots: tuple[AllocatedSlot, ...] | None = field(metadata=OMITTED)
    data_port: int = 0
    jmx_port: int = -1
    memory_configuration: dict[str, Any] = field(default_factory=dict)
    blocked: bool = False


@camel_case
@dataclass(frozen=True)
class ThreadInfo:
    """A thread and what it is doing."""

    thread_name: str
    stringified_thread_info: str
