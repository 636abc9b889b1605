"""Plans as text, for EXPLAIN and golden files."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.physical.nodes import PhysicalNode, SparkSegment
from headrace.sql.plan import nodes as n
from headrace.sql.plan.batch_tables import MLPredictTableFunction, VectorSearchTableFunction
from headrace.sql.plan.changelog import changelog_mode
from headrace.sql.plan.estimates import estimated_rows
from headrace.sql.plan.expressions import AggregateCall, SortKey, expression_text
from headrace.sql.plan.joins import (
    IntervalJoin,
    Join,
    MultiJoin,
    TemporalJoin,
    WindowJoin,
)
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.plan.match import Match
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["plan_text"]

_MOST_ROWS = 5


def plan_text(
    *plans: n.Node, modes: bool = False, batch: bool = False, estimates: bool = False
) -> str:
    """Trees of nodes, inputs below those who read them; what several read is shown once.

    Args:
        plans: The plans of one job.
        modes: Whether to show which changes each node emits.
        batch: Whether the plans run in batch mode, where nothing changes.
        estimates: Whether to show how many rows each node has, where that is known.
    """
    lines: list[str] = []
    several = _read_by_several(plans)
    shown: dict[n.Node, int] = {}

    in_python: dict[n.Node, tuple[str, ...]] = {}

    def add(node: n.Node, prefix: str, tail: str, place: str) -> None:
        if node in shown:
            lines.append(f"{prefix}Reused(reference_id=[{shown[node]}])")
            return
        mark = ""
        if node in several:
            shown[node] = len(shown) + 1
            mark = f"(reuse_id=[{shown[node]}])"
        if isinstance(node, SparkSegment):
            place = "  [Spark's JVM]" if node.segment.reading is None else "  [Arrow]"
            in_python.update(node.segment.in_python)
        shown_place = "  [Python in Spark]" if node in in_python else place
        rows = estimated_rows(node) if estimates else None
        count = "" if rows is None else f": rowcount = {rows}"
        described = _described(node, modes, batch, in_python.get(node, ()))
        lines.append(prefix + described + mark + count + shown_place)
        below = _below(node)
        for number, child in enumerate(below):
            last = number == len(below) - 1
            add(child, tail + ("+- " if last else ":- "), tail + ("   " if last else ":  "), place)

    for plan in plans:
        add(plan, "", "", "")
    return "\n".join(lines)


def _read_by_several(plans: Sequence[n.Node]) -> set[n.Node]:
    seen: set[n.Node] = set()
    several: set[n.Node] = set()
    todo = list(plans)
    while todo:
        for child in todo.pop().inputs:
            if child in seen:
                several.add(child)
            else:
                seen.add(child)
                todo.append(child)
    return several


def _below(node: n.Node) -> Sequence[n.Node]:
    """What a node reads; below a segment, what Spark's JVM or Arrow does in its place."""
    return node.segment.nodes[-1:] if isinstance(node, SparkSegment) else node.inputs


def _described(node: n.Node, modes: bool, batch: bool, in_python: Sequence[str]) -> str:
    parts = node.texts() if isinstance(node, PhysicalNode | ProcessTable) else _parts(node)
    if in_python:
        parts.append(f"python=[{', '.join(in_python)}]")
    if node.every_change:
        parts.append("emit=[every change]")
    if modes:
        parts.append(f"changelogMode=[{'I' if batch else changelog_mode(node)}]")
    title = node.title() if isinstance(node, PhysicalNode) else type(node).__name__
    return f"{title}({', '.join(parts)})"


def _names(names: Sequence[str], indices: Sequence[int]) -> str:
    return ", ".join(names[i] for i in indices)


def _calls(calls: Sequence[AggregateCall], names: Sequence[str]) -> str:
    return ", ".join(f"{c.text(names)} AS {c.name}" for c in calls)


def _order(keys: Sequence[SortKey], names: Sequence[str]) -> str:
    return ", ".join(f"{names[k.index]} {'DESC' if k.descending else 'ASC'}" for k in keys)


def _rising(key: Sequence[int] | None, names: Sequence[str]) -> list[str]:
    return [] if key is None else [f"rising=[{_names(names, key)}]"]


def _parts(node: n.Node) -> list[str]:
    names = node.inputs[0].schema.names if node.inputs else []
    if isinstance(node, n.Scan):
        parts = [f"table=[{'.'.join(node.table)}]", f"fields=[{', '.join(node.schema.names)}]"]
        if node.watermark is not None:
            parts.append(f"watermark=[{expression_text(node.watermark, node.schema.names)}]")
        return [*parts, *node.source.describe()]
    if isinstance(node, n.Values):
        rows = ", ".join(str(r) for r in node.rows[:_MOST_ROWS])
        more = ", ..." if len(node.rows) > _MOST_ROWS else ""
        return [f"rows=[{rows}{more}]", f"fields=[{', '.join(node.schema.names)}]"]
    if isinstance(node, n.Project):
        shown = []
        for e, f in zip(node.expressions, node.schema, strict=True):
            text = expression_text(e, names)
            shown.append(text if text == f.name else f"{text} AS {f.name}")
        return [f"select=[{', '.join(shown)}]"]
    if isinstance(node, n.Filter):
        return [f"where=[{expression_text(node.condition, names)}]"]
    if isinstance(node, n.WatermarkAssigner):
        mark = "source" if node.watermark is None else expression_text(node.watermark, names)
        return [f"rowtime=[{node.schema[node.column].name}]", f"watermark=[{mark}]"]
    if isinstance(node, n.Aggregate):
        parts = [f"groupBy=[{_names(names, node.group)}]"] if node.group else []
        return [*parts, f"select=[{_calls(node.calls, names)}]"]
    if isinstance(node, n.WindowTable):
        return [f"window=[{node.window.text(names)}]"]
    if isinstance(node, n.WindowAggregate):
        parts = [f"groupBy=[{_names(names, node.group)}]"] if node.group else []
        attached = ", attached" if node.attached else ""
        parts.append(f"window=[{node.window.text(names)}{attached}]")
        return [*parts, f"select=[{_calls(node.calls, names)}]"]
    if isinstance(node, n.RowWindowAggregate):
        parts = [f"groupBy=[{_names(names, node.group)}]"] if node.group else []
        window = f"window=[ROWS(size=[{node.size}], slide=[{node.slide}])]"
        return [*parts, window, f"select=[{_calls(node.calls, names)}]"]
    if isinstance(node, n.BatchedCalls):
        return [f"select=[*, {', '.join(expression_text(c, names) for c in node.calls)}]"]
    return _ordered_parts(node, names)


def _join_parts(node: Join) -> list[str]:
    names = node.pair_names
    left, right = names[: len(node.left.schema)], names[len(node.left.schema) :]
    on = [
        f"({left[a]} {'IS NOT DISTINCT FROM' if null_safe else '='} {right[b]})"
        for a, b, null_safe in zip(node.left_keys, node.right_keys, node.null_safe, strict=True)
    ]
    if node.condition is not None:
        on.append(expression_text(node.condition, names))
    where = " AND ".join(on) or "true"
    return [f"joinType=[{node.kind.value}]", *_times(node), f"where=[{where}]", *_state(node)]


def _multi_join_parts(node: MultiJoin) -> list[str]:
    names = node.schema.names
    conditions = ["true" if c is None else expression_text(c, names) for c in node.conditions]
    parts = [
        f"commonJoinKey=[{_names(names, node.keys[0])}]",
        f"joinTypes=[{', '.join(k.name for k in node.kinds)}]",
        f"joinConditions=[{', '.join(conditions)}]",
    ]
    if any(node.ttls_ms):
        kept = (n.duration_text(ttl) if ttl else "none" for ttl in node.ttls_ms)
        parts.append(f"stateTtls=[{', '.join(kept)}]")
    return parts


def _state(node: Join) -> list[str]:
    """What is known of the rows that a join keeps, for how long it does, and what hints say."""
    parts: list[str] = []
    for side, known in zip(("left", "right"), node.unique_keys or (), strict=False):
        parts.append(f"{side}InputSpec=[{known.value}]")
    for side, ttl_ms in zip(("left", "right"), node.ttls_ms, strict=True):
        if ttl_ms:
            parts.append(f"{side}StateTtl=[{n.duration_text(ttl_ms)}]")
    if node.strategies:
        parts.append(f"joinHints=[{', '.join(map(str, node.strategies))}]")
    return parts


def _times(node: Join) -> list[str]:
    if isinstance(node, TemporalJoin):
        return [f"asOf=[{node.schema.names[node.as_of]}]"]
    if isinstance(node, WindowJoin):
        windows = zip(("left", "right"), node.windows, node.inputs, strict=True)
        return [f"{side}Window=[{w.text(below.schema.names)}]" for side, w, below in windows]
    if not isinstance(node, IntervalJoin):
        return []
    b = node.bounds
    return [
        f"windowBounds=[isRowTime={str(b.event_time).lower()}, leftLowerBound={b.lower_ms}, "
        f"leftUpperBound={b.upper_ms}, leftTimeIndex={b.left_time}, rightTimeIndex={b.right_time}]"
    ]


def _frame_end(end: int | None) -> str:
    if end == 0:
        return ""
    return f" AND {'UNBOUNDED' if end is None else end} FOLLOWING"


def _ordered_parts(node: n.Node, names: Sequence[str]) -> list[str]:
    if isinstance(node, n.OverAggregate):
        frame = "ROWS" if node.rows else "RANGE"
        start = "UNBOUNDED" if node.start is None else str(node.start)
        return [
            f"partitionBy=[{_names(names, node.partition)}]",
            f"orderBy=[{_order(node.order, names)}]",
            f"frame=[{frame} {start} PRECEDING{_frame_end(node.end)}]",
            f"select=[{_calls(node.calls, names)}]",
            *(["anyOrder"] if node.any_order else []),
        ]
    if isinstance(node, Match):
        return [
            f"partitionBy=[{_names(names, node.partition)}]",
            f"orderBy=[{_order(node.order, names)}]",
            *node.texts(names),
        ]
    if isinstance(node, n.Rank):
        window = [] if node.window is None else [f"window=[{_names(names, node.window)}]"]
        return [
            *window,
            f"rankType=[{node.function}]",
            f"rankRange=[{node.start}, {node.end}]",
            f"partitionBy=[{_names(names, node.partition)}]",
            f"orderBy=[{_order(node.order, names)}]",
            f"select=[{', '.join(node.schema.names)}]",
            *_rising(node.rising, names),
        ]
    if isinstance(node, n.Deduplicate):
        keep = "LastRow" if node.last else "FirstRow"
        time = "ROWTIME" if node.event_time else "PROCTIME"
        return [f"keep=[{keep}]", f"key=[{_names(names, node.keys)}]", f"order=[{time}]"]
    if isinstance(node, n.ChangelogNormalize):
        return [f"key=[{_names(names, node.keys)}]"]
    if isinstance(node, n.ToChangelog):
        return [f"codes=[{', '.join(c for c in node.codes if c is not None)}]"]
    if isinstance(node, n.FromChangelog):
        codes = ", ".join(code for code, _ in node.kinds)
        return [f"op=[{names[node.op]}]", f"codes=[{codes}]"]
    if isinstance(node, n.Sort):
        return [f"orderBy=[{_order(node.keys, names)}]"]
    if isinstance(node, n.Limit):
        parts = [f"orderBy=[{_order(node.keys, names)}]"] if node.keys else []
        parts += [f"offset=[{node.offset}]", f"fetch=[{node.fetch}]"]
        return [*parts, *_rising(node.rising, names)]
    if isinstance(node, n.SetOperation):
        return [f"kind=[{node.kind}{' ALL' if node.all else ''}]"]
    if isinstance(node, LookupJoin):
        return node.texts()
    if isinstance(node, Join):
        return _join_parts(node)
    if isinstance(node, MultiJoin):
        return _multi_join_parts(node)
    if isinstance(node, n.Expand):
        sets = ", ".join("{" + _names(names, sorted(s)) + "}" for s in node.sets)
        return [f"sets=[{sets}]"]
    if isinstance(node, MLPredictTableFunction | VectorSearchTableFunction):
        return node.texts(names)
    if isinstance(node, n.Correlate):
        arguments = ", ".join(expression_text(a, names) for a in node.arguments)
        join = "LEFT" if node.outer else "INNER"
        return [f"invocation=[{node.function.name}({arguments})]", f"joinType=[{join}]"]
    if isinstance(node, n.Sink):
        return [f"table=[{'.'.join(node.table)}]", f"fields=[{', '.join(node.schema.names)}]"]
    return [f"fields=[{', '.join(node.schema.names)}]"]
