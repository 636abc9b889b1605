"""`ProcessTableFunction`: a function of tables, with state and timers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.types import DataType
from headrace.sql.udf.user_defined import UserDefinedFunction

__all__ = ["ProcessTableFunction"]


def _no_collector(row: Any) -> None:
    raise RuntimeError("collect() works in eval() and on_timer() only")


class ProcessTableFunction(UserDefinedFunction):
    """Makes a table of tables and values, row by row, with state and timers.

    `eval` is called for each row of each table. Its parameters are, in this order: a `Context` if
    it wants one, state (`Annotated` with a `StateHint`), then the arguments of the call; those that
    are tables are `Annotated` with an `ArgumentHint`. If there are several tables, all but the one
    that the row is of are None. `on_timer`, if there is one, is called for each timer that is due.
    Its parameters are an `OnTimerContext` if it wants one, and state by the names that `eval` has.

    Both emit rows with `yield` or `collect`. `get_result_type` says their type, or else the
    annotation of what `eval` returns.

    Example:
        >>> @dataclass
        ... class Count:
        ...     rows: int = 0
        ...
        >>> class Greeting(ProcessTableFunction):
        ...     def eval(
        ...         self,
        ...         count: Annotated[Count, StateHint(ttl="1 day")],
        ...         visit: Annotated[Row, ArgumentHint(ArgumentTrait.SET_SEMANTIC_TABLE)],
        ...     ) -> Iterator[str]:
        ...         count.rows += 1
        ...         yield f"Hello {visit.name}, your {count.rows} time?"
    """

    _collector: Callable[[Any], None] = staticmethod(_no_collector)

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Called for each row."""

    def get_result_type(self) -> DataType | str | None:
        """The type of the rows: a ROW, or another type for a single column."""
        return None

    def get_changelog_mode(self) -> ChangelogMode:
        """The kinds of rows that the function emits; inserts alone unless this is overridden.

        In `ChangelogMode.upsert()`, rows replace each other by the columns of PARTITION BY.
        """
        return ChangelogMode.insert_only()

    def collect(self, row: Any) -> None:
        """Emits a row, in `eval` and `on_timer`; as good as `yield`."""
        self._collector(row)

    def set_collector(self, collector: Callable[[Any], None]) -> None:
        """Called by the runtime before `open`: where rows go."""
        self._collector = collector
