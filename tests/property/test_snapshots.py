"""Any history of checkpoints, complete, aborted, restored at any parallelism, keeps the state.

Snapshots go through files, full ones and changes, as they do in a job.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from headrace.graph.ids import CheckpointId
from headrace.runtime.snapshot_files import read_snapshot, write_snapshot
from headrace.runtime.snapshots.subtasks import restore_subtask, take_snapshot
from headrace.runtime.storage import LocalStorage
from tests.examples import examples
from tests.property.subtask_fleet import Fleet

KEYS = st.sampled_from([0, 1, 7, "ada", (1, "x")])
VALUES = st.integers(0, 9)
PARALLELISM = st.integers(1, 3)


@dataclass
class Model:
    value: dict[Any, int] = field(default_factory=dict)
    items: dict[Any, list[int]] = field(default_factory=dict)
    timers: set[tuple[int, Any]] = field(default_factory=set)


@dataclass
class Checkpoint:
    chains: list[list[str]]
    model: Model
    complete: bool = False


class Histories(RuleBasedStateMachine):
    backend = "hashmap"

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.storage = LocalStorage()
        self.model = Model()
        self.checkpoints: dict[int, Checkpoint] = {}
        self.last = 0
        self.told = 0

    @initialize(parallelism=PARALLELISM)
    def start(self, parallelism: int) -> None:
        self.fleet = Fleet(self.backend, parallelism)
        self.fleet.open()

    def teardown(self) -> None:
        if hasattr(self, "fleet"):
            self.fleet.close()
        shutil.rmtree(self.directory)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: Any, value: int) -> None:
        self.fleet.process((key, "put", value))
        self.model.value[key] = value

    @rule(key=KEYS, value=VALUES)
    def add(self, key: Any, value: int) -> None:
        self.fleet.process((key, "add", value))
        self.model.items.setdefault(key, []).append(value)

    @rule(key=KEYS)
    def remove(self, key: Any) -> None:
        self.fleet.process((key, "remove", None))
        self.model.value.pop(key, None)
        self.model.items.pop(key, None)

    @rule(key=KEYS, time=VALUES)
    def set_timer(self, key: Any, time: int) -> None:
        self.fleet.process((key, "set", 100 + time))
        self.model.timers.add((100 + time, key))

    @rule(key=KEYS, time=VALUES)
    def delete_timer(self, key: Any, time: int) -> None:
        self.fleet.process((key, "unset", 100 + time))
        self.model.timers.discard((100 + time, key))

    @rule()
    def end_epoch(self) -> None:
        for subtask in self.fleet.subtasks:
            for part in (*subtask.backends.values(), *subtask.timers.values()):
                part.epoch_end()

    @rule(incremental=st.booleans(), savepoint=st.booleans())
    def checkpoint(self, incremental: bool, savepoint: bool) -> None:
        self.last += 1
        complete = [n for n, c in self.checkpoints.items() if c.complete]
        base = max(complete, default=None) if incremental and not savepoint else None
        chains = []
        for subtask in self.fleet.subtasks:
            path = f"{self.directory}/{self.last}-{subtask.task.subtask}.snapshot"
            snapshot = take_snapshot(
                subtask,
                CheckpointId(self.last),
                base=None if base is None else CheckpointId(base),
                savepoint=savepoint,
            )
            needed = snapshot.base
            write_snapshot(self.storage, path, snapshot)
            before: list[str] = []
            if needed is not None:
                assert needed == base
                before = self.checkpoints[base].chains[subtask.task.subtask]
            chains.append([*before, path])
        made = Checkpoint(chains, copy.deepcopy(self.model))
        if savepoint:
            # It is complete at some time, and nobody here hears of it.
            self.check(self.restored(made, 2), made.model)
        else:
            self.checkpoints[self.last] = made

    def under_way(self) -> list[int]:
        return [n for n, c in self.checkpoints.items() if not c.complete]

    @precondition(lambda self: self.under_way())
    @rule(data=st.data(), tell=st.booleans())
    def complete(self, data: st.DataObject, tell: bool) -> None:
        number = data.draw(st.sampled_from(self.under_way()))
        for earlier in [n for n in self.checkpoints if n < number and n in self.under_way()]:
            self.end(earlier, completed=False)
        self.checkpoints[number].complete = True
        if tell:
            self.end(number, completed=True)

    @precondition(lambda self: self.under_way())
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        self.end(data.draw(st.sampled_from(self.under_way())), completed=False)

    def end(self, number: int, completed: bool) -> None:
        if not completed:
            del self.checkpoints[number]
        for subtask in self.fleet.subtasks:
            subtask.checkpoint_ended(CheckpointId(number), completed)

    @precondition(lambda self: any(c.complete for c in self.checkpoints.values()))
    @rule(parallelism=PARALLELISM)
    def recover(self, parallelism: int) -> None:
        newest = max(n for n, c in self.checkpoints.items() if c.complete)
        self.checkpoints = {n: c for n, c in self.checkpoints.items() if c.complete}
        fleet = self.restored(self.checkpoints[newest], parallelism)
        self.fleet.close()
        self.fleet = fleet
        self.model = copy.deepcopy(self.checkpoints[newest].model)

    def restored(self, checkpoint: Checkpoint, parallelism: int) -> Fleet:
        fleet = Fleet(self.backend, parallelism)
        paths = [path for chain in checkpoint.chains for path in chain]
        for subtask in fleet.subtasks:
            restore_subtask(subtask, [read_snapshot(self.storage, path) for path in paths])
        fleet.open()
        return fleet

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "fleet"):
            self.check(self.fleet, self.model)

    def check(self, fleet: Fleet, model: Model) -> None:
        assert fleet.contents("value") == model.value
        assert fleet.contents("items") == model.items
        assert fleet.timers() == model.timers
        if fleet is not self.fleet:
            fleet.close()


class RocksDBHistories(Histories):
    backend = "rocksdb"


TestHashMap = Histories.TestCase
TestHashMap.settings = examples(30, stateful_step_count=30)
TestRocksDB = RocksDBHistories.TestCase
TestRocksDB.settings = examples(15, stateful_step_count=30)
