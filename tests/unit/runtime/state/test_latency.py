"""Latency tracking: a sample of the accesses, and nothing at all when it is off."""

from __future__ import annotations

import itertools

from headrace.common.configuration import Configuration
from headrace.metrics import MetricGroup
from headrace.runtime.state.factory import StateBackends, StateBackendSettings
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.state.kinds import KeyedState
from headrace.runtime.state.latency import track_latency
from tests.unit.runtime.state.backends import ALL_KINDS, Subtask, map_of, read_all, write_something


def backend_with(settings, metrics):
    return StateBackends(settings).create(
        16, lambda: 0, False, operator_uid=None, subtask=0, metrics=metrics
    )


def test_every_nth_call_is_timed(subtask):
    state = subtask.state(map_of())
    subtask.at(1)
    metrics = MetricGroup()
    ticks = itertools.count(step=7)
    track_latency(state, metrics, "m", 3, lambda: next(ticks))
    for i in range(7):
        state.put(i, i)
    assert state[3] == 3
    assert 3 in state
    assert isinstance(state, KeyedState)
    found = metrics.collect()
    assert found["m.put.calls"] == 7
    assert found["m.put.latency"]["count"] == 2
    assert found["m.put.latency"]["mean"] == 7
    assert (found["m.get.calls"], found["m.contains.calls"]) == (1, 1)


def test_every_kind_still_works(subtask: Subtask):
    for make in ALL_KINDS:
        state, tracked = subtask.state(make()), subtask.state(make())
        track_latency(tracked, MetricGroup(), make().name, 1)
        subtask.at("key")
        write_something(tracked, 4)
        assert read_all(tracked) == read_all(state)
        tracked.clear()
        assert subtask.backend.number_of_entries() == 0


def test_chosen_by_configuration():
    configuration = Configuration()
    configuration.set_string("state.latency-track.keyed-state-enabled", "true")
    configuration.set_string("state.latency-track.sample-interval", "2")
    settings = StateBackendSettings.from_configuration(configuration)
    metrics = MetricGroup()
    cell = KeyCell("key")
    state = backend_with(settings, metrics).get_or_create(map_of(), cell)
    state.put("a", 1)
    state.put("b", 1)
    assert metrics.collect()["state.map.put.latency"]["count"] == 1


def test_off_it_leaves_state_objects_as_they_are():
    metrics = MetricGroup()
    backend = backend_with(StateBackendSettings(), metrics)
    state = backend.get_or_create(map_of(), KeyCell("key"))
    assert type(state).__module__ == "headrace.runtime.state.kinds"
    assert metrics.collect() == {}
