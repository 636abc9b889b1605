"""What is seen inside of running slots: flame graphs and records."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.coordination.bodies.flink_json import camel_case
from headrace.runtime.slot.messages import PeekedRecord

__all__ = ["FlameGraph", "FlameNode", "PeekedOperator", "PeekedRecords"]


@dataclass(frozen=True)
class FlameNode:
    """A function, the samples in which it was active, and what it called, the busiest first."""

    name: str
    value: int
    children: tuple[FlameNode, ...]


@camel_case
@dataclass(frozen=True)
class FlameGraph:
    """What the subtasks of a vertex did; nothing while the first samples are being taken."""

    end_timestamp: int = -1
    data: FlameNode | None = None


@dataclass(frozen=True)
class PeekedOperator:
    """The operator whose records are shown."""

    id: str
    name: str


@dataclass(frozen=True)
class PeekedRecords:
    """Records that left an operator; `complete` if there are as many as were wanted."""

    operator: PeekedOperator
    complete: bool
    records: tuple[PeekedRecord, ...]
