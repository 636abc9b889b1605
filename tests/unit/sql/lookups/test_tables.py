"""Tables that give the rows of keys: caches, retries, calls at the same time."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.datastream.connectors.collection import CollectionSource
from headrace.sql.lookups.full_cache import AllRows, FullTable, Reload, SourceRows, WholeTable
from headrace.sql.lookups.partial_cache import CachedTable, PartialCache
from headrace.sql.lookups.tables import (
    AskedTable,
    Found,
    Key,
    KeySource,
    LookupLimits,
    LookupTable,
    RetriedTable,
)


class Clock:
    """An operator's context that has nothing but the time."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def operator(self) -> Any:
        return SimpleNamespace(context=SimpleNamespace(clock=lambda: self.now))


class Names(LookupTable):
    """Notes what it is asked for."""

    def __init__(self, rows: dict[int, str]) -> None:
        self.rows = rows
        self.asked: list[list[int]] = []

    def open(self, operator: Any) -> None:
        pass

    def find(self, keys: Sequence[Key]) -> Found:
        self.asked.append([k for (k,) in keys])
        return {(k,): [(k, self.rows[k])] for (k,) in keys if k in self.rows}

    def close(self) -> None:
        pass


def keys(*values: int) -> list[Key]:
    return [(v,) for v in values]


def cached(cache: PartialCache, rows: dict[int, str]) -> tuple[CachedTable, Names, Clock]:
    names, clock = Names(rows), Clock()
    table = CachedTable(names, cache)
    table.open(clock.operator())
    return table, names, clock


def test_known_keys_are_not_asked_for_again() -> None:
    table, names, _ = cached(PartialCache(), {1: "a", 2: "b"})
    assert table.find(keys(1, 3)) == {(1,): [(1, "a")]}
    assert table.find(keys(1, 2, 3)) == {(1,): [(1, "a")], (2,): [(2, "b")], (3,): []}
    assert names.asked == [[1, 3], [2]]


def test_keys_without_rows_are_asked_for_again_if_they_are_not_to_be_kept() -> None:
    table, names, _ = cached(PartialCache(cache_missing_key=False), {1: "a"})
    table.find(keys(1, 3))
    names.rows[3] = "c"
    assert table.find(keys(1, 3))[(3,)] == [(3, "c")]
    assert names.asked == [[1, 3], [3]]


def test_the_key_not_used_for_longest_goes_first() -> None:
    table, names, _ = cached(PartialCache(max_rows=2), {1: "a", 2: "b", 3: "c"})
    table.find(keys(1, 2))
    table.find(keys(1))
    table.find(keys(3))
    table.find(keys(1))
    table.find(keys(2))
    assert names.asked == [[1, 2], [3], [2]]


def test_rows_are_believed_for_a_while_after_they_were_found() -> None:
    table, names, clock = cached(PartialCache(expire_after_write_ms=100), {1: "a"})
    table.find(keys(1))
    clock.now += 99
    table.find(keys(1))
    clock.now += 1
    names.rows[1] = "new"
    assert table.find(keys(1)) == {(1,): [(1, "new")]}
    assert names.asked == [[1], [1]]


def test_keys_that_are_used_stay() -> None:
    table, names, clock = cached(PartialCache(expire_after_access_ms=100), {1: "a"})
    for _ in range(5):
        table.find(keys(1))
        clock.now += 99
    clock.now += 1
    table.find(keys(1))
    assert names.asked == [[1], [1]]


def test_keys_without_rows_are_looked_up_again() -> None:
    names, slept = Names({1: "a"}), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            names.rows[2] = "late"

    limits = LookupLimits(attempts=4, retry_delay_ms=500)
    assert RetriedTable(names, limits, sleep).find(keys(1, 2)) == {
        (1,): [(1, "a")],
        (2,): [(2, "late")],
    }
    assert names.asked == [[1, 2], [2], [2]]
    assert slept == [0.5, 0.5]


def test_a_key_that_never_has_a_row_ends_its_attempts() -> None:
    names = Names({})
    table = RetriedTable(names, LookupLimits(attempts=3), lambda seconds: None)
    assert table.find(keys(7)) == {}
    assert names.asked == [[7]] * 3


class Together(KeySource):
    """Answers when so many calls wait at the same time."""

    keys_per_call = 1
    asynchronous = True

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.most = self.running = 0

    def open(self, operator: Any) -> None:
        self.all_there = asyncio.Event()

    async def rows_of(self, keys: Sequence[Key]) -> list[Any]:
        self.running += 1
        self.most = max(self.most, self.running)
        if self.running == self.wanted:
            self.all_there.set()
        await self.all_there.wait()
        self.running -= 1
        return [(k, "x") for (k,) in keys]

    def close(self) -> None:
        pass


def test_calls_of_a_coroutine_run_at_the_same_time_up_to_a_limit() -> None:
    source = Together(3)
    table = AskedTable(source, [0], LookupLimits(concurrent=3))
    table.open(Clock().operator())
    assert len(table.find(keys(*range(9)))) == 9
    assert source.most == 3
    table.close()


def test_a_call_that_takes_too_long_fails() -> None:
    table = AskedTable(Together(2), [0], LookupLimits(timeout_ms=1))
    table.open(Clock().operator())
    with pytest.raises(TimeoutError):
        table.find(keys(1))
    table.close()


class Versions(AllRows):
    """Another row each time, or an error."""

    def __init__(self) -> None:
        self.reads = 0
        self.broken = False

    def read(self) -> list[Any]:
        self.reads += 1
        if self.broken:
            raise OSError("away")
        return [(1, self.reads)]


def test_a_table_is_read_again_when_its_time_has_come() -> None:
    rows, clock = Versions(), Clock()
    table = FullTable(WholeTable(rows, Reload(interval_ms=100)), [0])
    table.open(clock.operator())
    clock.now += 99
    assert table.find(keys(1)) == {(1,): [(1, 1)]}
    clock.now += 1
    assert table.find(keys(1, 2)) == {(1,): [(1, 2)]}
    clock.now += 99
    assert table.find(keys(1)) == {(1,): [(1, 2)]}


def test_a_table_that_cannot_be_read_again_stays_as_it_was() -> None:
    rows, clock = Versions(), Clock()
    table = FullTable(WholeTable(rows, Reload(interval_ms=100)), [0])
    table.open(clock.operator())
    rows.broken = True
    clock.now += 100
    assert table.find(keys(1)) == {(1,): [(1, 1)]}
    rows.broken = False
    clock.now += 100
    assert table.find(keys(1)) == {(1,): [(1, 3)]}


def test_times_of_reading() -> None:
    assert Reload().next_after(0, 10) is None
    assert Reload(100).next_after(0, 30) == 130
    assert Reload(100, fixed_rate=True).next_after(0, 30) == 100
    assert Reload(100, fixed_rate=True).next_after(0, 250) == 300
    noon = Reload(at=datetime.time(12, tzinfo=datetime.UTC), days=2)
    hour = 3_600_000
    assert noon.next_after(0, 11 * hour) == 12 * hour
    assert noon.next_after(0, 12 * hour) == (12 + 48) * hour


def test_a_source_is_read_to_its_end() -> None:
    rows = [(i, str(i)) for i in range(25_000)]
    assert list(SourceRows(CollectionSource.of(rows)).read()) == rows
