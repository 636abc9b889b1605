"""Looking into a slot: stacks of a thread, and records that an operator emits."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.coordination.bodies.observations import FlameGraph, FlameNode
from headrace.coordination.slots.observations import Observations, flame_graph
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.ids import SlotId, VertexId
from headrace.graph.job_graph import build_job_graph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.observation import RecordTaps, StackSampler
from headrace.testing.runner import MiniRunner

V = VertexId("v")


def test_a_thread_is_sampled_for_the_vertex_it_works_for() -> None:
    done, sent = threading.Event(), threading.Event()
    answers: list[m.StacksSampled] = []

    def spin() -> None:
        while not done.is_set():
            sum(range(1000))

    def send(message: m.StacksSampled) -> None:
        answers.append(message)
        sent.set()

    worker = threading.Thread(target=spin)
    worker.start()
    try:
        assert worker.ident is not None
        sampler = StackSampler(SlotId(0), send, lambda: (V, 1), worker.ident)
        sampler.start(m.SampleStacks(7, V, 0.5))
        assert sent.wait(60)
    finally:
        done.set()
        worker.join()
    (answer,) = answers
    assert answer.request == 7
    assert all(subtask == 1 for subtask, _, _ in answer.counts)
    assert any("spin" in name for _, _, stack in answer.counts for name in stack)


def test_stacks_become_a_tree() -> None:
    counts = {(0, True, ("a", "b")): 3, (0, False, ("a", "c")): 2, (1, True, ("a",)): 1}
    tree = flame_graph(counts, "full", None)
    assert (tree.name, tree.value) == ("root", 6)
    (a,) = tree.children
    assert (a.name, a.value) == ("a", 6)
    assert [(c.name, c.value) for c in a.children] == [("b", 3), ("c", 2)]
    assert flame_graph(counts, "on_cpu", None).value == 4
    assert flame_graph(counts, "off_cpu", None).value == 2
    assert flame_graph(counts, "full", 1).value == 1
    assert flame_graph({}, "full", None) == FlameNode("root", 0, ())


@pytest.fixture
def runner() -> MiniRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection(list(range(3000))).map(lambda v: (v, "x" * 2000)).name("pair").print()
    runner = MiniRunner(build_job_graph(env.get_stream_graph(None, clear=True)), epoch_records=10)
    runner.open()
    return runner


@pytest.mark.parametrize("operator", ["pair", "Sink: Print to Std. Out"])
def test_records_are_seen_until_nobody_looks_any_more(runner: MiniRunner, operator: str) -> None:
    sent: list[m.RecordsPeeked] = []
    taps = RecordTaps(SlotId(0), sent.append)
    (vertex,) = runner.job_graph.vertices
    names = {o.name: o.operator_id for o in vertex.operators}
    found = names.get(operator) or vertex.operators[-1].operator_id
    subtasks: Any = {(vertex.id, 0): runner.subtask("pair")}
    taps.start(m.PeekRecords(1, vertex.id, found, 12), subtasks)
    runner.run_epoch()
    runner.run_epoch()
    records = [r for message in sent for r in message.records]
    assert len(records) == 12
    assert records[0].value.startswith("(0, 'xxx")
    assert len(records[0].value) < 1100
    taps.start(m.PeekRecords(2, vertex.id, found, 100), subtasks)
    taps.stop(2)
    taps.stop(1)
    runner.run_epoch()
    assert len(sent) == 2
    assert len(runner.services.printed) == 30, "records arrive whoever looks at them"
    runner.close(quietly=True)


def test_questions_go_to_the_slots_of_the_vertex() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection([1, 2]).key_by(lambda v: v).map(str).print()
    graph = build_job_graph(env.get_stream_graph(None, clear=True))
    physical = build_physical_graph(graph)
    observations: Observations

    def send(slot: SlotId, message: Any) -> None:
        if isinstance(message, m.SampleStacks):
            counts = {(int(slot), True, ("f",)): 5}
            observations.stacks_sampled(m.StacksSampled(slot, message.request, counts))
        elif isinstance(message, m.PeekRecords):
            record = m.PeekedRecord(int(slot), "'r'", None, None)
            observations.records_peeked(m.RecordsPeeked(slot, message.request, (record,)))

    observations = Observations(physical, send)
    vertex = graph.vertices[-1]
    asked = observations.flame_graph(vertex.id, "full", None, refresh=False)
    assert asked == FlameGraph()
    answered = observations.flame_graph(vertex.id, "full", None, refresh=False)
    assert answered.data is not None
    assert answered.data.value == 5 * vertex.parallelism
    seen = observations.records(graph, vertex.id, None, vertex.parallelism, 60)
    assert seen.complete
    assert {r.subtask for r in seen.records} == set(range(vertex.parallelism))
    assert seen.operator.name == vertex.operators[-1].name
