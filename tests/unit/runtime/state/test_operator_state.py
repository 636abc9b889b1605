"""State of a subtask that belongs to no key, and the functions that have it."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, StateError, StateMigrationError
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.function_source import FunctionSource
from headrace.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
    ParallelSourceFunction,
    ProcessFunction,
    RichMapFunction,
    RichSinkFunction,
    SinkFunction,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.runtime.state.operator_state import OperatorStateBackend, OperatorStateSnapshot
from headrace.testing import OperatorHarness, harness, keyed_harness, run_in_process

LISTED = ListStateDescriptor("listed", Types.INT())
MAPPED = MapStateDescriptor("mapped", Types.STRING(), Types.INT())


def stored(*backends: OperatorStateBackend) -> dict[int, OperatorStateSnapshot]:
    """Snapshots of subtasks after a way through bytes."""
    return {
        number: pickle.loads(pickle.dumps(backend.snapshot().serialized()))
        for number, backend in enumerate(backends)
    }


def with_list(*elements: int, union: bool = False) -> OperatorStateBackend:
    backend = OperatorStateBackend("op")
    ask = backend.get_union_list_state if union else backend.get_list_state
    ask(LISTED).add_all(elements)
    return backend


def restored(saved: dict[int, OperatorStateSnapshot], now: int) -> list[OperatorStateBackend]:
    backends = [OperatorStateBackend("op") for _ in range(now)]
    for subtask, backend in enumerate(backends):
        backend.restore(saved, len(saved), subtask, now)
    return backends


# The store.


def test_a_list_keeps_order_and_is_shared_by_its_handles() -> None:
    backend = OperatorStateBackend()
    one, other = backend.get_list_state(LISTED), backend.get_list_state(LISTED)
    one.add(1)
    other.add_all([2, 3])
    assert list(one) == [1, 2, 3]
    one.update(x * 10 for x in one.get())
    assert other.get() == [10, 20, 30]
    other.clear()
    assert one.get() == []


def test_what_get_returned_is_no_view() -> None:
    state = with_list(1, 2).get_list_state(LISTED)
    elements = state.get()
    state.add(3)
    assert elements == [1, 2]


def test_none_is_no_element() -> None:
    state = OperatorStateBackend().get_list_state(LISTED)
    for write in (lambda: state.add(None), lambda: state.add_all([1, None])):
        with pytest.raises(StateError, match="None as an element"):
            write()


def test_a_broadcast_map_keeps_the_order_of_insertion_and_can_shrink_while_read() -> None:
    state = OperatorStateBackend().get_broadcast_state(MAPPED)
    state.put("b", 2)
    state["a"] = 1
    state.put_all({"c": 3})
    assert list(state.items()) == [("b", 2), ("a", 1), ("c", 3)]
    for key in state:
        state.remove(key)
    assert state.is_empty()
    del state["a"]


def test_a_read_only_view_follows_and_refuses() -> None:
    state = OperatorStateBackend().get_broadcast_state(MAPPED)
    view: Any = state.read_only()
    state.put("a", 1)
    assert (view["a"], view.get("b"), "a" in view, list(view.values())) == (1, None, True, [1])
    for write in (
        lambda: view.put("a", 2),
        lambda: view.put_all({}),
        lambda: view.remove("a"),
        lambda: view.__setitem__("a", 2),
        lambda: view.__delitem__("a"),
        view.clear,
    ):
        with pytest.raises(StateError, match=r"'mapped' is read-only.*process_broadcast_element"):
            write()
    assert state.get("a") == 1


def test_names_of_lists_and_maps_are_apart() -> None:
    backend = with_list(1)
    backend.get_broadcast_state(MapStateDescriptor("listed")).put("a", 1)
    assert backend.get_registered_state_names() == {"listed"}
    assert backend.get_registered_broadcast_state_names() == {"listed"}


def test_one_name_is_one_state() -> None:
    backend = with_list(1)
    with pytest.raises(StateError, match=r"get_list_state\(\) and with get_union_list_state\(\)"):
        backend.get_union_list_state(LISTED)
    with pytest.raises(StateError, match="declared twice"):
        backend.get_list_state(ListStateDescriptor("listed", Types.STRING()))
    with pytest.raises(FunctionTypeError, match="ListStateDescriptor is needed"):
        backend.get_list_state(MAPPED)  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="MapStateDescriptor is needed"):
        backend.get_broadcast_state(LISTED)  # type: ignore[arg-type]


def test_a_time_to_live_is_ignored_with_a_warning() -> None:
    descriptor = ListStateDescriptor("listed")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    with pytest.warns(UserWarning, match="'listed' never expires"):
        OperatorStateBackend().get_list_state(descriptor)


# Restore.


def test_an_unchanged_parallelism_leaves_lists_where_they_are() -> None:
    saved = stored(with_list(1, 2, 3), with_list(), with_list(4))
    lists = [b.get_list_state(LISTED).get() for b in restored(saved, 3)]
    assert lists == [[1, 2, 3], [], [4]]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (1, [[1, 2, 3, 4, 5]]),
        (2, [[1, 2, 3], [4, 5]]),
        (4, [[1, 2], [3], [4], [5]]),
        (6, [[1], [2], [3], [4], [5], []]),
    ],
)
def test_another_parallelism_splits_lists_evenly(now: int, expected: list[list[int]]) -> None:
    saved = stored(with_list(1, 2), with_list(3), with_list(4, 5))
    assert [b.get_list_state(LISTED).get() for b in restored(saved, now)] == expected


def test_single_elements_of_many_states_are_spread() -> None:
    backend = OperatorStateBackend()
    for name in "abcd":
        backend.get_list_state(ListStateDescriptor(name)).add(name)
    backends = restored(stored(backend), 2)
    shares = [
        [e for n in "abcd" for e in b.get_list_state(ListStateDescriptor(n)).get()]
        for b in backends
    ]
    assert shares == [["a", "c"], ["b", "d"]]


@pytest.mark.parametrize("now", [1, 2, 3, 5])
def test_everybody_gets_all_of_a_union_list(now: int) -> None:
    saved = stored(with_list(1, 2, union=True), with_list(3, union=True))
    for backend in restored(saved, now):
        assert backend.get_union_list_state(LISTED).get() == [1, 2, 3]


@pytest.mark.parametrize("now", [1, 2, 3, 5])
def test_everybody_gets_a_copy_of_broadcast_state(now: int) -> None:
    old = [OperatorStateBackend() for _ in range(2)]
    for backend in old:
        backend.get_broadcast_state(MAPPED).put_all({"b": 2, "a": [1]})
    states = [b.get_broadcast_state(MAPPED) for b in restored(stored(*old), now)]
    assert [list(s.items()) for s in states] == [[("b", 2), ("a", [1])]] * now
    states[0].get("a").append(2)
    assert [s.get("a") for s in states[1:]] == [[1]] * (now - 1), "nothing is shared"


def test_state_that_nobody_asks_for_stays() -> None:
    (first,) = restored(stored(with_list(1, 2)), 1)
    assert first.get_registered_state_names() == {"listed"}
    (second,) = restored(stored(first), 1)
    assert second.get_list_state(LISTED).get() == [1, 2]


def test_restored_state_must_be_asked_for_as_it_was_saved() -> None:
    saved = stored(with_list(1))
    (backend,) = restored(saved, 1)
    with pytest.raises(
        StateMigrationError, match=r"'listed' of operator 'op' was saved by a function"
    ):
        backend.get_union_list_state(LISTED)
    with pytest.raises(StateMigrationError, match="choose a new state name"):
        backend.get_list_state(ListStateDescriptor("listed", Types.STRING()))
    # A type may be left out, or be given later.
    assert backend.get_list_state(ListStateDescriptor("listed")).get() == [1]


def test_what_cannot_be_pickled_is_named() -> None:
    backend = OperatorStateBackend()
    backend.get_list_state(ListStateDescriptor("locks")).add_all([1, threading.Lock()])
    with pytest.raises(StateError, match=r"'locks' holds a value .*lock object"):
        backend.snapshot().serialized()


# Functions.


class Remembering:
    """Mixed into functions of all kinds: remembers all records in list state."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.seen: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.calls.append("initialize_state")
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))
        self.seen = list(self.state.get())
        self.restored = context.is_restored(), context.get_restored_checkpoint_id()

    def snapshot_state(self, context: Any) -> None:
        self.calls.append(f"snapshot_state {context.get_checkpoint_id()}")
        self.state.update(self.seen)
        self.stamp = context.get_checkpoint_timestamp()

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")


class RememberingMap(Remembering, MapFunction, CheckpointedFunction):
    def map(self, value: Any) -> Any:
        self.seen.append(value)
        return len(self.seen)


class RememberingFilter(Remembering, FilterFunction, CheckpointedFunction):
    def filter(self, value: Any) -> bool:
        self.seen.append(value)
        return True


class RememberingFlatMap(Remembering, FlatMapFunction, CheckpointedFunction):
    def flat_map(self, value: Any) -> Any:
        self.seen.append(value)


class RememberingProcess(Remembering, ProcessFunction, CheckpointedFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.append(value)


class RememberingSink(Remembering, SinkFunction, CheckpointedFunction):
    def invoke(self, value: Any, context: Any) -> None:
        self.seen.append(value)


ALL_KINDS = [
    RememberingMap,
    RememberingFilter,
    RememberingFlatMap,
    RememberingProcess,
    RememberingSink,
]


def seen(h: OperatorHarness) -> list[list[Any]]:
    return [function.seen for function in h.functions]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_of_function_has_operator_state(kind: type[Any]) -> None:
    with harness(kind(), time=500) as h:
        assert h.function.calls == ["initialize_state", "open"]
        assert h.function.restored == (False, None)
        h.process_many(["a", "b", "c"])
        h.snapshot()
        assert h.function.calls[2:] == ["snapshot_state 1"]
        assert h.function.stamp == 500
        h.snapshot_and_restore()
        assert h.function.calls == ["initialize_state", "open"]
        assert h.function.restored == (True, 2)
        assert seen(h) == [["a", "b", "c"]]
        h.snapshot_and_restore(parallelism=2)
        assert seen(h) == [["a", "b"], ["c"]]
        h.process_many(["d", "e"])
        h.snapshot_and_restore(parallelism=1)
        assert seen(h) == [["a", "b", "d", "c", "e"]]
        assert h.function.restored == (True, 4)


class KeyedAndNot(KeyedProcessFunction, CheckpointedFunction):
    """Keyed state may be had from the same context."""

    def initialize_state(self, context: Any) -> None:
        self.mine = context.get_operator_state_store().get_list_state(ListStateDescriptor("all"))
        self.count = context.get_keyed_state_store().get_state(ValueStateDescriptor("count"))

    def snapshot_state(self, context: Any) -> None: ...

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.mine.add(value)
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


def test_keyed_and_operator_state_side_by_side() -> None:
    with keyed_harness(KeyedAndNot(), key=lambda v: v) as h:
        h.process_many(["a", "b", "a"])
        h.snapshot_and_restore(parallelism=2)
        h.process("a")
        assert h.output()[-1] == ("a", 3)
        assert sorted(e for f in h.functions for e in f.mine.get()) == ["a", "a", "a", "b"]


class Counting(RichMapFunction, ListCheckpointed):
    """The short form, with a runtime context before open()."""

    def __init__(self) -> None:
        self.count = 0
        self.restored: list[int] | None = None
        self.opened = False

    def map(self, value: Any) -> int:
        self.count += 1
        return self.count

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
        self.at = checkpoint_id, timestamp
        return [self.count] if self.count else None  # type: ignore[return-value]

    def restore_state(self, state: list[int]) -> None:
        assert not self.opened
        self.index = self.get_runtime_context().get_index_of_this_subtask()
        self.restored, self.count = state, sum(state)

    def open(self, runtime_context: Any) -> None:
        self.opened = True


def test_list_checkpointed() -> None:
    with harness(Counting(), time=7) as h:
        assert h.function.restored is None
        h.process_many("xyz")
        h.snapshot()
        assert h.function.at == (1, 7)
        h.snapshot_and_restore(parallelism=2)
        assert [f.restored for f in h.functions] == [[3], []]
        assert [f.index for f in h.functions] == [0, 1]
        h.process_many("xyz")
        h.snapshot_and_restore(parallelism=1)
        assert h.function.restored == [5, 1]


class Failing(MapFunction, CheckpointedFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    def map(self, value: Any) -> Any: ...

    def initialize_state(self, context: Any) -> None:
        if self.where == "initialize_state":
            raise ValueError("no")

    def snapshot_state(self, context: Any) -> None:
        if self.where == "snapshot_state":
            raise ValueError("no")


def test_errors_say_where() -> None:
    with pytest.raises(ValueError, match="no") as caught:
        harness(Failing("initialize_state"))
    assert "raised in initialize_state" in caught.value.__notes__[0]
    with harness(Failing("snapshot_state")) as h:
        with pytest.raises(ValueError, match="no") as caught:
            h.snapshot()
        assert "raised in snapshot_state" in caught.value.__notes__[0]


class NotAList(MapFunction, ListCheckpointed):
    def map(self, value: Any) -> Any: ...

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> Any:
        return 5

    def restore_state(self, state: Any) -> None: ...


def test_list_checkpointed_must_return_a_list() -> None:
    with harness(NotAList()) as h, pytest.raises(StateError, match="must return a list, not 5"):
        h.snapshot()


class StatefulSource(ParallelSourceFunction, CheckpointedFunction):
    """Numbers that belong to the subtask, one after the other."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.running = True

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.positions = store.get_list_state(ListStateDescriptor("positions"))
        self.restored = context.is_restored()
        # A dict that the thread goes on changing, also after a snapshot.
        (self.position,) = self.positions.get() or [{"next": 0}]

    def run(self, ctx: Any) -> None:
        while self.running and self.position["next"] < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.position["next"])
                self.position["next"] += 1

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, context: Any) -> None:
        self.positions.update([self.position])


def test_a_source_function_goes_on_from_its_operator_state() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.add_source(StatefulSource(20_000))
    result = run_in_process(
        env, {"numbers": numbers}, epoch_records=700, restore_after=(1, 2, 5, 9)
    )
    assert sorted(result["numbers"]) == sorted([*range(20_000)] * 2)


def test_a_source_function_runs_in_all_subtasks_of_another_parallelism() -> None:
    source = FunctionSource(StatefulSource(1))
    before = source.create_enumerator(2)
    before.discover(0)
    same, other = source.create_enumerator(2), source.create_enumerator(3)
    same.restore(before.snapshot())
    other.restore(before.snapshot())
    assert same.discover(0) == {}
    assert sorted(other.discover(0)) == [0, 1, 2]


class HearingSink(RichSinkFunction, CheckpointListener):
    def open(self, runtime_context: Any) -> None:
        self.heard: list[tuple[str, int]] = []

    def invoke(self, value: Any) -> None: ...  # type: ignore[override]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.heard.append(("aborted", checkpoint_id))


def test_a_sink_function_hears_of_checkpoints() -> None:
    with harness(HearingSink()) as h:
        operator = h._subtasks[0].head
        operator.notify_checkpoint(3, completed=True)
        operator.notify_checkpoint(4, completed=False)
        assert h.function.heard == [("complete", 3), ("aborted", 4)]
