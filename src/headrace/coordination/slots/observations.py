"""Looks into the slots of an attempt: flame graphs, threads, and records of an operator."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.coordination.bodies.observations import (
    FlameGraph,
    FlameNode,
    PeekedOperator,
    PeekedRecords,
)
from headrace.graph.ids import SlotId, VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.slot import messages as m

__all__ = ["Observations", "flame_graph"]

_SECONDS = 3.0
_FRESH_S = 60.0
_GIVE_UP_S = 30.0
_LONGEST_WAIT_S = 10.0
MOST_RECORDS = 200


@dataclass
class _Sampling:
    missing: set[SlotId]
    started: float
    counts: dict[tuple[int, bool, m.Stack], int] = field(default_factory=dict)


@dataclass
class _Sampled:
    ended: float
    ended_ms: int
    counts: dict[tuple[int, bool, m.Stack], int]


@dataclass
class _Dumping:
    missing: set[SlotId]
    answers: list[m.ThreadsDumped] = field(default_factory=list)


@dataclass
class _Peeking:
    limit: int
    records: list[m.PeekedRecord] = field(default_factory=list)


class Observations:
    """What is being looked at. Answers of slots come on other threads."""

    def __init__(self, physical: PhysicalGraph, send: Callable[[SlotId, Any], None]) -> None:
        self._slots: dict[VertexId, set[SlotId]] = {}
        for level in physical.levels:
            for partition in level:
                self._slots.setdefault(partition.vertex, set()).add(partition.slot)
        self._send = send
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._samplings: dict[int, tuple[VertexId, _Sampling]] = {}
        self._sampled: dict[VertexId, _Sampled] = {}
        self._dumps: dict[int, _Dumping] = {}
        self._peeks: dict[int, _Peeking] = {}

    # Flame graphs.

    def flame_graph(
        self, vertex: VertexId, kind: str, subtask: int | None, *, refresh: bool
    ) -> FlameGraph:
        """The last one there is; a new one is taken meanwhile if there is none, or it is old."""
        now = time.monotonic()
        with self._changed:
            known = self._sampled.get(vertex)
            under_way = any(
                v == vertex and now - s.started < _GIVE_UP_S for v, s in self._samplings.values()
            )
            start = not under_way and (refresh or known is None or now - known.ended > _FRESH_S)
            if start:
                request = next(self._numbers)
                self._samplings[request] = (vertex, _Sampling(set(self._slots[vertex]), now))
        if start:
            for slot in self._slots[vertex]:
                self._send(slot, m.SampleStacks(request, vertex, _SECONDS))
        if known is None:
            return FlameGraph()
        return FlameGraph(known.ended_ms, flame_graph(known.counts, kind, subtask))

    def stacks_sampled(self, answer: m.StacksSampled) -> None:
        """A slot has sampled."""
        with self._changed:
            vertex, sampling = self._samplings.get(answer.request, (None, None))
            if vertex is None or sampling is None:
                return
            sampling.missing.discard(answer.slot)
            sampling.counts.update(answer.counts)
            if not sampling.missing:
                del self._samplings[answer.request]
                self._sampled[vertex] = _Sampled(
                    time.monotonic(), int(time.time() * 1000), sampling.counts
                )

    # Threads.

    def threads(self) -> list[m.ThreadsDumped]:
        """What the threads of every slot do now; a slot that does not answer is left out."""
        slots = set().union(*self._slots.values())
        dumping = _Dumping(set(slots))
        with self._changed:
            request = next(self._numbers)
            self._dumps[request] = dumping
        for slot in slots:
            self._send(slot, m.DumpThreads(request))
        with self._changed:
            self._changed.wait_for(lambda: not dumping.missing, _LONGEST_WAIT_S)
            del self._dumps[request]
        return sorted(dumping.answers, key=lambda a: a.slot)

    def threads_dumped(self, answer: m.ThreadsDumped) -> None:
        """A slot has told what its threads do."""
        with self._changed:
            dumping = self._dumps.get(answer.request)
            if dumping is not None:
                dumping.missing.discard(answer.slot)
                dumping.answers.append(answer)
                self._changed.notify_all()

    # Records.

    def records(
        self, job_graph: JobGraph, vertex: VertexId, operator: str | None, limit: int, wait_s: float
    ) -> PeekedRecords:
        """The next records that leave an operator, by default the last one of its chain."""
        chain = job_graph.vertex(vertex).operators
        known = {o.operator_id: o for o in chain}
        wanted = chain[-1] if operator is None else known.get(operator)  # type: ignore[call-overload]
        if wanted is None:
            raise HeadraceError(f"the vertex has no operator {operator!r}; it has {sorted(known)}")
        peeking = _Peeking(max(1, min(limit, MOST_RECORDS)))
        with self._changed:
            request = next(self._numbers)
            self._peeks[request] = peeking
        ask = m.PeekRecords(request, vertex, wanted.operator_id, peeking.limit)
        for slot in self._slots[vertex]:
            self._send(slot, ask)
        with self._changed:
            self._changed.wait_for(
                lambda: len(peeking.records) >= peeking.limit, min(wait_s, _LONGEST_WAIT_S)
            )
            del self._peeks[request]
        for slot in self._slots[vertex]:
            self._send(slot, m.StopPeeking(request))
        records = peeking.records[: peeking.limit]
        operator_shown = PeekedOperator(wanted.operator_id, wanted.name)
        return PeekedRecords(operator_shown, len(records) == peeking.limit, tuple(records))

    def records_peeked(self, answer: m.RecordsPeeked) -> None:
        """A slot has seen records."""
        with self._changed:
            peeking = self._peeks.get(answer.request)
            if peeking is not None:
                peeking.records += answer.records
                self._changed.notify_all()


def flame_graph(
    counts: dict[tuple[int, bool, m.Stack], int], kind: str, subtask: int | None
) -> FlameNode:
    """Stacks as a tree: each node has the samples in which it was active."""
    found = [
        (stack, count)
        for (index, on_cpu, stack), count in counts.items()
        if subtask in (None, index) and (kind == "full" or on_cpu == (kind == "on_cpu"))
    ]
    return _node("root", found)


def _node(name: str, stacks: Sequence[tuple[m.Stack, int]]) -> FlameNode:
    called: dict[str, list[tuple[m.Stack, int]]] = {}
    for stack, count in stacks:
        if stack:
            called.setdefault(stack[0], []).append((stack[1:], count))
    children = [_node(callee, rest) for callee, rest in called.items()]
    children.sort(key=lambda node: (-node.value, node.name))
    return FlameNode(name, sum(count for _, count in stacks), tuple(children))
