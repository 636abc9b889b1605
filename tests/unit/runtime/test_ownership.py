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
from headrace.runtime.ownership import own

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
        Point(1, 2),
        Point(1, SHARED),
        {1, 2},
        bytearray(b"x"),
    ],
)
def test_what_can_be_changed_is_copied_all_the_way_down(value: Any) -> None:
    copied = own(value)
    assert copied is not value
    assert copied == value
    assert type(copied) is type(value)
    if isinstance(value, Row):
        assert copied.get_row_kind() is value.get_row_kind()


def test_a_copy_does_not_see_later_changes() -> None:
    kept = [1]
    copied = own((kept, {"a": kept}, Row(b=kept), Order(kept)))
    kept.append(2)
    assert copied == ([1], {"a": [1]}, Row(b=[1]), Order([1]))


def test_an_object_may_contain_itself() -> None:
    kept = Order([1])
    kept.items.append(kept)  # type: ignore[arg-type]
    copied = own([kept])[0]
    assert copied is not kept
    assert copied.items[1] is copied


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
