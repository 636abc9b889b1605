"""An epoch that is cut short, and what a subtask carries over from it to the next one.

A checkpoint that is due need not wait until all that is on its way is processed: from the cutoff on
a subtask keeps what comes, passes its barrier on, and begins the next epoch with what it kept. That
is part of the snapshot, as what is in a channel is part of an unaligned checkpoint in Flink.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.graph.job_graph import JobEdge
from headrace.graph.partitioning import Broadcast, Custom, Keyed, Partitioning
from headrace.runtime.batch import Batch, Element, WatermarkMark
from headrace.runtime.exchange.routing import make_router, split
from headrace.runtime.exchange.wire import (
    FrameHeader,
    decode_payload,
    encode_frame,
    read_header,
)
from headrace.runtime.key_groups import KeyAssigner

__all__ = ["CarriedEdge", "CarriedFrames", "Cutoff", "is_carried", "refused", "shared_out"]


_KEPT = (Batch, WatermarkMark)


class Cutoff:
    """When an epoch is to end.

    Args:
        after_ms: From now on; at 0 nothing is processed at all.
    """

    def __init__(self, after_ms: int) -> None:
        self.at = time.monotonic() + after_ms / 1000
        self.at_once = after_ms <= 0

    def reached(self) -> bool:
        """Whether what comes now is carried over."""
        return self.at_once or time.monotonic() >= self.at


def is_carried(partitioning: Partitioning) -> bool:
    """Whether frames of an exchange may be carried over.

    As in Flink, not where subtasks rely on what their neighbour sends: those of a pointwise
    exchange, and broadcast records, which all subtasks must have applied in the same checkpoint.
    """
    return not partitioning.pointwise and not isinstance(partitioning, Broadcast)


@dataclass(frozen=True)
class CarriedEdge:
    """An exchange by what stays the same from one start of a program to the next.

    Attributes:
        source: The id of the operator that sends.
        tag: The side output of it, if it is one.
        input_index: The input of the operator that receives.
        ship_strategy: How a subtask is chosen.
        senders: The parallelism of the sender.
    """

    source: str
    tag: str | None
    input_index: int
    ship_strategy: str
    senders: int

    @staticmethod
    def of(edge: JobEdge, source: str, senders: int) -> CarriedEdge:
        """An exchange of the job as it is now."""
        tag = None if edge.tag is None else edge.tag.tag_id
        return CarriedEdge(source, tag, edge.input_index, edge.partitioning.ship_strategy, senders)

    def matches(self, other: CarriedEdge) -> bool:
        """Whether it is the same, at whatever parallelism."""
        return (self.source, self.tag, self.input_index, self.ship_strategy) == (
            other.source,
            other.tag,
            other.input_index,
            other.ship_strategy,
        )


@dataclass(frozen=True)
class CarriedFrames:
    """What a subtask has carried over, as a snapshot has it.

    Attributes:
        operator: The id of the operator that receives it.
        edges: The exchanges by the number that frames name them by.
        frames: Gives the frames in order, each time anew.
        count: How many.
        size: Their bytes.
    """

    operator: str
    edges: dict[int, CarriedEdge]
    frames: Callable[[], Iterator[bytes]]
    count: int
    size: int


def shared_out(
    carried: CarriedFrames,
    written_by: tuple[int, int],
    edges: Sequence[tuple[JobEdge, CarriedEdge]],
    subtask: int,
    parallelism: int,
    max_parallelism: int,
) -> Iterator[bytes]:
    """The frames of a snapshot that are for a subtask of the job as it is now.

    Where nothing changed these are all of them, with their watermarks. Otherwise records are dealt
    out again, and watermarks come anew from the sources. Who sends says again that it is idle or
    that it has ended.

    Args:
        carried: What one subtask had carried over.
        written_by: The number of that subtask, and of how many.
        edges: The exchanges into the vertex now.
        subtask: Who wants its share.
        parallelism: Of how many.
        max_parallelism: The number of key groups.
    """
    old, of = written_by
    found = _matching(carried, edges)
    kept: list[Element]
    for frame in carried.frames():
        header = read_header(frame)
        saved = carried.edges[header.edge]
        if header.edge not in found:
            raise refused(carried, f"from operator {saved.source} ({saved.ship_strategy})")
        edge, now = found[header.edge]
        if (of, saved.senders) == (parallelism, now.senders):
            if old != subtask:
                continue
            kept = [e for e in decode_payload(frame) if isinstance(e, _KEPT)]
        else:
            batches = [e for e in decode_payload(frame) if isinstance(e, Batch)]
            kept = list(_dealt_out(batches, edge, old, subtask, parallelism, max_parallelism))
        if kept:
            sender = header.sender % now.senders
            yield encode_frame(FrameHeader(0, 0, edge.index, sender, 0), kept)


def _matching(
    carried: CarriedFrames, edges: Sequence[tuple[JobEdge, CarriedEdge]]
) -> dict[int, tuple[JobEdge, CarriedEdge]]:
    """The exchange of now for each of the snapshot that is there; of some alike, in order."""
    found, left = {}, list(edges)
    for index, saved in sorted(carried.edges.items()):
        now = next((pair for pair in left if pair[1].matches(saved)), None)
        if now is not None:
            left.remove(now)
            found[index] = now
    return found


def refused(carried: CarriedFrames, way: str) -> CheckpointError:
    """The error for a program that no longer has the exchange that frames were on."""
    return CheckpointError(
        f"the checkpoint is unaligned and has {carried.count} frames of records that were on their "
        f"way {way} to operator {carried.operator}, and the program has no such exchange any more; "
        "start it once as it was and take a savepoint, which has no such records",
        CheckpointFailureReason.STATE_MISMATCH,
    )


def _dealt_out(
    batches: list[Batch],
    edge: JobEdge,
    old: int,
    subtask: int,
    parallelism: int,
    max_parallelism: int,
) -> Iterator[Element]:
    """The records of a subtask of another parallelism that are for one of this."""
    how = edge.partitioning
    if isinstance(how, Keyed):
        assigner = KeyAssigner(parallelism, max_parallelism)
        for batch in batches:
            assert batch.keys is not None, "they travel with the records"
            parts = dict(split(batch, assigner.assign(batch.keys), parallelism))
            if subtask in parts:
                yield parts[subtask]
    elif isinstance(how, Custom):
        route = make_router(how, 0, 1, parallelism, max_parallelism)
        for batch in batches:
            yield from (part for target, part in route(batch) if target == subtask)
    elif old % parallelism == subtask:
        yield from batches
