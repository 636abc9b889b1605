"""How long accesses to state take: a sample of the calls of each method, in histograms.

A state object that is tracked gets a class of its own, whose methods count and, now and then, look
at the clock. One that is not tracked keeps its class, so this costs nothing unless it is wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from headrace.metrics import MetricGroup

__all__ = ["track_latency"]

_METHODS = (
    "value", "update", "clear", "get", "add", "add_all", "put", "put_all", "remove", "contains",
    "items", "keys", "values", "is_empty", "merge_namespaces",
)  # fmt: skip
_OPERATORS = {
    "__getitem__": "get",
    "__setitem__": "put",
    "__delitem__": "remove",
    "__contains__": "contains",
    "__iter__": "keys",
}


def track_latency(
    state: Any,
    metrics: MetricGroup,
    name: str,
    sample_interval: int,
    clock_ns: Callable[[], int] = time.perf_counter_ns,
) -> None:
    """Measures one of `sample_interval` calls of each method of a state object from now on.

    The metrics of a method are `<state name>.<method>.calls`, a counter, and
    `<state name>.<method>.latency`, a histogram of nanoseconds. A method that calls another one, as
    `update(None)` calls `clear()`, counts for both.
    """
    cls = type(state)
    members: dict[str, Any] = {"__slots__": ()}
    group = metrics.add_group(name)
    for method, function in _methods(cls):
        members[method] = _sampled(function, group.add_group(method), sample_interval, clock_ns)
    for operator, method in _OPERATORS.items():
        if method in members and hasattr(cls, operator):
            members[operator] = members[method]
    state.__class__ = type(cls.__name__, (cls,), members)


def _methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in _METHODS:
        function = getattr(cls, name, None)
        if function is not None:
            yield name, function


def _sampled(
    function: Callable[..., Any],
    metrics: MetricGroup,
    interval: int,
    clock_ns: Callable[[], int],
) -> Callable[..., Any]:
    calls = metrics.counter("calls")
    latency = metrics.histogram("latency")

    @wraps(function)
    def sampled(*args: Any) -> Any:
        calls.inc()
        if calls.get_count() % interval:
            return function(*args)
        started = clock_ns()
        try:
            return function(*args)
        finally:
            latency.update(clock_ns() - started)

    return sampled
