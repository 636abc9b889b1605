"""What a temporal join needs: a time on the left, keys, and versions on the right."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import TemporalJoin
from headrace.sql.plan.text import plan_text
from headrace.sql.plan.time_attributes import time_of
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["check_no_temporal", "check_temporal"]


def check_temporal(join: TemporalJoin) -> None:
    """Refuses a join for which no version can be found, with Flink's reasons."""
    if time_of(join.left, join.as_of) is None:
        raise _refused(
            join,
            "Temporal Table Join requires time attribute in the left table, but no time attribute "
            "found: behind a regular join or an aggregate a column is no longer one",
        )
    if not join.right_keys:
        raise _refused(
            join,
            "Currently the join key in Temporal Table Join can not be empty: compare the primary "
            "key of the right table with = in ON",
        )
    _check_primary_key(join)
    if not join.event_time:
        if join.versions is not None:
            return
        raise _refused(
            join,
            "Processing-time temporal join is not supported yet: only a table that can be looked "
            "up is joined as of processing time; use a temporal table function, or a regular join",
        )
    _check_version_time(join)


def check_no_temporal(plan: n.Node) -> None:
    """Refuses temporal joins where the input ends, and of which nothing but the end is known."""
    for child in plan.inputs:
        check_no_temporal(child)
    if isinstance(plan, TemporalJoin):
        raise _refused(
            plan,
            "Temporal joins of versioned tables are not supported in batch mode: a table that can "
            "be looked up is joined as of processing time",
        )


def _check_primary_key(join: TemporalJoin) -> None:
    declared = join.versions
    keys = upsert_keys(join.right) if declared is None else {frozenset(declared.key)}
    if any(key <= set(join.right_keys) for key in keys):
        return
    if not keys:
        raise _refused(
            join,
            "Temporal Table Join requires primary key in versioned table, but no primary key can "
            f"be found. The physical plan is:\n{plan_text(join)}\n",
        )
    names = join.right.schema.names
    key = ", ".join(names[i] for i in sorted(min(keys, key=sorted)))
    pairs = zip(join.left_keys, join.right_keys, strict=True)
    condition = " AND ".join(f"{join.left.schema.names[a]}={names[b]}" for a, b in pairs)
    raise _refused(
        join,
        f"Temporal table's primary key [{key}] must be included in the equivalence condition of "
        f"temporal join, but current temporal join condition is [{condition}].",
    )


def _check_version_time(join: TemporalJoin) -> None:
    column = join.version_time
    if column is None or time_of(join.right, column) is None:
        raise _refused(
            join,
            "Event-Time Temporal Table Join requires both primary key and row time attribute in "
            "versioned table, but no row time attribute can be found.",
        )
    left, right = join.left.schema[join.as_of].type, join.right.schema[column].type
    if left.nullable() != right.nullable():
        raise _refused(
            join,
            "Event-Time Temporal Table Join requires same rowtime type in left table and versioned "
            f"table, but the rowtime types are {left.sql_text()} *ROWTIME* and "
            f"{right.sql_text()} *ROWTIME*.",
        )


def _refused(join: TemporalJoin, message: str) -> SqlError:
    return SqlError(message) if join.origin is None else join.origin.error(message)
