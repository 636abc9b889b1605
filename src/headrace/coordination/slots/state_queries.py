"""Questions about keyed state of a running job, each put to the subtask that has the key."""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from headrace.common.errors import StateError, UnknownKeyError, UnknownStateError
from headrace.graph.ids import SlotId, SubtaskIndex, VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.key_groups import key_group_of, subtask_of_group
from headrace.runtime.slot.messages import QueryState, StateRead

__all__ = ["QueriedState", "StateQueries"]


@dataclass(frozen=True)
class QueriedState:
    """What a key's state was: the kind of state, and its content in plain values."""

    kind: str
    value: Any


@dataclass
class _Pending:
    name: str
    key: Any
    missing: int
    known: set[str] = field(default_factory=set)
    done: Future[QueriedState] = field(default_factory=Future)


class StateQueries:
    """The queries of one attempt; answers come on other threads."""

    def __init__(self, physical: PhysicalGraph, send: Callable[[SlotId, Any], None]) -> None:
        self._slots = {(p.vertex, p.subtask): p.slot for level in physical.levels for p in level}
        self._send = send
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._closed = False

    def slot_of(self, vertex: str, subtask: int) -> SlotId | None:
        """The slot in which a subtask lives."""
        return self._slots.get((VertexId(vertex), SubtaskIndex(subtask)))

    def ask(self, job_graph: JobGraph, name: str, key: Any) -> Future[QueriedState]:
        """The state of a key, by its queryable name.

        No more than one operator knows the name; each that may is asked in its subtask of the key.
        """
        keyed = [v for v in job_graph.vertices if any(o.keyed for o in v.operators)]
        pending = _Pending(name, key, len(keyed))
        if not keyed:
            pending.done.set_exception(_unknown_name(pending))
            return pending.done
        request = next(self._numbers)
        with self._lock:
            if self._closed:
                raise _not_now()
            self._pending[request] = pending
        packed = cloudpickle.dumps(key)
        for vertex in keyed:
            group = key_group_of(key, vertex.max_parallelism)
            subtask = subtask_of_group(group, vertex.parallelism, vertex.max_parallelism)
            slot = self._slots[vertex.id, SubtaskIndex(subtask)]
            self._send(slot, QueryState(request, vertex.id, subtask, name, packed))
        return pending.done

    def answered(self, answer: StateRead) -> None:
        """A slot has looked."""
        with self._lock:
            pending = self._pending.get(answer.request)
            if pending is None:
                return
            pending.missing -= 1
            pending.known.update(answer.names)
            last = pending.missing == 0
            found = answer.content is not None or answer.error is not None
            if not found and not last:
                return
            del self._pending[answer.request]
        if answer.error is not None:
            pending.done.set_exception(StateError(f"state {pending.name!r}: {answer.error}"))
        elif answer.content is not None:
            state = QueriedState(answer.kind, pickle.loads(answer.content))
            pending.done.set_result(state)
        elif pending.name in pending.known:
            pending.done.set_exception(
                UnknownKeyError(f"state {pending.name!r} has nothing for the key {pending.key!r}")
            )
        else:
            pending.done.set_exception(_unknown_name(pending))

    def close(self) -> None:
        """The slots are gone."""
        with self._lock:
            self._closed = True
            pending, self._pending = list(self._pending.values()), {}
        for query in pending:
            query.done.set_exception(_not_now())


def _not_now() -> StateError:
    return StateError("the job is not running right now: it has ended or is restarting; try again")


def _unknown_name(pending: _Pending) -> UnknownStateError:
    names = ", ".join(map(repr, sorted(pending.known))) or "none"
    return UnknownStateError(
        f"the job has no queryable state {pending.name!r}; it has {names}. Call "
        "set_queryable() on the descriptor before the function asks for the state"
    )
