"""The metrics of a job as a tree, with Flink's names.

A histogram, a meter or a distribution is a dict of numbers; who shows it decides how.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["JobMetrics", "OperatorMetrics", "SubtaskMetrics", "VertexMetrics"]


@dataclass(frozen=True)
class OperatorMetrics:
    """The metrics of an operator in a subtask."""

    id: str
    name: str
    values: dict[str, Any]


@dataclass(frozen=True)
class SubtaskMetrics:
    """The metrics of a subtask: its own, and those of its operators."""

    index: int
    attempt: int
    host: str
    task: dict[str, Any] = field(default_factory=dict)
    operators: tuple[OperatorMetrics, ...] = ()


@dataclass(frozen=True)
class VertexMetrics:
    """The metrics of the subtasks of a vertex."""

    name: str
    subtasks: tuple[SubtaskMetrics, ...]


@dataclass(frozen=True)
class JobMetrics:
    """The metrics of a job; one that has not started has none."""

    id: str
    name: str
    job: dict[str, Any] = field(default_factory=dict)
    vertices: dict[str, VertexMetrics] = field(default_factory=dict)
