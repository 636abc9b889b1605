"""Copies of values that somebody else may change."""

from __future__ import annotations

import datetime
import threading
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.common import Row, RowKind
from headrace.datastream import OutputTag
from headrace.runtime.ownership import copied, own

Point = namedtuple("Point", "x y")
SHARED = [1]


@dataclass
class Order:
    items: list[int]


@pytest.mark.parametrize(
    "value",
    [
        1,
        "text",
        None,
        (1, 2.0),
        (),
        b"x",
        datetime.date(2020, 1, 2),
        OutputTag("late"),
        Point(1, 2),
    ],
)
def test_what_nobody_can_change_is_not_copied(value: Any) -> None:
    assert own(value) is value


@pytest.mark.parametrize(
    "value",
    [
        [1],
        (1, SHARED),
        {"a": SHARED},
        [SHARED],
        Row(a=SHARED),
        Row(1, SHARED),
        Row.of_kind(RowKind.DELETE, 1),
        Order(SHARED),
        Point(1, SHARED),
        {1, 2},
        bytearray(b"x"),
    ],
)
def test_what_can_be_changed_is_copied_all_the_way_down(value: Any) -> None:
    made = own(value)
    assert made is not value
    assert made == value
    assert type(made) is type(value)
    if isinstance(value, Row):
        assert made.get_row_kind() is value.get_row_kind()


def test_a_copy_does_not_see_later_changes() -> None:
    kept = [1]
    made = own((kept, {"a": kept}, Row(b=kept), Order(kept)))
    kept.append(2)
    assert made == ([1], {"a": [1]}, Row(b=[1]), Order([1]))


def test_an_object_may_contain_itself() -> None:
    kept = Order([1])
    kept.items.append(kept)  # type: ignore[arg-type]
    made = own([kept])[0]
    assert made is not kept
    assert made.items[1] is made


def test_what_is_there_twice_is_so_in_the_copy() -> None:
    one, other = Order([1]), Order([2])
    found = own({"nodes": [one, other], "edges": [(one, other)]})
    assert found["edges"][0][0] is found["nodes"][0] is not one
    doubled: list[Any] = []
    for _ in range(40):
        doubled = [doubled, doubled]
    assert own(doubled)[0] is not doubled[0]


class Tagged(tuple[int, ...]):
    tags: list[str]


def test_a_tuple_may_have_more_than_its_items() -> None:
    value = Tagged((1, 2))
    value.tags = ["a"]
    made = own(value)
    value.tags.append("b")
    assert (made, made.tags) == ((1, 2), ["a"])


class Locked:
    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.count, self.lock = 1, threading.Lock()


def test_what_is_to_be_changed_must_be_copied() -> None:
    value = Locked()
    assert own(value) is value
    with pytest.raises(TypeError):
        copied(value)


class Counted:
    """Says itself how it is copied."""

    copies = 0

    def __deepcopy__(self, memo: Any) -> Counted:
        Counted.copies += 1
        return self


def test_a_class_may_say_how_it_is_copied() -> None:
    value = Counted()
    assert own([value])[0] is value
    assert Counted.copies == 1


def test_what_python_cannot_copy_stays() -> None:
    lock = threading.Lock()
    assert own(lock) is lock
