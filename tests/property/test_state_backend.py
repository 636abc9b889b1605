"""Every backend agrees with plain dicts, wherever snapshots are cut and restored."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.common.time import Time
from headrace.datastream.state import StateDescriptor, StateTtlConfig
from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.state.backend import KeyedStateBackend, SnapshotKind, StateSnapshot
from tests.examples import scaled
from tests.unit.runtime.state.backends import (
    BACKENDS,
    MAX_PARALLELISM,
    ManualClock,
    Subtask,
    average_of,
    list_of,
    map_of,
    sum_of,
    value_of,
)

# Few enough that histories come back to the same key, in several key groups.
KEYS = st.sampled_from([0, 7, "ada", (1, "x")])
WAITS = st.sampled_from([0, 1, 50, 99, 100])
FEW_KEYS = st.sampled_from(["ada", 7])
VALUES = st.integers(-5, 5)
MAP_KEYS = st.sampled_from("ab")
TTL = 100

Model = dict[str, dict[Any, Any]]
"""By state name and key: a value, a list, a dict, a sum, or a list of what was averaged."""


@dataclass
class Checkpoint:
    """A checkpoint that was begun: what each subtask needs for it, and the model at that moment."""

    chains: list[list[StateSnapshot]]
    model: Model
    complete: bool = False


class StateMachine(RuleBasedStateMachine):
    """Several subtasks with all kinds of state against one model of plain dicts."""

    backend_name = "hashmap"

    @initialize(parallelism=st.integers(1, 3))
    def start(self, parallelism: int) -> None:
        self.clock = ManualClock()
        self.model: Model = {d.name: {} for d in self.descriptors()}
        self.checkpoints: dict[int, Checkpoint] = {}
        self.next_checkpoint = 1
        self.deploy(parallelism, [], None)

    def descriptors(self) -> list[StateDescriptor]:
        return [value_of(), list_of(), map_of(), sum_of(), average_of()]

    def deploy(self, parallelism: int, snapshots: list[StateSnapshot], base: int | None) -> None:
        self.subtasks = []
        for index in range(parallelism):
            subtask = Subtask(BACKENDS_AND_CHANGES[self.backend_name], clock=self.clock)
            key_groups = key_group_range(index, parallelism, MAX_PARALLELISM)
            if snapshots:
                subtask.backend.restore(snapshots, key_groups, base=base)
            self.subtasks.append(subtask)
        self.states = [{d.name: s.state(d) for d in self.descriptors()} for s in self.subtasks]
        self.base = base

    def at(self, key: Any, name: str) -> Any:
        group = key_group_of(key, MAX_PARALLELISM)
        index = group * len(self.subtasks) // MAX_PARALLELISM
        self.subtasks[index].at(key)
        return self.states[index][name]

    @rule(key=KEYS, value=st.none() | VALUES)
    def update_value(self, key: Any, value: int | None) -> None:
        self.at(key, "value").update(value)
        self.model["value"].pop(key, None)
        if value is not None:
            self.model["value"][key] = value

    @rule(key=KEYS, values=st.lists(VALUES, max_size=3))
    def add_to_list(self, key: Any, values: list[int]) -> None:
        state = self.at(key, "list")
        state.add(values[0]) if len(values) == 1 else state.add_all(values)
        if values:
            self.model["list"].setdefault(key, []).extend(values)

    @rule(key=KEYS, values=st.lists(VALUES, max_size=3))
    def replace_list(self, key: Any, values: list[int]) -> None:
        self.at(key, "list").update(values)
        self.model["list"].pop(key, None)
        if values:
            self.model["list"][key] = list(values)

    @rule(key=KEYS, entries=st.dictionaries(MAP_KEYS, st.none() | VALUES, max_size=2))
    def put_into_map(self, key: Any, entries: dict[str, Any]) -> None:
        state = self.at(key, "map")
        if len(entries) == 1:
            state.put(*next(iter(entries.items())))
        else:
            state.put_all(entries)
        if entries:
            self.model["map"].setdefault(key, {}).update(entries)

    @rule(key=KEYS, map_key=MAP_KEYS)
    def remove_from_map(self, key: Any, map_key: str) -> None:
        self.at(key, "map").remove(map_key)
        entries = self.model["map"].get(key, {})
        entries.pop(map_key, None)
        if not entries:
            self.model["map"].pop(key, None)

    @rule(key=KEYS, value=VALUES)
    def add_to_sum_and_average(self, key: Any, value: int) -> None:
        self.at(key, "sum").add(value)
        self.at(key, "average").add(value)
        self.model["sum"][key] = self.model["sum"].get(key, 0) + value
        self.model["average"].setdefault(key, []).append(value)

    @rule(key=KEYS, names=st.sets(st.sampled_from(["value", "list", "map", "sum", "average"])))
    def clear(self, key: Any, names: set[str]) -> None:
        for name in names:
            self.at(key, name).clear()
            self.model[name].pop(key, None)

    @rule()
    def end_epoch(self) -> None:
        for subtask in self.subtasks:
            subtask.backend.epoch_end()

    @rule(kind=st.sampled_from(list(SnapshotKind)), deferred=st.booleans())
    def start_checkpoint(self, kind: SnapshotKind, deferred: bool) -> None:
        self.begin_checkpoint(kind, deferred)

    def begin_checkpoint(self, kind: SnapshotKind, deferred: bool) -> None:
        number = self.next_checkpoint
        self.next_checkpoint += 1
        snapshots = [
            s.backend.snapshot(kind, number, deferred=deferred).serialize() for s in self.subtasks
        ]
        chains = []
        for index, snapshot in enumerate(snapshots):
            if snapshot.kind is SnapshotKind.CHANGES:
                assert snapshot.base == self.base
                chains.append([*self.base_chains[index], snapshot])
            else:
                chains.append([snapshot])
        self.checkpoints[number] = Checkpoint(
            pickle.loads(pickle.dumps(chains)), copy.deepcopy(self.model)
        )
        restored = Subtask(BACKENDS_AND_CHANGES[self.backend_name], clock=self.clock)
        restored.backend.restore([s for c in chains for s in c], range(MAX_PARALLELISM))
        self.check([restored])

    @rule(kind=st.sampled_from(list(SnapshotKind)))
    def take_checkpoint(self, kind: SnapshotKind) -> None:
        self.begin_checkpoint(kind, deferred=False)
        self.complete_checkpoint_number(self.next_checkpoint - 1)

    def under_way(self) -> list[int]:
        return [n for n, c in self.checkpoints.items() if not c.complete]

    @precondition(lambda self: self.under_way())
    @rule(data=st.data())
    def complete_checkpoint(self, data: st.DataObject) -> None:
        self.complete_checkpoint_number(data.draw(st.sampled_from(self.under_way())))

    def complete_checkpoint_number(self, number: int) -> None:
        # A checkpoint that completes subsumes the earlier ones that are still under way.
        for earlier in [n for n in self.under_way() if n < number]:
            del self.checkpoints[earlier]
        self.checkpoints[number].complete = True
        for subtask in self.subtasks:
            subtask.backend.notify_checkpoint_complete(number)
        self.base = number
        self.base_chains = self.checkpoints[number].chains

    @precondition(lambda self: self.under_way())
    @rule(data=st.data())
    def abort_checkpoint(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(self.under_way()))
        del self.checkpoints[number]
        for subtask in self.subtasks:
            subtask.backend.notify_checkpoint_aborted(number)

    def complete(self) -> list[int]:
        return [n for n, c in self.checkpoints.items() if c.complete]

    @precondition(lambda self: self.complete())
    @rule(data=st.data(), parallelism=st.integers(1, 4), keep_base=st.booleans())
    def recover(self, data: st.DataObject, parallelism: int, keep_base: bool) -> None:
        number = data.draw(st.sampled_from(self.complete()))
        checkpoint = self.checkpoints[number]
        # Building upon what was restored needs the same owners of the same key groups.
        base = number if keep_base and parallelism == len(checkpoint.chains) else None
        self.model = copy.deepcopy(checkpoint.model)
        self.checkpoints = {n: c for n, c in self.checkpoints.items() if c.complete}
        snapshots = [s for chain in checkpoint.chains for s in chain]
        self.deploy(parallelism, snapshots, base)
        self.base_chains = checkpoint.chains

    @rule(parallelism=st.integers(1, 4))
    def rescale(self, parallelism: int) -> None:
        snapshots = [s.backend.snapshot("full") for s in self.subtasks]
        self.checkpoints.clear()
        self.deploy(parallelism, pickle.loads(pickle.dumps(snapshots)), None)

    @invariant()
    def agrees_with_the_model(self) -> None:
        if hasattr(self, "model"):
            self.check(self.subtasks)

    def check(self, subtasks: list[Subtask]) -> None:
        found: Model = {name: {} for name in self.model}
        entries = 0
        for subtask in subtasks:
            for descriptor in self.descriptors():
                found[descriptor.name].update(subtask.dump(descriptor))
            entries += subtask.backend.number_of_entries()
        expected = dict(self.model)
        expected["average"] = {k: sum(v) / len(v) for k, v in self.model["average"].items()}
        assert found == expected
        # Nothing empty is left behind.
        assert entries == sum(map(len, self.model.values()))


class ExpiringStateMachine(RuleBasedStateMachine):
    """State with time-to-live against dicts of values and timestamps."""

    backend_name = "hashmap"

    @initialize(
        on_read=st.booleans(),
        incremental=st.none() | st.tuples(st.integers(1, 4), st.booleans()),
        full_snapshot=st.booleans(),
    )
    def start(self, on_read: bool, incremental: Any, full_snapshot: bool) -> None:
        builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
        builder.disable_cleanup_in_background()
        if on_read:
            builder.update_ttl_on_read_and_write()
        if incremental:
            builder.cleanup_incrementally(*incremental)
        if full_snapshot:
            builder.cleanup_full_snapshot()
        self.config = builder.build()
        self.on_read = on_read
        self.subtask = Subtask(BACKENDS_AND_CHANGES[self.backend_name])
        self.declare()
        # By key: (value, timestamp), a list of such pairs, a dict of them.
        self.value: dict[Any, tuple[int, int]] = {}
        self.list: dict[Any, list[tuple[int, int]]] = {}
        self.map: dict[Any, dict[str, tuple[int, int]]] = {}
        self.sum: dict[Any, tuple[int, int]] = {}
        self.chain: list[StateSnapshot] = []
        self.next_checkpoint = 1

    def declare(self) -> None:
        self.states = {}
        for descriptor in (value_of(), list_of(), map_of(), sum_of()):
            descriptor.enable_time_to_live(self.config)
            self.states[descriptor.name] = self.subtask.state(descriptor)

    @property
    def now(self) -> int:
        return self.subtask.clock.now

    def alive(self, pair: tuple[int, int]) -> bool:
        return pair[1] + TTL > self.now

    def at(self, key: Any, name: str) -> Any:
        self.subtask.at(key)
        return self.states[name]

    def seen(self, pair: tuple[int, int]) -> tuple[int, int]:
        return (pair[0], self.now) if self.on_read else pair

    @rule(key=FEW_KEYS, value=VALUES)
    def write_value(self, key: Any, value: int) -> None:
        self.at(key, "value").update(value)
        self.value[key] = (value, self.now)

    @rule(key=FEW_KEYS, wait=WAITS)
    def read_value(self, key: Any, wait: int) -> None:
        self.subtask.clock.advance(wait)
        found = self.at(key, "value").value()
        pair = self.value.get(key)
        if pair is None or not self.alive(pair):
            assert found is None
            self.value.pop(key, None)
        else:
            assert found == pair[0]
            self.value[key] = self.seen(pair)

    @rule(key=FEW_KEYS, values=st.lists(VALUES, max_size=3))
    def write_list(self, key: Any, values: list[int]) -> None:
        self.at(key, "list").add_all(values)
        self.list.setdefault(key, []).extend((v, self.now) for v in values)

    @rule(key=FEW_KEYS, wait=WAITS)
    def read_list(self, key: Any, wait: int) -> None:
        self.subtask.clock.advance(wait)
        found = self.at(key, "list").get()
        pairs = [p for p in self.list.get(key, []) if self.alive(p)]
        assert list(found) == [v for v, _ in pairs]
        self.list[key] = [self.seen(p) for p in pairs]

    @rule(key=FEW_KEYS, map_key=MAP_KEYS, value=VALUES)
    def write_map(self, key: Any, map_key: str, value: int) -> None:
        self.at(key, "map").put(map_key, value)
        self.map.setdefault(key, {})[map_key] = (value, self.now)

    @rule(
        key=FEW_KEYS,
        map_key=MAP_KEYS,
        how=st.sampled_from(["get", "contains", "items"]),
        wait=WAITS,
    )
    def read_map(self, key: Any, map_key: str, how: str, wait: int) -> None:
        self.subtask.clock.advance(wait)
        state = self.at(key, "map")
        pairs = {k: p for k, p in self.map.get(key, {}).items() if self.alive(p)}
        assert state.is_empty() == (not pairs)
        if how == "items":
            assert dict(state.items()) == {k: v for k, (v, _) in pairs.items()}
            self.map[key] = {k: self.seen(p) for k, p in pairs.items()}
            return
        pair = pairs.get(map_key)
        if how == "get":
            assert state.get(map_key) == (None if pair is None else pair[0])
        else:
            assert state.contains(map_key) == (pair is not None)
        if pair is not None:
            pairs[map_key] = self.seen(pair)
        self.map[key] = pairs

    @rule(key=FEW_KEYS, value=VALUES)
    def add_to_sum(self, key: Any, value: int) -> None:
        self.at(key, "sum").add(value)
        pair = self.sum.get(key)
        before = pair[0] if pair is not None and self.alive(pair) else 0
        self.sum[key] = (before + value, self.now)

    @rule(key=FEW_KEYS, wait=WAITS)
    def read_sum(self, key: Any, wait: int) -> None:
        self.subtask.clock.advance(wait)
        found = self.at(key, "sum").get()
        pair = self.sum.get(key)
        if pair is None or not self.alive(pair):
            assert found is None
        else:
            assert found == pair[0]
            self.sum[key] = self.seen(pair)

    @rule(records=st.integers(0, 5))
    def batch_ends(self, records: int) -> None:
        self.subtask.backend.after_batch(records)

    @rule(kind=st.sampled_from(["full", "changes"]), completes=st.booleans())
    def checkpoint(self, kind: str, completes: bool) -> None:
        snapshot = self.subtask.backend.snapshot(kind, self.next_checkpoint)
        if completes:
            self.subtask.backend.notify_checkpoint_complete(self.next_checkpoint)
            if snapshot.kind is SnapshotKind.FULL:
                self.chain.clear()
            self.chain.append(snapshot)
        else:
            self.subtask.backend.notify_checkpoint_aborted(self.next_checkpoint)
        self.next_checkpoint += 1

    @rule()
    def move(self) -> None:
        """Goes on from the last checkpoint and the changes up to now."""
        last = self.subtask.backend.snapshot("changes", self.next_checkpoint)
        base = [] if last.kind is SnapshotKind.FULL else self.chain
        self.subtask = self.subtask.restored(*base, last)
        self.declare()
        self.chain = []
        self.next_checkpoint += 1


_alternating = cycle(["hashmap", "rocksdb-small-cache"])


def alternating(*args: Any, **kwargs: Any) -> KeyedStateBackend:
    """Each backend hands over to one of another kind when its state moves."""
    return BACKENDS[next(_alternating)](*args, **kwargs)


BACKENDS_AND_CHANGES = {**BACKENDS, "alternating": alternating}


@pytest.mark.parametrize("backend_name", BACKENDS_AND_CHANGES)
@pytest.mark.parametrize("machine", [StateMachine, ExpiringStateMachine])
def test_agrees_with_dicts(machine, backend_name):
    case = type(machine.__name__, (machine,), {"backend_name": backend_name}).TestCase
    case.settings = settings(
        # A database takes its time.
        max_examples=scaled(40 if backend_name == "hashmap" else 15),
        stateful_step_count=50,
        suppress_health_check=[HealthCheck.too_slow],
    )
    case("runTest").runTest()
