"""Room for statements that are nested deeply.

Reading, binding and translating walk through trees with functions that call themselves. Nearly all
statements fit into the caller's stack. One that does not is taken up again on a thread with a large
stack, so that neither programs nor the gateway ever see a `RecursionError`.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from headrace.common.errors import SqlError

__all__ = ["with_room"]

P = ParamSpec("P")
R = TypeVar("R")

_CALLS = 100_000
"""How many calls may be inside of one another; a bracket takes about thirty when it is read."""
_STACK_BYTES = 512 << 20
"""Address space, of which only what is used becomes memory: calls through C take up to 2 KiB."""

_here = threading.local()
_lock = threading.Lock()
_users = 0
_usual_limit = 0


def with_room(function: Callable[P, R]) -> Callable[P, R]:
    """Lets a function go deep. It must be one that can be called again after it failed half-way."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if getattr(_here, "entered", False):
            return function(*args, **kwargs)
        _here.entered = True
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass
        finally:
            _here.entered = False
        return _on_large_stack(lambda: function(*args, **kwargs))

    return call


def _on_large_stack(work: Callable[[], R]) -> R:
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        _here.entered = True
        try:
            with _many_calls():
                results.append(work())
        except BaseException as error:  # noqa: BLE001 - a thread's top: raised by the caller
            errors.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="deep-statement", daemon=True)
    _start(thread)
    thread.join()
    if not errors:
        return results[0]
    if isinstance(errors[0], RecursionError | MemoryError):
        raise SqlError(
            f"the statement is nested too deeply: planning it takes more than {_CALLS} nested "
            "calls. Split it: give parts of it to views, or to columns of a subquery"
        ) from None
    raise errors[0]


def _start(thread: threading.Thread) -> None:
    # The size is a setting of the process: nobody else may start a thread of ours meanwhile.
    with _lock:
        usual = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)


@contextmanager
def _many_calls() -> Iterator[None]:
    """The interpreter's limit is one for all threads: the last that needs it puts it back."""
    global _users, _usual_limit
    with _lock:
        if _users == 0:
            _usual_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_CALLS, _usual_limit))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_usual_limit)
