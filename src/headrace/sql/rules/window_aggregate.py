"""GROUP BY window_start, window_end becomes a window aggregate, which needs no updates."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.parser.excerpts import Excerpt
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import AggregateCall, Expression, Field, Schema, columns_used
from headrace.sql.rules.merge_projections import substitute
from headrace.sql.rules.window_columns import Windowed, window_column


def window_aggregate(node: n.Node) -> n.Node:
    """Aggregates over windows, directly on rows where that is possible."""
    if not isinstance(node, n.Aggregate):
        return node
    found = {g: window_column(node.input, g) for g in node.group}
    sources = {id(f[0]): f[0] for f in found.values() if f is not None}
    if len(sources) != 1:
        return node
    (source,) = sources.values()
    names = {f[1]: g for g, f in found.items() if f is not None}
    if not {"start", "end"} <= names.keys():
        return node
    keys = tuple(g for g in node.group if found[g] is None)
    if isinstance(source, n.WindowTable):
        sliced = _sliced(node, source, keys, names)
        if sliced is not None:
            return sliced
        if source.window.kind == "SESSION":
            # Rows of other groups belong to the same session, so they get it before.
            return node
    return _attached(node, source, keys, names)


def _sliced(
    node: n.Aggregate, source: n.WindowTable, keys: tuple[int, ...], names: dict[str, int]
) -> n.Node | None:
    """The aggregate on the rows below the window function; None if they depend on windows."""
    expand = node.input if isinstance(node.input, n.Expand) else None
    lifted = _lifted(node.input if expand is None else expand.input, source)
    if lifted is None:
        return None
    expressions, conditions = lifted
    width = len(source.input.schema)
    # The number of a grouping set is made anew below.
    number = None if expand is None else len(expand.schema) - 1
    wanted = (*keys, *(i for c in node.calls for i in _call_columns(c)))
    used = [i for i in dict.fromkeys(wanted) if i != number]
    below_window = [*(expressions[i] for i in used), *conditions]
    if any(max(columns_used(e), default=-1) >= width for e in below_window):
        return None
    if source.window.kind == "SESSION":
        grouped = {getattr(expressions[k], "index", None) for k in keys if k != number}
        if expand is not None or set(source.window.partition) != grouped:
            return None
    below: n.Node = source.input
    for condition in conditions:
        below = n.Filter.of(below, condition)
    columns = [expressions[i] for i in used]
    columns.append(source.input.schema.column(source.window.time))
    labels = [node.input.schema[i].name for i in used] + [columns[-1].name]  # type: ignore[attr-defined]
    projected: n.Node = n.Project.of(below, columns, labels)
    place = {old: new for new, old in enumerate(used)}
    if expand is not None and number is not None:
        projected = _expanded(expand, projected, place)
        place[number] = len(columns)
    calls = tuple(
        replace(
            c,
            args=tuple(place[a] for a in c.args),
            filter=None if c.filter is None else place[c.filter],
        )
        for c in node.calls
    )
    window = replace(source.window, time=len(used))
    group = tuple(place[k] for k in keys)
    return _finished(node, projected, window, group, calls, keys, names, False, source.origin)


def _expanded(expand: n.Expand, projected: n.Node, place: dict[int, int]) -> n.Node:
    """Grouping sets below the window function: the time stands for the window's own columns.

    It is in every set as they are, so that numbers of sets stay what they were.
    """
    time = len(projected.schema) - 1
    fields = [expand.schema[old] for old in place]
    schema = Schema((*fields, projected.schema[time], expand.schema[len(expand.schema) - 1]))
    sets = tuple(frozenset(place.get(i, time) for i in s) for s in expand.sets)
    return n.Expand(schema, projected, tuple(place.get(i, time) for i in expand.group), sets)


def _call_columns(call: AggregateCall) -> list[int]:
    extra = [] if call.filter is None else [call.filter]
    return [*call.args, *extra]


def _lifted(node: n.Node, source: n.Node) -> tuple[tuple[Expression, ...], list[Expression]] | None:
    """Columns and conditions above the window function, as expressions over its own columns."""
    if node is source:
        return source.schema.columns(), []
    if isinstance(node, n.Project):
        inner = _lifted(node.input, source)
        if inner is None:
            return None
        return tuple(substitute(e, inner[0]) for e in node.expressions), inner[1]
    if isinstance(node, n.Filter):
        inner = _lifted(node.input, source)
        if inner is None:
            return None
        return inner[0], [*inner[1], substitute(node.condition, inner[0])]
    return None


def _attached(
    node: n.Aggregate, source: Windowed, keys: tuple[int, ...], names: dict[str, int]
) -> n.Node:
    """The aggregate on rows that know their window; its start is a key like others."""
    window = source.window.attached(names["end"])
    keys = (*keys, names["start"])
    names = {p: g for p, g in names.items() if p != "start"}
    return _finished(node, node.input, window, keys, node.calls, keys, names, True, source.origin)


def _finished(
    node: n.Aggregate,
    input_: n.Node,
    window: n.Window,
    group: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
    keys: tuple[int, ...],
    names: dict[str, int],
    attached: bool,
    origin: Excerpt | None,
) -> n.Node:
    properties = tuple(p for p in ("start", "end", "time") if p in names)
    by_position = {g: node.schema[i] for i, g in enumerate(node.group)}
    fields = [by_position[k] for k in keys]
    fields += [node.schema[len(node.group) + i] for i in range(len(calls))]
    for p in properties:
        f = by_position[names[p]]
        fields.append(Field(f.name, f.type, f.time))
    aggregate = n.WindowAggregate(
        Schema(tuple(fields)),
        input_,
        window,
        group,
        calls,
        properties,
        attached,
        origin=origin,
    )
    places = {k: i for i, k in enumerate(keys)}
    start = len(keys) + len(calls)
    places |= {names[p]: start + i for i, p in enumerate(properties)}
    order = [places[g] for g in node.group]
    order += [len(keys) + i for i in range(len(calls))]
    columns = aggregate.schema.columns()
    return n.Project(node.schema, aggregate, tuple(columns[i] for i in order))
