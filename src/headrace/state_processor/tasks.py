"""What runs where the files are: snapshots turned into rows, and rows into snapshots.

Nothing here knows of Spark. One task has what one subtask wrote: a chain of files, of which the
first has everything and each other one, in an incremental checkpoint, what changed since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import cloudpickle

from headrace.common.errors import StateError
from headrace.common.types import Row
from headrace.datastream.functions import KeyedProcessFunction
from headrace.datastream.window import TimeWindow
from headrace.graph.ids import OperatorId
from headrace.graph.partitioning import KeyBy, Partitioning, Rebalance
from headrace.graph.specs import ProcessSpec
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.operator import SubtaskServices, TaskInfo
from headrace.runtime.slot.deployment import single_operator
from headrace.runtime.snapshot_files import SnapshotRef, write_snapshot
from headrace.runtime.snapshots.subtasks import (
    SubtaskSnapshot,
    needed_parts,
    restore_subtask,
    take_snapshot,
)
from headrace.runtime.snapshots.writer import Seal
from headrace.runtime.state.declaration import StateKind, StateMeta
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.operator_state import SavedOperatorState
from headrace.runtime.state.snapshot import RestorableState
from headrace.runtime.storage import Storages
from headrace.runtime.subtask import Subtask
from headrace.state_processor.functions import KeyedStateReaderFunction

_BATCH = 10_000

Chain = Sequence[SnapshotRef]
"""The files of one subtask, in the order in which they are to be read."""


@dataclass(frozen=True)
class StateSummary:
    """What a savepoint holds for an operator: kind and type of each state, by name."""

    keyed: dict[str, str]
    operator: dict[str, str]


def summary_of(files: Iterable[SnapshotRef], operator_id: str) -> StateSummary:
    """The states of an operator."""
    keyed: dict[str, str] = {}
    operator: dict[str, str] = {}
    for ref in files:
        snapshot = _snapshot(ref)
        if operator_id in snapshot.keyed:
            keyed |= {n: str(meta) for n, meta in snapshot.keyed[operator_id].states.items()}
        for name, saved in _operator_states(snapshot, operator_id).items():
            operator[name] = f"{saved.mode} {saved.meta}"
    return StateSummary(keyed, operator)


# Reading.


def keyed_rows(chain: Chain, operator_id: str, state: str) -> Iterator[tuple[Any, ...]]:
    """Key and value of each entry, with the namespace between them where the state has one."""
    parts = _keyed_parts(_snapshots(chain), operator_id)
    if not parts or state not in parts[-1].states:
        return
    backend = _backend_of(parts)
    meta = parts[-1].states[state]
    content = _content_of(meta)
    for address, stored in backend.stored(state):
        if meta.namespaced:
            key, namespace = address
            yield key, _namespace(namespace), content(stored)
        else:
            yield address, content(stored)


def _namespace(namespace: Any) -> Any:
    if isinstance(namespace, TimeWindow):
        return Row(start=namespace.start, end=namespace.end)
    return namespace


def _content_of(meta: StateMeta) -> Callable[[Any], Any]:
    """What the user had put in, without the timestamps of a time-to-live."""
    if meta.ttl is None:
        return lambda stored: stored
    if meta.kind is StateKind.LIST:
        return lambda stored: [value for value, _ in stored]
    if meta.kind is StateKind.MAP:
        return lambda stored: {key: value for key, (value, _) in stored.items()}
    return lambda stored: stored[0]


def operator_rows(chain: Chain, operator_id: str, state: str) -> list[Any]:
    """The elements of a list state; the pairs of key and value of a broadcast state."""
    # Operator state is written in full every time.
    saved = _operator_states(_snapshot(chain[-1]), operator_id).get(state)
    if saved is None:
        return []
    content = saved.load()
    return list(content.items()) if isinstance(content, dict) else content


class _ReadKeys(KeyedProcessFunction[Any, Any, Any]):
    """A reader function in the place of an operator's function; its records are the keys."""

    def __init__(self, reader: KeyedStateReaderFunction) -> None:
        self._reader = reader

    def open(self, runtime_context: Any) -> None:
        self._reader.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from self._reader.read_key(value)

    def close(self) -> None:
        self._reader.close()


def read_with_function(chain: Chain, operator_id: str, function: bytes) -> Iterator[Any]:
    """What a reader function yields for each key."""
    snapshots = _snapshots(chain)
    parts = _keyed_parts(snapshots, operator_id)
    if not parts:
        return
    backend = _backend_of(parts)
    keys = dict.fromkeys(key for name in backend.state_names() for key in backend.keys(name))
    reader = _ReadKeys(cloudpickle.loads(function))
    last = snapshots[-1]
    operator = _Operator(
        reader, operator_id, _own_key, last.subtask, last.parallelism, parts[-1].max_parallelism
    )
    restore_subtask(operator.subtask, snapshots)
    operator.subtask.open()
    try:
        for part in _batches(keys):
            yield from operator.process(part)
    finally:
        operator.subtask.close()


def _own_key(key: Any) -> Any:
    return key


def _snapshot(ref: SnapshotRef) -> SubtaskSnapshot:
    return ref.read(Storages().of(ref.path))


def _snapshots(chain: Chain) -> list[SubtaskSnapshot]:
    return [_snapshot(ref) for ref in chain]


def _keyed_parts(snapshots: list[SubtaskSnapshot], operator_id: str) -> list[RestorableState]:
    """The keyed state of an operator: a full one, and changes to it."""
    return needed_parts([(s.subtask, s.keyed.get(operator_id)) for s in snapshots])


def _backend_of(parts: list[RestorableState]) -> HashMapStateBackend:
    """A backend with everything that is in them."""
    groups = parts[-1].max_parallelism
    backend = HashMapStateBackend(groups, lambda: 0)
    backend.restore(parts, range(groups))
    return backend


def _operator_states(snapshot: SubtaskSnapshot, operator_id: str) -> dict[str, SavedOperatorState]:
    saved = snapshot.operator_state.get(operator_id)
    return {} if saved is None else {**saved.lists, **saved.broadcasts}


# Writing.


@dataclass(frozen=True)
class Bootstrap:
    """How the state of one operator is made of rows.

    Attributes:
        operator_id: The operator.
        function: The user's function, pickled.
        key: The name of the key's column or a pickled function; None for operator state.
        parallelism: Number of files.
        max_parallelism: Number of key groups.
    """

    operator_id: OperatorId
    function: bytes
    key: str | bytes | None
    parallelism: int
    max_parallelism: int

    def key_selector(self) -> Callable[[Any], Any]:
        """The key of a row."""
        key = self.key
        if isinstance(key, str):
            return lambda row: row[key]
        selector: Callable[[Any], Any] = cloudpickle.loads(key or b"")
        return selector

    def subtask_of(self) -> Callable[[Any], int]:
        """The number of the file that a row belongs to."""
        selector = self.key_selector()
        parallelism, groups = self.parallelism, self.max_parallelism
        return lambda row: key_group_of(selector(row), groups) * parallelism // groups

    def write(self, subtask: int, rows: Iterable[Any], path: str) -> Seal:
        """Make the snapshot of a subtask."""
        selector = None if self.key is None else self.key_selector()
        operator = _Operator(
            cloudpickle.loads(self.function),
            self.operator_id,
            selector,
            subtask,
            self.parallelism,
            self.max_parallelism,
        )
        operator.subtask.open()
        try:
            for part in _batches(rows):
                if operator.process(part):
                    raise StateError(
                        "a bootstrap function can only fill state, but this one yielded a record"
                    )
            snapshot = take_snapshot(operator.subtask).serialized()
            return write_snapshot(Storages().of(path), path, snapshot)
        finally:
            operator.subtask.close()


class _Operator:
    """One subtask with a process function, outside of any job."""

    def __init__(
        self,
        function: Any,
        operator_id: str,
        selector: Callable[[Any], Any] | None,
        subtask: int,
        parallelism: int,
        max_parallelism: int,
    ) -> None:
        spec = ProcessSpec(function)
        partitioning: Partitioning = Rebalance() if selector is None else KeyBy(selector)
        deployment = single_operator(
            cloudpickle.dumps(spec),
            spec.kind,
            [partitioning],
            keyed=selector is not None,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            operator_id=OperatorId(operator_id),
        )
        task = TaskInfo(
            job_id="0" * 32,
            job_name="state processor",
            vertex_name=spec.kind,
            subtask=subtask,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
        )
        self.subtask = Subtask(deployment, task, SubtaskServices(), lambda: int(time.time() * 1000))
        self._selector = selector
        self._kept = _Kept()
        self.subtask.head.output = self._kept

    def process(self, values: list[Any]) -> list[Any]:
        """Let the function take a batch; what it emitted."""
        keys = None if self._selector is None else [self._selector(value) for value in values]
        self.subtask.take((0, 0), Batch(values, None, keys))
        emitted, self._kept.values = self._kept.values, []
        return emitted


class _Kept(OperatorOutput):
    """Keeps what an operator emits."""

    def __init__(self) -> None:
        super().__init__((), {}, None)
        self.values: list[Any] = []

    def emit(self, batch: Batch) -> None:
        self.values += batch.values


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(values)
    while part := list(islice(iterator, _BATCH)):
        yield part
