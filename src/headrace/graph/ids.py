"""Names for integers and strings that identify things: a swapped argument is a type error."""

from __future__ import annotations

from typing import NewType

NodeId = NewType("NodeId", int)
OperatorId = NewType("OperatorId", str)
VertexId = NewType("VertexId", str)
SubtaskIndex = NewType("SubtaskIndex", int)
SlotId = NewType("SlotId", int)
KeyGroup = NewType("KeyGroup", int)
EpochId = NewType("EpochId", int)
CheckpointId = NewType("CheckpointId", int)

DEFAULT_MAX_PARALLELISM = 128
"""Key groups of a job when nothing else is said (Flink's lower bound)."""

UPPER_BOUND_MAX_PARALLELISM = 1 << 15


def default_max_parallelism(parallelism: int) -> int:
    """Flink's rule for an operator that names no maximum.

    It is 1.5 times the parallelism, rounded up to a power of two.
    """
    wanted = parallelism + parallelism // 2
    power = 1 << max(wanted - 1, 0).bit_length()
    return min(max(power, DEFAULT_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)
