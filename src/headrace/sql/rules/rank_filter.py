"""ROW_NUMBER() with a filter on it becomes Top-N or deduplication."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Field,
    Literal,
    Schema,
    TimeAttribute,
)
from headrace.sql.plan.time_attributes import time_of
from headrace.sql.rules.window_columns import is_time_of_windows, window_column

_FUNCTIONS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})


def _conjuncts(e: Expression) -> Iterator[Expression]:
    if isinstance(e, Call) and getattr(e.function, "name", "") == "AND":
        for a in e.args:
            yield from _conjuncts(a)
    else:
        yield e


def rank_filter(node: n.Node) -> n.Node:
    """Filters like `rn <= 3` above OVER."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.OverAggregate):
        return node
    over = node.input
    # Where the input ends, numbers need no order: any rows may be the first.
    if not over.order or len(over.calls) != 1 or over.calls[0].function.name not in _FUNCTIONS:
        return node
    rank = len(over.input.schema)
    bounds, rest = [1, None], []
    for condition in _conjuncts(node.condition):
        limit = _limit(condition, rank)
        if limit is None:
            rest.append(condition)
        else:
            low, high = limit
            bounds[0] = max(bounds[0] or 1, low or 1)
            if high is not None:
                bounds[1] = high if bounds[1] is None else min(bounds[1], high)
    start, end = bounds
    if end is None or start is None:
        return node
    result = _ranked(over, start, end)
    if not rest:
        return result
    and_ = next(c for c in _calls(node.condition) if c.function.name == "AND")
    combined = reduce(lambda a, b: Call(and_.type, and_.function, (a, b)), rest)
    return n.Filter.of(result, combined)


def _calls(e: Expression) -> Iterator[Call]:
    if isinstance(e, Call):
        yield e
    for c in e.children:
        yield from _calls(c)


def _limit(e: Expression, rank: int) -> tuple[int | None, int | None] | None:
    """The smallest and largest rank that a condition lets through."""
    if not isinstance(e, Call) or len(e.args) != 2:
        return None
    left, right = e.args
    name = e.function.name
    if isinstance(left, Literal):
        left, right = right, left
        name = {
            "LESS_THAN": "GREATER_THAN",
            "LESS_THAN_OR_EQUAL": "GREATER_THAN_OR_EQUAL",
            "GREATER_THAN": "LESS_THAN",
            "GREATER_THAN_OR_EQUAL": "LESS_THAN_OR_EQUAL",
        }.get(name, name)
    if not isinstance(left, Column) or left.index != rank or not isinstance(right, Literal):
        return None
    value = right.value
    if not isinstance(value, int):
        # Between two numbers, or NULL.
        return None
    return {
        "EQUALS": (value, value),
        "LESS_THAN": (None, value - 1),
        "LESS_THAN_OR_EQUAL": (None, value),
        "GREATER_THAN": (value + 1, None),
        "GREATER_THAN_OR_EQUAL": (value, None),
    }.get(name)


def _ranked(over: n.OverAggregate, start: int, end: int) -> n.Node:
    call = over.calls[0]
    fields = over.input.schema
    (first, *further) = over.order
    time = time_of(over.input, first.index)
    number = Field(call.name, call.type)
    # Of a window the first rows are known by their number alone, not by ranks that rows share.
    window = _window_of(over) if call.function.name == "ROW_NUMBER" else None
    is_first = start == end == 1 and call.function.name == "ROW_NUMBER"
    if is_first and time is not None and not further and window is None:
        event_time = time is TimeAttribute.ROWTIME
        kept = n.Deduplicate(
            fields,
            over.input,
            over.partition,
            first.index,
            first.descending,
            event_time,
            origin=over.origin,
        )
        one = Literal(call.type, 1)
        return n.Project.of(kept, [*fields.columns(), one], [*fields.names, call.name])
    # The last row of a window is of rows of the same time the one that came last.
    last = is_first and window is not None and not further and first.descending
    return n.Rank(
        Schema((*fields, number)),
        over.input,
        over.partition,
        over.order,
        start,
        end,
        True,
        call.function.name,
        window,
        latest=last and is_time_of_windows(over.input, first.index),
        origin=over.origin,
    )


def _window_of(over: n.OverAggregate) -> tuple[int, int] | None:
    """The window's columns among the keys, if the ranking is within windows."""
    found: dict[str, int] = {}
    for key in over.partition:
        column = window_column(over.input, key)
        if column is not None:
            found[column[1]] = key
    return (found["start"], found["end"]) if {"start", "end"} <= found.keys() else None
