from __future__ import annotations

import pickle
import threading

import pytest

from headrace.runtime.pickling import dumps, first_unpicklable


def test_classes_of_a_function_go_by_value() -> None:
    class Point:
        x = 3

    assert pickle.loads(dumps(Point())).x == 3


def test_what_nothing_can_pickle_is_an_error() -> None:
    with pytest.raises(TypeError, match="lock"):
        dumps(threading.Lock())


def test_the_value_that_cannot_be_pickled_is_found() -> None:
    class Refuses:
        def __reduce__(self) -> str:
            raise KeyError("not me")

    bad = Refuses()
    assert first_unpicklable([1, bad, threading.Lock()], None) is bad
    assert first_unpicklable([1, "a"], "all are fine") == "all are fine"
