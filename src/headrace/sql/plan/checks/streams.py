"""What no stream can do is refused when it is planned, with Flink's reason and the place."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql.plan import nodes as n
from headrace.sql.plan.batch_tables import MLPredictTableFunction, VectorSearchTableFunction
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.checks.temporal import check_temporal
from headrace.sql.plan.expressions import SortKey, TimeAttribute
from headrace.sql.plan.joins import (
    IntervalJoin,
    TemporalJoin,
    WindowJoin,
)
from headrace.sql.plan.match import Match
from headrace.sql.plan.process_table import GivenTable, ProcessTable
from headrace.sql.plan.time_attributes import time_of
from headrace.sql.rules.window_columns import window_column
from headrace.sql.udf.process.hints import ArgumentTrait
from headrace.util.exceptions import TableException

__all__ = ["check_stream"]


def check_stream(plan: n.Node) -> None:
    """Refuses an optimized plan that only works where the input ends."""
    for child in plan.inputs:
        check_stream(child)
    if isinstance(plan, _NEEDS_INSERTS):
        _check_inserts(plan)
    if isinstance(plan, n.WindowTable | n.WindowAggregate):
        _check_window(plan)
    elif isinstance(plan, WindowJoin) and not plan.window.event_time:
        raise _refused(plan, "Processing time Window Join is not supported yet.")
    elif isinstance(plan, Match) and _is_lost(plan.input, plan.order[0].index):
        raise _refused(
            plan, "You must specify either rowtime or proctime for order by as the first one."
        )
    elif isinstance(plan, TemporalJoin):
        check_temporal(plan)
    elif isinstance(plan, ProcessTable):
        _check_process(plan)
    elif isinstance(plan, n.OverAggregate):
        _check_over(plan)
    elif isinstance(plan, n.Rank) and _ranks_by_the_clock(plan):
        raise _refused(
            plan,
            "Processing time Window TopN is not supported yet: give the table a time attribute of "
            "event time, with a WATERMARK",
        )
    elif isinstance(plan, n.Rank) and plan.function != "ROW_NUMBER":
        raise _refused(
            plan,
            f"{plan.function}() on streaming table is not supported currently: number rows with "
            "ROW_NUMBER(), or use batch mode",
        )
    elif isinstance(plan, n.Sort) and not _by_time(plan, plan.keys[:1]):
        raise _refused(
            plan,
            "Sort on a non-time-attribute field is not supported: a stream has no end; order by a "
            "time attribute first, ascending, or add LIMIT",
        )
    elif isinstance(plan, n.Limit) and plan.keys and plan.fetch is None:
        raise _refused(plan, "ORDER BY with OFFSET alone is not supported on a stream; add LIMIT")


def _ranks_by_the_clock(plan: n.Rank) -> bool:
    found = None if plan.window is None else window_column(plan.input, plan.window[1])
    return found is not None and not found[0].window.event_time


_NEEDS_INSERTS = (
    n.WindowAggregate,
    n.RowWindowAggregate,
    n.WindowTable,
    n.FromChangelog,
    n.Deduplicate,
    IntervalJoin,
    WindowJoin,
    Match,
    MLPredictTableFunction,
    VectorSearchTableFunction,
)


def _check_inserts(plan: n.Node) -> None:
    """Operators on time want input that does not change."""
    for child in plan.inputs:
        if not is_append_only(child):
            raise _refused(
                plan,
                f"StreamPhysical{type(plan).__name__} doesn't support consuming update and delete "
                f"changes which is produced by node {type(child).__name__}",
            )


def _check_process(plan: ProcessTable) -> None:
    for relation, table in zip(plan.relations, plan.tables, strict=False):
        _check_process_table(plan, relation, table)
    if plan.has_time and not plan.function.inserts_only:
        raise _refused(plan, _TIME_AND_UPDATES)


def _check_process_table(plan: ProcessTable, relation: n.Node, table: GivenTable) -> None:
    argument = table.argument
    if not is_append_only(relation):
        if ArgumentTrait.SUPPORT_UPDATES not in argument.traits:
            raise _refused(
                plan,
                "StreamPhysicalProcessTableFunction doesn't support consuming update changes which "
                f"is produced by node {type(relation).__name__}: table argument '{argument.name}' "
                "is declared without SUPPORT_UPDATES",
            )
        if plan.has_time:
            raise _refused(plan, _TIME_AND_UPDATES)
    advice = "Also, make sure that the watermarked column is forwarded without any modification."
    if table.time is not None and not _is_rowtime(relation, table.time):
        raise _refused(
            plan,
            f"Column '{table.names[table.time]}' is not a valid time attribute. Only "
            f"columns with a watermark declaration qualify for the `on_time` argument. {advice}",
        )
    if table.order and not _is_rowtime(relation, table.order[0].index):
        raise _refused(
            plan,
            f"Invalid ORDER BY clause for table argument '{argument.name}'. The first ORDER BY "
            f"column '{table.names[table.order[0].index]}' is not a valid time attribute. "
            f"Only columns with a watermark declaration qualify for ORDER BY. {advice}",
        )


_TIME_AND_UPDATES = (
    "Time operations using the `on_time` argument are currently not supported for PTFs that "
    "consume or produce updates."
)


def _is_rowtime(node: n.Node, column: int) -> bool:
    return time_of(node, column) is TimeAttribute.ROWTIME


def _check_window(plan: n.WindowTable | n.WindowAggregate) -> None:
    if _is_lost(plan.input, plan.window.time):
        type_ = plan.input.schema[plan.window.time].type.sql_text()
        raise _refused(
            plan,
            f"The window function requires the timecol is a time attribute type, but is {type_}: "
            "behind a join that does not bound the time of both sides it is no longer one",
        )


def _is_lost(node: n.Node, column: int) -> bool:
    """Whether a column was a time attribute before a join."""
    return node.schema[column].time is not None and time_of(node, column) is None


def _check_over(plan: n.OverAggregate) -> None:
    if not plan.any_order:
        _check_inserts(plan)
    elif plan.start is not None:
        raise _refused(
            plan,
            "OVER windows' ordering in stream mode must be defined on a time attribute in "
            "ascending order where the frame does not begin with UNBOUNDED PRECEDING",
        )


def _by_time(plan: n.Sort, keys: tuple[SortKey, ...]) -> bool:
    return all(time_of(plan.input, k.index) is not None and not k.descending for k in keys)


def _refused(plan: n.Node, message: str) -> SqlError:
    if plan.origin is None:
        return TableException(message)
    return plan.origin.error(message, TableException)
