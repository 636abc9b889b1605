"""MATCH_RECOGNIZE: finds rows of a key that follow each other in a pattern, as Flink finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.operators.base import OpenedCode
from headrace.sql.operators.order.in_time import InTimeOrderOperator
from headrace.sql.operators.order.ordering import sort_key
from headrace.sql.operators.specs import MatchSpec, MatchValues
from headrace.sql.plan.patterns import Reference

_STATE = "match"

Rows = list[Any]
Taken = list[Rows]
"""The rows of each variable; one after the other they are the rows of the match."""


@dataclass
class Partial:
    """A match that is not complete: the next row may belong to `variable` or one behind it.

    `start` is the number of its first row among those of the key, `since` its time in
    milliseconds, `count` how many rows `variable` has.
    """

    start: int
    since: int
    variable: int
    count: int
    taken: Taken

    def stored(self) -> list[Any]:
        return [self.start, self.since, self.variable, self.count, self.taken]


@dataclass
class Search:
    """What is kept for a key."""

    rows: int
    partial: list[Partial]
    complete: list[Partial]

    @staticmethod
    def of(stored: Any) -> Search:
        """From its form in state, which is made of plain lists."""
        rows, partial, complete = stored or (0, (), ())
        return Search(rows, [Partial(*p) for p in partial], [Partial(*p) for p in complete])

    def stored(self) -> list[Any]:
        """The form that state has."""
        return [self.rows, [p.stored() for p in self.partial], [p.stored() for p in self.complete]]


class MatchOperator(InTimeOrderOperator):
    """Follows all partial matches of a key from row to row.

    A match waits for partial ones that began before it, because where the search goes on is
    decided by the one that began first. Of several that began at the same row the first to be
    complete counts.
    """

    def __init__(self, spec: MatchSpec) -> None:
        super().__init__(spec.time, spec.event_time, sort_key(spec.order))
        self._spec = spec
        self._pattern = spec.pattern
        self._last = len(spec.pattern) - 1
        # The first variable from which on nothing more is needed.
        self._enough = len(spec.pattern)
        while self._enough and spec.pattern[self._enough - 1].least == 0:
            self._enough -= 1
        # Times at which partial matches end, with a number against comparing keys.
        self._due: list[tuple[int, int, Any]] = []
        self._number = 0

    def open(self) -> None:
        super().open()
        self._conditions = [None if c is None else _Values(c, self) for c in self._spec.conditions]
        self._measures = _Values(self._spec.measures, self)
        self._state = self.value_state(_STATE)
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys(_STATE):
            self.cell.key = key
            for partial in Search.of(self._state.value()).partial:
                self._schedule(key, partial)
        self.forget_key()

    # Time.

    def _schedule(self, key: Any, partial: Partial) -> None:
        if self._spec.within_ms is not None and self._spec.event_time:
            self._number += 1
            heappush(self._due, (partial.since + self._spec.within_ms, self._number, key))

    def advance_time(self, until: int, out: list[tuple[Any, ...]]) -> None:
        keys: dict[Any, None] = {}
        while self._due and self._due[0][0] <= until:
            keys[heappop(self._due)[2]] = None
        for key in keys:
            self.cell.key = key
            search = Search.of(self._state.value())
            self._expire(search, until)
            self._settle(key, search, out)
            self._keep(search)
        self.forget_key()

    def _expire(self, search: Search, now: int) -> None:
        within = self._spec.within_ms
        if within is not None:
            search.partial = [p for p in search.partial if now - p.since < within]

    # Rows.

    def advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        self.cell.key = key
        search = Search.of(self._state.value())
        for row in rows:
            now = row[self._time] // 1000 if self._event_time else self.context.clock()
            if self._spec.within_ms is not None:
                self._expire(search, now)
                self._settle(key, search, out)
            self._step(key, search, row, now)
            if search.complete:
                self._settle(key, search, out)
        self._keep(search)
        self.forget_key()

    def _keep(self, search: Search) -> None:
        if search.partial or search.complete:
            self._state.update(search.stored())
        else:
            # Numbers of rows matter only to what is kept.
            self._state.clear()

    def _step(self, key: Any, search: Search, row: Any, now: int) -> None:
        """Partial matches after a row."""
        fresh = Partial(search.rows, now, 0, 0, [[] for _ in self._pattern])
        search.rows += 1
        following: list[Partial] = []
        for partial in (*search.partial, fresh):
            ways = self._ways(partial, row)
            for number, (variable, count) in enumerate(ways, 1):
                # The last way may have the lists, the others take copies.
                taken = partial.taken if number == len(ways) else [list(x) for x in partial.taken]
                taken[variable].append(row)
                moved = Partial(partial.start, partial.since, variable, count, taken)
                if self._is_complete(variable, count):
                    search.complete.append(
                        Partial(moved.start, moved.since, variable, count, [list(x) for x in taken])
                    )
                if not self._is_full(variable, count):
                    following.append(moved)
            if partial is fresh and ways:
                self._schedule(key, fresh)
        search.partial = following

    def _is_complete(self, variable: int, count: int) -> bool:
        least = self._pattern[variable].least
        return variable + 1 >= self._enough and count >= least

    def _is_full(self, variable: int, count: int) -> bool:
        return variable == self._last and count == self._pattern[variable].most

    def _ways(self, partial: Partial, row: Any) -> list[tuple[int, int]]:
        """Variables that the row may belong to, with how many rows each has then."""
        ways = []
        variable, count = partial.variable, partial.count
        while True:
            element = self._pattern[variable]
            room = element.most is None or count < element.most
            fits = (room or element.greedy) and self._fits(variable, partial.taken, row)
            if room and fits:
                ways.append((variable, count + 1))
            if count < element.least or variable == self._last or (element.greedy and fits):
                return ways
            variable, count = variable + 1, 0

    def _fits(self, variable: int, taken: Taken, row: Any) -> bool:
        condition = self._conditions[variable]
        if condition is None:
            return True
        rows = taken[variable]
        rows.append(row)
        try:
            return bool(condition.of(taken))
        finally:
            rows.pop()

    # Matches.

    def _settle(self, key: Any, search: Search, out: list[tuple[Any, ...]]) -> None:
        """Emit matches that nothing before them can prevent any more."""
        while search.complete:
            match = min(search.complete, key=lambda p: p.start)
            if any(p.start < match.start for p in search.partial):
                return
            search.complete.remove(match)
            self._emit(key, match, out)
            first = self._next_start(match)
            search.partial = [p for p in search.partial if p.start >= first]
            search.complete = [p for p in search.complete if p.start >= first]

    def _emit(self, key: Any, match: Partial, out: list[tuple[Any, ...]]) -> None:
        head = (key,) if len(self._spec.partition) == 1 else key
        (values,) = self._measures.of(match.taken)
        out.append((*head, *values))

    def _next_start(self, match: Partial) -> int:
        """The number of the first row at which another match may begin."""
        kind, to = self._spec.skip, self._spec.skip_to
        if kind == "NEXT":
            return match.start + 1
        if kind == "PAST":
            return match.start + sum(map(len, match.taken))
        assert to is not None
        name = self._pattern[to].name
        if not match.taken[to]:
            raise SqlError(f"AFTER MATCH SKIP TO {kind} {name}: no row of the match is {name}")
        before = sum(map(len, match.taken[:to]))
        place = before if kind == "FIRST" else before + len(match.taken[to]) - 1
        if place == 0:
            raise SqlError(
                f"AFTER MATCH SKIP TO {kind} {name} leads to the first row of the match, where the "
                "same match would be found again; skip TO NEXT ROW or PAST LAST ROW"
            )
        return match.start + place


class _Values:
    """Values of the rows of a match, and what generated code makes of them."""

    def __init__(self, values: MatchValues, operator: MatchOperator) -> None:
        self._code = OpenedCode(values.code, operator)
        pairs = zip(values.references, values.aggregates, strict=True)
        self._parts: list[Callable[[Taken], Any]] = []
        for reference, aggregate in pairs:
            if aggregate is None:
                self._parts.append(_navigation(reference))
            else:
                for function in aggregate.functions:
                    function.open(operator)
                    operator.closing.append(function)
                self._parts.append(_aggregation(reference, aggregate))

    def of(self, taken: Taken) -> Sequence[Any]:
        """What the code gives for one match."""
        found: Sequence[Any] = self._code.run([tuple([part(taken) for part in self._parts])])
        return found


def _rows_of(variable: int | None) -> Callable[[Taken], Rows]:
    if variable is None:
        return lambda taken: [row for rows in taken for row in rows]
    return lambda taken: taken[variable]


def _navigation(reference: Reference) -> Callable[[Taken], Any]:
    """FIRST and LAST; NULL if there are not enough rows."""
    rows_of, column, offset = _rows_of(reference.variable), reference.column, reference.offset
    place = offset if reference.first else -1 - offset

    def value(taken: Taken) -> Any:
        rows = rows_of(taken)
        return rows[place][column] if len(rows) > offset else None

    return value


def _aggregation(reference: Reference, code: Any) -> Callable[[Taken], Any]:
    rows_of = _rows_of(reference.variable)
    add, create, value_of = code.add.load(), code.create.load(), code.value.load()

    def value(taken: Taken) -> Any:
        rows = rows_of(taken)
        accumulators = {0: create()}
        add([0] * len(rows), rows, accumulators, None)
        return value_of(accumulators[0])[0]

    return value
