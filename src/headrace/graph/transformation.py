"""The tree that the DataStream API builds: one transformation for each call.

Partitioning, union and side outputs are virtual: they become properties of an edge in the stream
graph.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph.ids import NodeId
from headrace.graph.partitioning import Keyed, Partitioning
from headrace.graph.specs import OperatorSpec


class Chaining(enum.Enum):
    """Whether an operator may share a vertex with the one before it."""

    ALWAYS = "always"
    HEAD = "head"
    NEVER = "never"


class Transformation:
    """A step of the program; name, uid and parallelism may still be set until it is executed."""

    def __init__(
        self, ids: Iterable[int], name: str, inputs: Sequence[Transformation], output_type: Any
    ) -> None:
        self.id = NodeId(next(iter(ids)))
        self.name = name
        self.inputs = list(inputs)
        self.output_type = output_type
        self.parallelism: int | None = None
        self.max_parallelism: int | None = None
        self.uid: str | None = None
        self.uid_hash: str | None = None
        self.added = False
        """Whether no program can name it, so that its id is always generated."""
        self.slot_sharing_group: str | None = None
        self.description: str | None = None
        self.chaining = Chaining.ALWAYS
        self.buffer_timeout_ms: int | None = None
        self.force_non_parallel = False

    @property
    def virtual(self) -> bool:
        """Whether this is only a property of an edge."""
        return True

    @property
    def keyed(self) -> bool:
        """Whether records have a key from here on."""
        return False


class OperatorTransformation(Transformation):
    """A real operator: source, one or two inputs, or sink."""

    def __init__(
        self,
        ids: Iterable[int],
        name: str,
        inputs: Sequence[Transformation],
        output_type: Any,
        spec: OperatorSpec,
        converts: bool = False,
    ) -> None:
        super().__init__(ids, name, inputs, output_type)
        self.spec = spec
        self.converts = converts

    @property
    def virtual(self) -> bool:
        return False


class PartitionTransformation(Transformation):
    """Another way for records to choose the next subtask."""

    def __init__(
        self, ids: Iterable[int], upstream: Transformation, partitioning: Partitioning
    ) -> None:
        super().__init__(ids, "Partition", [upstream], upstream.output_type)
        self.partitioning = partitioning

    @property
    def keyed(self) -> bool:
        return isinstance(self.partitioning, Keyed)


class UnionTransformation(Transformation):
    """Several streams of one type as one."""

    def __init__(self, ids: Iterable[int], inputs: Sequence[Transformation]) -> None:
        super().__init__(ids, "Union", inputs, inputs[0].output_type)


class SideOutputTransformation(Transformation):
    """What an operator emitted under a tag."""

    def __init__(self, ids: Iterable[int], upstream: Transformation, tag: Any) -> None:
        super().__init__(ids, "SideOutput", [upstream], tag.type_info)
        self.tag = tag


class CacheTransformation(Transformation):
    """What an operator computes, or, once a job has kept it in `directory`, a source of it."""

    def __init__(self, ids: Iterable[int], computed: Transformation) -> None:
        super().__init__(ids, computed.name, [computed], computed.output_type)
        self.computed = computed
        self.directory: str | None = None


def id_counter() -> Iterable[int]:
    """Ids of the transformations of one environment."""
    return itertools.count(1)
