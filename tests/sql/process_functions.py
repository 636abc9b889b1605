"""Process table functions for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

from headrace.common.types import RowKind
from headrace.table import (
    ArgumentHint,
    ArgumentTrait,
    ChangelogMode,
    Context,
    ListView,
    MapView,
    OnTimerContext,
    ProcessTableFunction,
    Row,
    StateHint,
)

T = ArgumentTrait
RowTable = Annotated[Row, ArgumentHint(T.ROW_SEMANTIC_TABLE)]
SetTable = Annotated[Row, ArgumentHint(T.SET_SEMANTIC_TABLE)]
TimedTable = Annotated[Row, ArgumentHint(T.SET_SEMANTIC_TABLE, T.REQUIRE_ON_TIME)]
AnySetTable = Annotated[Row, ArgumentHint(T.SET_SEMANTIC_TABLE, T.OPTIONAL_PARTITION_BY)]
WholeTable = Annotated[Row, ArgumentHint(T.ROW_SEMANTIC_TABLE, T.PASS_COLUMNS_THROUGH)]
WholeSet = Annotated[Row, ArgumentHint(T.SET_SEMANTIC_TABLE, T.PASS_COLUMNS_THROUGH)]
UpdatingSet = Annotated[Row, ArgumentHint(T.SET_SEMANTIC_TABLE, T.SUPPORT_UPDATES)]
RetractedSet = Annotated[
    Row, ArgumentHint(T.SET_SEMANTIC_TABLE, T.SUPPORT_UPDATES, T.REQUIRE_UPDATE_BEFORE)
]


class Filter(ProcessTableFunction):
    """Rows above a threshold, of any table with a column v."""

    def get_result_type(self) -> str:
        return "ROW<threshold INT, v INT>"

    def eval(self, input: RowTable, threshold: int, factor: int = 1) -> Iterator[Any]:
        if input.v * factor > threshold:
            yield threshold, input.v * factor


class InCapitals(ProcessTableFunction):
    """A column more; it collects."""

    def get_result_type(self) -> str:
        return "STRING"

    def eval(self, input: WholeTable) -> None:
        self.collect(input.k.upper())


class Passing(ProcessTableFunction):
    """All columns of a partitioned table, and one more."""

    def eval(self, ctx: Context, input: WholeSet) -> Iterator[int]:
        if input.v < 0:
            ctx.time_context(int).register_on_time(1)
        yield input.v + 1


class Generate(ProcessTableFunction):
    """Numbers, of no table."""

    def eval(self, count: int) -> Iterator[int]:
        yield from range(count)


@dataclass
class Seen:
    count: int = 0
    last: str | None = None
    items: dict[str, int] = field(default_factory=dict)


class Tally(ProcessTableFunction):
    """How many rows a key has, and what it saw."""

    def eval(self, seen: Annotated[Seen, StateHint()], input: AnySetTable) -> Iterator[str]:
        seen.count += 1
        seen.items[str(input.v)] = seen.items.get(str(input.v), 0) + 1
        before, seen.last = seen.last, str(input.v)
        most = max(seen.items.values())
        yield f"{seen.count} {before} {most}"


class Pairs(ProcessTableFunction):
    """Waits for a second row; state is a Row."""

    def eval(
        self,
        ctx: Context,
        first: Annotated[Row, StateHint(type="ROW<v INT>", ttl="1 day")],
        input: SetTable,
    ) -> Iterator[int]:
        if first.v is None:
            first["v"] = input.v
        else:
            yield first.v + input.v
            ctx.clear_state("first")


class History(ProcessTableFunction):
    """All values so far, in a list, and how often each was there, in a map."""

    def get_result_type(self) -> str:
        return "ROW<vs ARRAY<INT>, often MAP<INT, INT>>"

    def eval(
        self,
        ctx: Context,
        values: Annotated[ListView[Row], StateHint(type="ARRAY<ROW<v INT>>")],
        often: Annotated[MapView[int, int], StateHint(ttl=timedelta(days=1))],
        input: SetTable,
    ) -> Iterator[Any]:
        if input.v == 0:
            ctx.clear_all_state()
            return
        values.add(Row(v=input.v))
        often[input.v] = (often.get(input.v) or 0) + 1
        yield [row.v for row in values.get()], dict(often.items())


@dataclass
class Visits:
    count: int = 0
    timers: int = 0


class Sessions(ProcessTableFunction):
    """Rows of a key with less than some seconds between them, as soon as that is known."""

    def get_result_type(self) -> str:
        return "ROW<n BIGINT, firings BIGINT>"

    def eval(
        self,
        ctx: Context,
        visits: Annotated[Visits, StateHint()],
        input: TimedTable,
        gap: timedelta = timedelta(seconds=10),
    ) -> None:
        visits.count += 1
        time = ctx.time_context()
        time.register_on_time("gap", time.time() + gap)

    def on_timer(self, ctx: OnTimerContext, visits: Visits) -> Iterator[Any]:
        assert ctx.current_timer() == "gap"
        yield visits.count, visits.timers + 1
        ctx.clear_all()


class Remind(ProcessTableFunction):
    """The number of each row of a key, and 0 ten seconds after it."""

    def eval(
        self, ctx: Context, visits: Annotated[Visits, StateHint()], input: TimedTable
    ) -> Iterator[int]:
        visits.count += 1
        time = ctx.time_context()
        time.register_on_time(time.time() + timedelta(seconds=10))
        yield visits.count

    def on_timer(self) -> Iterator[int]:
        yield 0


class Timers(ProcessTableFunction):
    """Registers what its rows say: `name time`, `time`, `-name`, `-time` or `--`."""

    def eval(self, ctx: Context, input: SetTable) -> Iterator[str]:
        time = ctx.time_context(int)
        for order in (input.orders or "").split(","):
            if order == "--":
                time.clear_all_timers()
            elif order.startswith("-"):
                time.clear_timer(int(order[1:]) if order[1:].isdigit() else order[1:])
            elif " " in order:
                name, at = order.split()
                time.register_on_time(name, int(at))
            elif order:
                time.register_on_time(int(order))
        yield f"row at {time.time()} of {time.current_watermark()} {time.table_watermark()}"

    def on_timer(self, ctx: OnTimerContext) -> Iterator[str]:
        time = ctx.time_context(int)
        assert time.table_watermark() is None
        if ctx.current_timer() == "again":
            # It is due already: it comes next.
            time.register_on_time("after", time.time() - 1)
        yield f"{ctx.current_timer()} at {time.time()}"


class Ordered(ProcessTableFunction):
    """The values of a key in the order in which they come."""

    def eval(
        self, ctx: Context, seen: Annotated[Seen, StateHint()], input: SetTable
    ) -> Iterator[str]:
        semantics = ctx.table_semantics_for("input")
        columns = [semantics.data_type().names[i] for i in semantics.order_by_columns()]
        seen.last = f"{seen.last or ''}{input.v}"
        yield f"{seen.last} by {columns} {list(semantics.order_by_directions())}"


class LastPurchase(ProcessTableFunction):
    """A join of two tables."""

    def eval(
        self, seen: Annotated[Seen, StateHint()], visit: SetTable, purchase: SetTable
    ) -> Iterator[str]:
        if purchase is not None:
            seen.last = purchase.item
        else:
            yield f"{visit.name} {seen.last}"


class Kinds(ProcessTableFunction):
    """The kinds of changes that reach it."""

    def get_result_type(self) -> str:
        return "ROW<kind STRING, n BIGINT>"

    def eval(self, input: UpdatingSet) -> Iterator[Any]:
        yield input.get_row_kind().name, input.n


class AllKinds(Kinds):
    """The same with all of them."""

    def eval(self, input: RetractedSet) -> Iterator[Any]:
        yield input.get_row_kind().name, input.n


@dataclass
class Sum:
    sum: int = 0


class Sums(ProcessTableFunction):
    """A sum that ends with the first negative number, as changes."""

    def get_result_type(self) -> str:
        return "ROW<s INT>"

    def get_changelog_mode(self) -> ChangelogMode:
        return ChangelogMode.all()

    def eval(self, state: Annotated[Sum, StateHint()], input: SetTable) -> Iterator[Row]:
        if state.sum < 0:
            return
        if input.v < 0:
            yield Row.of_kind(RowKind.DELETE, state.sum)
            state.sum = -1
        elif state.sum == 0:
            state.sum = input.v
            yield Row(state.sum)
        else:
            yield Row.of_kind(RowKind.UPDATE_BEFORE, state.sum)
            state.sum += input.v
            yield Row.of_kind(RowKind.UPDATE_AFTER, state.sum)


class UpsertSums(Sums):
    """The same without the rows before updates."""

    def get_changelog_mode(self) -> ChangelogMode:
        return ChangelogMode.upsert()

    def eval(self, state: Annotated[Sum, StateHint()], input: SetTable) -> Iterator[Row]:
        if input.v < 0:
            yield Row.of_kind(RowKind.DELETE, None)
        else:
            state.sum += input.v
            yield Row.of_kind(RowKind.UPDATE_AFTER, state.sum)


class Wrong(ProcessTableFunction):
    """Does what its rows ask for, all of it wrong."""

    def get_result_type(self) -> str:
        return "ROW<s INT>"

    def eval(self, ctx: Context, input: RowTable) -> Any:
        if input.k == "kind":
            return [Row.of_kind(RowKind.DELETE, 1)]
        if input.k == "type":
            return [("x",)]
        if input.k == "returned":
            return 5
        if input.k == "timer":
            ctx.time_context().register_on_time(datetime(2020, 1, 1))
        if input.k == "table":
            ctx.table_semantics_for("other")
        raise ValueError("broken")


@dataclass
class Person:
    name: str
    age: int


class Typed(ProcessTableFunction):
    """A table of two columns, whatever their names are."""

    def eval(
        self, person: Annotated[Person, ArgumentHint(T.ROW_SEMANTIC_TABLE)], tags: list[str]
    ) -> Iterator[str]:
        yield f"{person.name} is {person.age}: {'/'.join(tags)}"
