"""`InputDependencyConstraint`: which inputs must be ready before a task starts."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Which inputs must be ready before a task is scheduled. Accepted; epochs schedule by level."""

    ANY = 0
    """Any one input."""
    ALL = 1
    """All inputs."""
