"""Operator state under any history of writes, checkpoints and parallelisms."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    MapFunction,
)
from headrace.datastream.state import ListStateDescriptor, MapStateDescriptor
from headrace.testing import broadcast_harness, harness

NAMES = ("one", "two")
RULES = MapStateDescriptor("rules")

parallelisms = st.integers(1, 4)
records = st.tuples(st.sampled_from(NAMES), st.integers(0, 99))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(records, max_size=8)),
        st.tuples(st.just("restore"), parallelisms),
        # What was written after a checkpoint is lost with a failure.
        st.tuples(st.just("fail"), parallelisms),
    ),
    max_size=12,
)


class Keeping(MapFunction, CheckpointedFunction):
    """Adds records to the list that they name, some of them only when a checkpoint asks."""

    def __init__(self, union: bool) -> None:
        self.union = union
        self.waiting: list[tuple[str, int]] = []

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        ask = store.get_union_list_state if self.union else store.get_list_state
        self.states = {name: ask(ListStateDescriptor(name)) for name in NAMES}

    def snapshot_state(self, context: Any) -> None:
        for name, number in self.waiting:
            self.states[name].add(number)
        self.waiting = []

    def map(self, value: Any) -> None:
        name, number = value
        if number % 2:
            self.waiting.append(value)
        else:
            self.states[name].add(number)


def contents(function: Keeping, name: str) -> list[int]:
    return [*function.states[name].get(), *(n for kind, n in function.waiting if kind == name)]


@given(steps)
def test_no_element_of_a_list_is_lost_or_doubled(history: list[Any]) -> None:
    with harness(Keeping(union=False)) as h:
        saved = h.snapshot()
        written: Counter[Any] = Counter()
        durable: Counter[Any] = Counter()
        for action, argument in history:
            if action == "write":
                h.process_many(argument)
                written.update(argument)
            elif action == "restore":
                saved = h.snapshot()
                h.restore(saved, argument)
                durable = written.copy()
            else:
                h.restore(saved, argument)
                written = durable.copy()
            lists = {n: [contents(f, n) for f in h.functions] for n in NAMES}
            found = Counter((n, e) for n in NAMES for elements in lists[n] for e in elements)
            assert found == written


@given(st.lists(records), parallelisms, parallelisms)
def test_a_change_of_parallelism_splits_evenly_and_keeps_the_order(
    values: list[Any], before: int, after: int
) -> None:
    with harness(Keeping(union=False), parallelism=before) as h:
        h.process_many(values)
        saved = h.snapshot()
        ordered = {n: [e for f in h.functions for e in contents(f, n)] for n in NAMES}
        h.restore(saved, after)
        turns = 0
        for name in NAMES:
            lists = [contents(f, name) for f in h.functions]
            if before != after:
                sizes = [len(elements) for elements in lists]
                assert max(sizes) - min(sizes) <= 1
                # The next state begins with the subtask that the last one gave less.
                lists = lists[turns:] + lists[:turns]
                turns = (turns + len(ordered[name])) % after
            assert [e for elements in lists for e in elements] == ordered[name]


@given(st.lists(st.tuples(st.lists(records, max_size=5), parallelisms), max_size=4))
def test_everybody_gets_all_of_a_union_list(history: list[Any]) -> None:
    with harness(Keeping(union=True)) as h:
        for values, parallelism in history:
            h.process_many(values)
            # Everybody keeps only what nobody else has, as functions with union state do.
            before = {n: sorted(e for f in h.functions for e in contents(f, n)) for n in NAMES}
            h.snapshot_and_restore(parallelism)
            for function in h.functions:
                assert {n: sorted(contents(function, n)) for n in NAMES} == before
            for function in h.functions[1:]:
                for state in function.states.values():
                    state.clear()


class Rules(BroadcastProcessFunction):
    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        key, rule = value
        state = ctx.get_broadcast_state(RULES)
        if rule is None:
            state.remove(key)
        else:
            state.put(key, rule)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, list(ctx.get_broadcast_state(RULES).items())


rule_steps = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 5), st.none() | st.integers(0, 99)),
        parallelisms,
    ),
    max_size=20,
)


@given(rule_steps)
def test_all_copies_of_broadcast_state_are_the_same(history: list[Any]) -> None:
    expected: dict[int, int] = {}
    with broadcast_harness(Rules(), RULES, parallelism=3) as h:
        for step in history:
            if isinstance(step, int):
                h.snapshot_and_restore(step)
            else:
                h.broadcast(step)
                key, rule = step
                if rule is None:
                    expected.pop(key, None)
                else:
                    expected[key] = rule
            for copy in h.broadcast_state("rules"):
                assert list(copy.items()) == list(expected.items())
