"""The rows of one side of a join, as they are kept for each key."""

from __future__ import annotations

import marshal
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, overload
from zlib import crc32

from headrace.datastream.state import MapStateDescriptor
from headrace.runtime.key_groups import stable_hash
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.joins.counts import Counts

__all__ = ["JoinRows", "PagedRows", "Rows", "page_of"]

Row = tuple[Any, ...]


class JoinRows:
    """Rows of the current key, and how often each is there.

    They are one value, and a single row is kept as such, which is all there is of a unique key.
    With a time to live each row is an entry of its own: others of its key do not keep it. A key
    with many rows has them in pages, by their hashes, if the backend encodes values: a row that
    changes is then read and written with its page alone. What is kept for the key itself is the
    number of pages, as that of None. Either form can be restored with any backend.

    Attributes:
        most_rows: Of a key with more rows, these are in pages.
        page_rows: How many a page has at most, but for a while.
    """

    most_rows = 2000
    page_rows = 128

    def __init__(self, operator: RowOperator, name: str, ttl_ms: int) -> None:
        kept = _Expiring if ttl_ms else _Lasting
        backend = operator.context.backend
        self._cuts = backend is not None and backend.encodes_values
        self._cell = operator.cell
        self._all = kept(operator, name, ttl_ms)
        self._pages = kept(operator, f"{name}-pages", ttl_ms, namespaced=True)

    def load(self) -> Rows:
        """The rows, which the caller may change."""
        rows = self._all.read()
        pages = rows.get(None)
        return rows if pages is None else PagedRows(self, self._cell.key, pages)

    def store(self, rows: Rows, changed: Iterable[Row]) -> None:
        """Keep the rows, of which some have changed."""
        if isinstance(rows, PagedRows):
            rows.write(changed)
            return
        self._all.write(rows, changed)
        if self._cuts and len(rows) > self.most_rows:
            self._spread(2 * len(rows) // self.page_rows)

    def _spread(self, count: int) -> None:
        """Move all rows of a key into pages."""
        key, pages = self._cell.key, defaultdict[int, dict[Any, Any]](dict)
        for row, kept in self._all.take_out().items():
            pages[page_of(row, count)][row] = kept
        for number, rows in pages.items():
            self.page(key, number).put_in(rows)
        self.set_pages(key, count)

    def gather(self, key: Any, count: int) -> None:
        """Move the few rows that are left in pages back to their key."""
        rows: dict[Any, Any] = {}
        for number in range(count):
            rows.update(self.page(key, number).take_out())
        self._cell.key = key
        self._all.take_out()
        self._all.put_in(rows)

    def split(self, key: Any, count: int) -> None:
        """Make one page more: some rows of that page move there whose turn it is."""
        number = count - (1 << count.bit_length() - 1)
        stay: dict[Any, Any] = {}
        go: dict[Any, Any] = {}
        for row, kept in self.page(key, number).take_out().items():
            (stay if page_of(row, count + 1) == number else go)[row] = kept
        self._pages.put_in(stay)
        self.page(key, count).put_in(go)

    def read_page(self, key: Any, number: int) -> Counts:
        """The rows of a page; the current key stays what it is."""
        rows = self.page(key, number).read()
        self._cell.key = key
        return rows

    def page(self, key: Any, number: int) -> _Kept:
        """A page, in place of the current key."""
        self._cell.key = (key, number)
        return self._pages

    def set_pages(self, key: Any, count: int) -> None:
        """Note the number of pages; with a time to live, for as long as any row in them lives."""
        self._cell.key = key
        self._all.write({None: count}, (None,))


class PagedRows:
    """The rows of a key that has many; pages are read when somebody asks for a row in them."""

    def __init__(self, kept: JoinRows, key: Any, count: int) -> None:
        self._kept = kept
        self._key = key
        self._count = count
        self._read: dict[int, Counts] = {}
        # Of the row that somebody asked for last; who changes it has asked for it before.
        self._row: Row | None = None
        self._number = 0

    def _page(self, number: int) -> Counts:
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = self._kept.read_page(self._key, number)
        return found

    def _page_of(self, row: Row) -> Counts:
        if row is not self._row:
            self._row, self._number = row, page_of(row, self._count)
        return self._page(self._number)

    @overload
    def get(self, row: Row) -> int | None: ...
    @overload
    def get(self, row: Row, default: int) -> int: ...
    def get(self, row: Row, default: int | None = None) -> int | None:
        return self._page_of(row).get(row, default)

    def __getitem__(self, row: Row) -> int:
        return self._page_of(row)[row]

    def __contains__(self, row: Row) -> bool:
        return row in self._page_of(row)

    def __setitem__(self, row: Row, times: int) -> None:
        self._page_of(row)[row] = times

    def pop(self, row: Row, default: Any) -> Any:
        return self._page_of(row).pop(row, default)

    def __bool__(self) -> bool:
        return any(map(self._page, range(self._count)))

    def items(self) -> Iterator[tuple[Row, int]]:
        for number in range(self._count):
            yield from self._page(number).items()

    def __iter__(self) -> Iterator[Row]:
        for number in range(self._count):
            yield from self._page(number)

    def copy(self) -> Counts:
        return dict(self.items())

    def write(self, changed: Iterable[Row]) -> None:
        """Keep the pages of rows that have changed; there will be more of them, or none."""
        kept, key, count = self._kept, self._key, self._count
        pages = defaultdict[int, list[Row]](list)
        for row in changed:
            pages[page_of(row, count)].append(row)
        for number, rows in pages.items():
            found = self._page(number)
            kept.page(key, number).write(found, rows)
        few = sum(map(len, self._read.values())) <= kept.most_rows // 2
        if few and (len(self._read) == count or not self):
            kept.gather(key, count)
            return
        more = sum((len(self._read[number]) - 1) // kept.page_rows for number in pages)
        for _ in range(more):
            kept.split(key, count)
            count += 1
        kept.set_pages(key, count)


Rows = Counts | PagedRows
"""The rows of a key and how often each is there, all at once or page by page."""


def page_of(row: Row, count: int) -> int:
    """The page of a row: one more page takes rows of a single other one (linear hashing)."""
    number, half = _hash(row), 1 << count.bit_length() - 1
    found = number & 2 * half - 1
    return found if found < count else number & half - 1


_VERSION = 2
"""Of marshal's format: the last one in which the bytes of a value depend on the value alone."""

_MINUS_ZERO, _ZERO = (marshal.dumps(zero, _VERSION) for zero in (-0.0, 0.0))


def _hash(row: Row) -> int:
    """A hash that is the same in all processes, and for all rows that are equal."""
    try:
        return crc32(marshal.dumps(row, _VERSION).replace(_MINUS_ZERO, _ZERO))
    except ValueError:
        # Decimals, maps and the like; this takes ten times as long.
        return stable_hash(row)


class _Lasting:
    """Rows as one value."""

    def __init__(
        self, operator: RowOperator, name: str, ttl_ms: int, namespaced: bool = False
    ) -> None:
        self._state = operator.value_state(name, namespaced=namespaced)

    def read(self) -> Counts:
        """The rows, which the caller may change."""
        stored = self._state.value()
        if stored is None:
            return {}
        return {stored: 1} if isinstance(stored, tuple) else stored

    def write(self, rows: Counts, changed: Iterable[Any]) -> None:
        """Keep the rows, of which some have changed."""
        self.put_in(rows)

    def take_out(self) -> dict[Any, Any]:
        """The rows with what is kept of each; they are gone."""
        rows = self.read()
        self._state.clear()
        return rows

    def put_in(self, rows: dict[Any, Any]) -> None:
        """Keep what was taken out elsewhere."""
        if len(rows) == 1:
            ((row, times),) = rows.items()
            self._state.update(row if times == 1 else rows)
        else:
            self._state.update(rows or None)


class _Expiring:
    """Each row as an entry with an age of its own."""

    def __init__(
        self, operator: RowOperator, name: str, ttl_ms: int, namespaced: bool = False
    ) -> None:
        self._state = operator.state_of(MapStateDescriptor(name), ttl_ms, namespaced)
        self.take_out = self._state.take_out
        self.put_in = self._state.put_in

    def read(self) -> Counts:
        return dict(self._state.items())

    def write(self, rows: Counts, changed: Iterable[Any]) -> None:
        new: Counts = {}
        for row in changed:
            times = rows.get(row)
            if times is None:
                self._state.remove(row)
            else:
                new[row] = times
        self._state.put_all(new)


_Kept = _Lasting | _Expiring
