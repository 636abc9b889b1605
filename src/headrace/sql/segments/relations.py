"""Nodes of a plan as queries of Spark's SQL, where the input ends.

A query refers to those of its inputs by their names. Columns of each are `c0`, `c1` and so on, and
hold internal values, as in `expressions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.datastream.connectors.spark_query import ArrowRows, Part
from headrace.sql.codegen.calc import literal_of
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    Call,
    Expression,
    Literal,
    Schema,
    SortKey,
    columns_used,
    is_deterministic,
    rewrite,
)
from headrace.sql.plan.joins import IntervalJoin, Join, JoinKind, WindowJoin
from headrace.sql.segments.columns import arrow_stream
from headrace.sql.segments.decimal_sums import with_unscaled
from headrace.sql.segments.expressions import (
    UnsupportedBySparkError,
    column_name,
    compared_text,
    spark_text,
    storage,
)
from headrace.sql.segments.python_nodes import PythonNodes
from headrace.sql.segments.source_scans import source_scan
from headrace.sql.segments.whole_aggregates import aggregate_text, check_keys, over_text
from headrace.sql.segments.windows import WINDOW_TEXTS, check_clock, rows_in_windows
from headrace.sql.types.type_rules import is_timestamp

__all__ = ["RelationWriter", "joined_rows"]

_DEEPEST = 100
_FEW_ROWS = 100
"""That many may be part of a text."""
_MOST_ROWS = (1 << 31) - 1
_JOINS = {
    JoinKind.INNER: "INNER",
    JoinKind.LEFT: "LEFT OUTER",
    JoinKind.RIGHT: "RIGHT OUTER",
    JoinKind.FULL: "FULL OUTER",
    JoinKind.SEMI: "LEFT SEMI",
    JoinKind.ANTI: "LEFT ANTI",
}
_HINTS = {
    "BROADCAST": "BROADCAST",
    "NEST_LOOP": "BROADCAST",
    "SHUFFLE_HASH": "SHUFFLE_HASH",
    "SHUFFLE_MERGE": "MERGE",
}
"""Flink's hints on joins as Spark's."""


class RelationWriter:
    """Writes queries for nodes, one by one."""

    def __init__(self, settings: PlanSettings) -> None:
        self._zone = settings.zone
        self._settings = settings
        self._python = PythonNodes(settings)

    def write(self, node: n.Node, inputs: Sequence[str], needed: Sequence[int] = ()) -> Part:
        """The query of a node, or the table it reads.

        Args:
            node: The node.
            inputs: The names of its inputs' queries.
            needed: Those of its columns that others look at.

        Raises:
            UnsupportedBySparkError: Spark has nothing that means the same.
        """
        if isinstance(node, n.Scan):
            return self._scan(node, needed)
        write = _WRITERS.get(type(node))
        if write is None:
            raise UnsupportedBySparkError(type(node).__name__)
        self._python.needed = frozenset(needed)
        return write(self, node, *inputs)

    def _scan(self, node: n.Scan, needed: Sequence[int]) -> Part:
        """Columns of types that Spark does not have are NULL: whatever reads them is not written.

        What Spark reads itself has all columns, since it leaves out what nobody needs.
        """
        source = node.source
        if node.watermark is not None:
            raise UnsupportedBySparkError("a table that makes watermarks")
        columns = [i for i, f in enumerate(node.schema) if _is_stored(f.type)]
        scan = getattr(source, "spark_scan", _no_scan)(columns)
        scan = scan or getattr(source, "spark_table", _no_scan)(columns)
        if scan is None:
            chosen = [i for i in needed if i in columns] or columns[:1]
            scan = source_scan(node, chosen, self._settings)
        texts = dict(scan.texts)
        names = [column_name(i) for i in range(len(node.schema))]
        found: Part = replace(scan, texts=tuple((x, texts.get(x, "NULL")) for x in names))
        return found

    def text(self, e: Expression) -> str:
        """An expression, with what has no columns computed here and now."""
        if e.height > _DEEPEST:
            raise UnsupportedBySparkError("an expression that is too deep for Spark's parser")
        return spark_text(rewrite(e, self._folded))

    def _folded(self, e: Expression) -> Expression | None:
        if not isinstance(e, Call) or columns_used(e) or not is_deterministic(e):
            return None
        return literal_of(e, self._zone)

    def project(self, node: n.Project, below: str) -> Part:
        texts = [self._text_or_none(e) for e in node.expressions]
        if None not in texts:
            return _select([text for text in texts if text is not None], below)
        return self._python.project(node, below, texts)

    def _text_or_none(self, e: Expression) -> str | None:
        """None for what headrace itself can compute inside of Spark."""
        try:
            return self.text(e)
        except UnsupportedBySparkError:
            if not is_deterministic(e):
                raise
            return None

    def batched_calls(self, node: n.BatchedCalls, below: str) -> Part:
        texts = [self._text_or_none(call) for call in node.calls]
        if None in texts:
            return self._python.batched_calls(node, below, self._text_or_none)
        columns = map(column_name, range(len(node.input.schema)))
        return _select([*columns, *(text for text in texts if text is not None)], below)

    def correlate(self, node: n.Correlate, below: str) -> Part:
        return self._python.correlate(node, below)

    def filter(self, node: n.Filter, below: str) -> str:
        return f"{_all(node, below)} WHERE {self.text(node.condition)}"

    def values(self, node: n.Values) -> Part:
        if not node.schema or not node.rows:
            raise UnsupportedBySparkError("rows without columns, or no rows")
        if len(node.rows) > _FEW_ROWS:
            names = list(map(column_name, range(len(node.schema))))
            return ArrowRows(arrow_stream(node.rows, node.schema.types, names), len(node.rows))
        rows = [
            "(" + ", ".join(map(spark_text, map(Literal, node.schema.types, row))) + ")"
            for row in node.rows
        ]
        return f"SELECT * FROM VALUES {', '.join(rows)} AS t({_names(node.schema)})"

    def aggregate(self, node: n.Aggregate, below: str) -> str:
        check_keys(*(node.input.schema[i].type for i in node.group))
        keys = [column_name(i) for i in node.group]
        if not keys and not node.calls:
            # One row without columns, whatever there is below.
            return f"SELECT count(1) AS nothing FROM {below}"
        rows = with_unscaled(below, node.calls)
        text = _select([*keys, *map(aggregate_text, node.calls)], rows)
        return f"{text} GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else text

    def expand(self, node: n.Expand, below: str) -> str:
        """Each row once for every grouping set: bits that are set say what is not in it."""
        numbers = node.numbers
        columns = []
        for index in range(len(node.input.schema)):
            name = column_name(index)
            if index in node.group:
                inside = [x for x, s in zip(numbers, node.sets, strict=True) if index in s]
                listed = ", ".join(map(str, inside)) or "NULL"
                name = f"CASE WHEN grouping_set IN ({listed}) THEN {name} END"
            columns.append(name)
        kind = storage(node.schema[-1].type)
        sets = ", ".join(map(str, numbers))
        source = f"{below} LATERAL VIEW explode(array({sets})) AS grouping_set"
        return _select([*columns, f"CAST(grouping_set AS {kind})"], source)

    def join(self, node: Join, left: str, right: str) -> str:
        return joined_rows(node, self.pairs(node, left, right))

    def pairs(self, node: Join, left: str, right: str) -> str:
        """What a join reads: columns of the right side get the numbers that conditions have."""
        width = len(node.left.schema)
        conditions = [
            self._equal(node, width, *key)
            for key in zip(node.left_keys, node.right_keys, node.null_safe, strict=True)
        ]
        if node.condition is not None:
            conditions.append(self.text(node.condition))
        renamed = [
            f"{column_name(i)} AS {column_name(width + i)}" for i in range(len(node.right.schema))
        ]
        other = f"(SELECT {', '.join(renamed) or '1 AS nothing'} FROM {right}) AS r{width}"
        on = " AND ".join(conditions) or "TRUE"
        return f"{left} {_JOINS[node.kind]} JOIN {other} ON {on}"

    def _equal(self, node: Join, width: int, left: int, right: int, null_safe: bool) -> str:
        a, b = node.left.schema.column(left), node.right.schema.column(right)
        check_keys(a.type, b.type)
        text = compared_text("EQUALS", a, replace(b, index=width + right))
        if null_safe:
            names = column_name(left), column_name(width + right)
            return f"({text} OR ({names[0]} IS NULL AND {names[1]} IS NULL))"
        return text

    def sort(self, node: n.Sort, below: str) -> str:
        return f"{_all(node, below)} {_order(node, node.keys)}"

    def limit(self, node: n.Limit, below: str) -> str:
        if node.offset + (node.fetch or 0) > _MOST_ROWS:
            raise UnsupportedBySparkError("a LIMIT that is not an INT")
        order = f" {_order(node, node.keys)}" if node.keys else ""
        fetch = "" if node.fetch is None else f" LIMIT {node.fetch}"
        offset = f" OFFSET {node.offset}" if node.offset else ""
        return f"{_all(node, below)}{order}{fetch}{offset}"

    def union(self, node: n.Union, *inputs: str) -> str:
        _check_alike(node)
        return " UNION ALL ".join(_all(node, name) for name in inputs)

    def set_operation(self, node: n.SetOperation, left: str, right: str) -> str:
        _check_alike(node)
        check_keys(*node.schema.types)
        word = f"{node.kind} ALL" if node.all else node.kind
        return f"({_all(node, left)}) {word} ({_all(node, right)})"

    def rank(self, node: n.Rank, below: str) -> str:
        check_keys(*(node.schema[i].type for i in node.partition))
        over = f"OVER ({_partition(node.partition)} {_order(node, node.order)})"
        columns = _names(node.input.schema)
        numbered = f"SELECT {columns}, {node.function.lower()}() {over} AS place FROM {below}"
        chosen = [column_name(i) for i in range(len(node.input.schema))]
        if node.numbered:
            chosen.append(f"CAST(place AS {storage(node.schema[-1].type)})")
        where = f"WHERE place BETWEEN {node.start} AND {node.end}"
        return f"{_select(chosen, f'({numbered})')} {where}"

    def deduplicate(self, node: n.Deduplicate, below: str) -> str:
        if not node.event_time:
            raise UnsupportedBySparkError("the order in which rows come")
        key = SortKey(node.order, descending=node.last, nulls_first=not node.last)
        return self.rank(
            n.Rank(node.schema, node.input, node.keys, (key,), 1, 1, numbered=False), below
        )

    def over(self, node: n.OverAggregate, below: str) -> str:
        check_keys(*(node.schema[i].type for i in node.partition))
        partition, order = _partition(node.partition), _order(node, node.order)
        frame = _frame(node)
        columns = [column_name(i) for i in range(len(node.input.schema))]
        columns += [over_text(call, partition, order, frame) for call in node.calls]
        return _select(columns, below)

    def window_table(self, node: n.WindowTable, below: str) -> str:
        names, keys = _names(node.input.schema), node.window.partition
        check_keys(*(node.input.schema[i].type for i in keys))
        rows = rows_in_windows(node.window, names, below, self._zone, keys)
        columns = [column_name(i) for i in range(len(node.input.schema))]
        return _select([*columns, *WINDOW_TEXTS.values()], f"({rows})")

    def window_aggregate(self, node: n.WindowAggregate, below: str) -> str:
        check_keys(*(node.input.schema[i].type for i in node.group))
        if node.attached:
            return self._attached_aggregate(node, below)
        names = _names(node.input.schema)
        rows = rows_in_windows(node.window, names, below, self._zone, node.group)
        rows = with_unscaled(f"({rows})", node.calls)
        keys = [column_name(i) for i in node.group]
        properties = [WINDOW_TEXTS[name] for name in node.properties]
        text = _select([*keys, *map(aggregate_text, node.calls), *properties], rows)
        return f"{text} GROUP BY {', '.join([*keys, 'window_from', 'window_to'])}"

    def _attached_aggregate(self, node: n.WindowAggregate, below: str) -> str:
        """Groups of windows that rows have already: their starts are one of the keys."""
        check_clock(node.window, self._zone)
        if node.input.schema[node.window.time].type.is_nullable:
            raise UnsupportedBySparkError("rows that may have no window")
        end = column_name(node.window.time)
        keys = [column_name(i) for i in node.group]
        texts = {"end": end, "time": f"({end} - 1000L)"}
        calls = map(aggregate_text, node.calls)
        columns = [*keys, *calls, *(texts[name] for name in node.properties)]
        rows = with_unscaled(below, node.calls)
        return f"{_select(columns, rows)} GROUP BY {', '.join(dict.fromkeys([*keys, end]))}"


def joined_rows(node: Join, pairs: str) -> str:
    """The query of a join, with its hints."""
    width = len(node.left.schema)
    left = pairs.partition(" ")[0]
    hints = ", ".join(
        f"{_HINTS[hint.name]}({left if hint.left else f'r{width}'})"
        for hint in node.strategies
        if hint.name in _HINTS
    )
    return f"SELECT {f'/*+ {hints} */ ' if hints else ''}{_names(node.schema)} FROM {pairs}"


_WRITERS: dict[type[n.Node], Callable[..., Part]] = {
    n.Values: RelationWriter.values,
    n.Project: RelationWriter.project,
    n.Filter: RelationWriter.filter,
    n.BatchedCalls: RelationWriter.batched_calls,
    n.Correlate: RelationWriter.correlate,
    n.Aggregate: RelationWriter.aggregate,
    n.Expand: RelationWriter.expand,
    Join: RelationWriter.join,
    IntervalJoin: RelationWriter.join,
    WindowJoin: RelationWriter.join,
    n.Sort: RelationWriter.sort,
    n.Limit: RelationWriter.limit,
    n.Union: RelationWriter.union,
    n.SetOperation: RelationWriter.set_operation,
    n.Rank: RelationWriter.rank,
    n.Deduplicate: RelationWriter.deduplicate,
    n.OverAggregate: RelationWriter.over,
    n.WindowTable: RelationWriter.window_table,
    n.WindowAggregate: RelationWriter.window_aggregate,
}


def _no_scan(columns: Sequence[int]) -> None:
    return None


def _is_stored(type_: Any) -> bool:
    try:
        storage(type_)
    except UnsupportedBySparkError:
        return False
    return True


def _names(schema: Schema) -> str:
    return ", ".join(map(column_name, range(len(schema)))) or "1 AS nothing"


def _select(texts: Sequence[str], rows: str) -> str:
    listed = ", ".join(f"{text} AS {column_name(i)}" for i, text in enumerate(texts))
    return f"SELECT {listed or '1 AS nothing'} FROM {rows}"


def _all(node: n.Node, rows: str) -> str:
    return f"SELECT {_names(node.schema)} FROM {rows}"


def _partition(columns: Sequence[int]) -> str:
    return f"PARTITION BY {', '.join(map(column_name, columns))}" if columns else ""


def _order(node: n.Node, keys: Sequence[SortKey]) -> str:
    if not keys:
        return ""
    parts = []
    for key in keys:
        storage(node.schema[key.index].type)
        direction = "DESC" if key.descending else "ASC"
        nulls = "FIRST" if key.nulls_first else "LAST"
        parts.append(f"{column_name(key.index)} {direction} NULLS {nulls}")
    return f"ORDER BY {', '.join(parts)}"


def _frame(node: n.OverAggregate) -> str:
    """Rows, or all whose time is near enough; without an order all rows of a partition."""
    if not node.order and not node.rows:
        return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    if not node.rows and (node.start or node.end):
        kind = node.schema[node.order[0].index].type
        if not is_timestamp(kind):
            # Next to the least number of its type Spark begins a frame at the greatest one.
            raise UnsupportedBySparkError(f"a frame of {kind.sql_text()}")
    unit = 1 if node.rows else 1000
    first = _bound(node.start, unit, "PRECEDING")
    last = _bound(node.end, unit, "FOLLOWING")
    return f"{'ROWS' if node.rows else 'RANGE'} BETWEEN {first} AND {last}"


def _bound(distance: int | None, unit: int, direction: str) -> str:
    if distance is None:
        return f"UNBOUNDED {direction}"
    return "CURRENT ROW" if distance == 0 else f"{distance * unit} {direction}"


def _check_alike(node: n.Node) -> None:
    """Types of columns are the same in all inputs, so that none becomes another."""
    for below in node.inputs:
        if list(map(storage, below.schema.types)) != list(map(storage, node.schema.types)):
            raise UnsupportedBySparkError("columns of different types")
