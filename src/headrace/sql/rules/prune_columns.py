"""Columns that nobody reads end below the joins and rankings that would keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema, SortKey, columns_used, shifted
from headrace.sql.plan.joins import IntervalJoin, Join, WindowJoin
from headrace.sql.plan.readers import is_random, read_often, readers

__all__ = ["prune_columns"]

Narrowed = tuple[n.Node, list[int]]
"""A node, and which of the columns it had it still has, in their order."""


_KEEPING = (Join, n.Rank, n.Deduplicate)
"""Nodes that keep rows: one that several others read runs once, with what any of them reads.

So does one that is random."""


def prune_columns(plan: n.Node) -> n.Node:
    """A projection says what is read of the nodes below it, up to the next projection."""
    return _Pruning(plan).plan()


class _Pruning:
    """Narrows a plan; a node of `shared` is narrowed when all its readers are known."""

    def __init__(self, plan: n.Node) -> None:
        self._plan = plan
        self._shared = {x for x in read_often([plan]) if isinstance(x, _KEEPING) or is_random(x)}

    def plan(self) -> n.Node:
        """The plan with the columns that are needed."""
        plan = self._rewritten(self._plan, {})
        while self._shared:
            above = readers([plan])
            node = next((x for x in above if x in self._shared), None)
            if node is None:
                break
            self._shared.discard(node)
            plan = self._narrowed_once(plan, node, above[node])
        return plan

    def _rewritten(self, node: n.Node, done: dict[n.Node, n.Node]) -> n.Node:
        """A plan with narrow projections, from the leaves up; shared nodes stay shared."""
        if node not in done:
            inputs = [self._rewritten(i, done) for i in node.inputs]
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            done[node] = self.pruned(node if same else node.with_inputs(inputs))
            if node in self._shared:
                self._shared.add(done[node])
        return done[node]

    def _narrowed_once(self, plan: n.Node, node: n.Node, above: list[n.Node]) -> n.Node:
        """A plan in which a shared node has the columns that its readers need together."""
        projects = [r for r in above if isinstance(r, n.Project)]
        if len(projects) != len(above):
            return plan
        below, kept = self._narrowed(node, _used(e for p in projects for e in p.expressions))
        if below is node:
            return plan
        place = _places(kept)

        def change(reader: n.Node) -> n.Node:
            if not isinstance(reader, n.Project) or reader.input is not node:
                return reader
            return replace(
                reader,
                input=below,
                expressions=tuple(shifted(e, place) for e in reader.expressions),
            )

        return n.rewrite_nodes(plan, change)

    def pruned(self, node: n.Node) -> n.Node:
        """A projection over what it reads."""
        if not isinstance(node, n.Project):
            return node
        below, kept = self._narrowed(node.input, _used(node.expressions))
        if below is node.input or below.inputs == (node.input,):
            return node
        place = _places(kept)
        expressions = tuple(shifted(e, place) for e in node.expressions)
        return n.Project(node.schema, below, expressions, origin=node.origin)

    def _narrowed(self, node: n.Node, needed: set[int]) -> Narrowed:
        """The node with at least the columns that are needed."""
        if node in self._shared:
            return _picked(node, needed)
        if isinstance(node, n.Project):
            return self._fewer(node, needed)
        if isinstance(node, n.Filter):
            below, kept = self._narrowed(node.input, needed | columns_used(node.condition))
            condition = shifted(node.condition, _places(kept))
            return _same(node, below, kept) or (n.Filter.of(below, condition), kept)
        if isinstance(node, n.WatermarkAssigner):
            return self._behind_watermark(node, needed)
        if isinstance(node, n.Rank | n.Deduplicate):
            return self._ranked(node, needed)
        if type(node) in (Join, IntervalJoin, WindowJoin):
            assert isinstance(node, Join)
            return self._joined(node, needed)
        return node, list(range(len(node.schema)))

    def _fewer(self, node: n.Project, needed: set[int]) -> Narrowed:
        """A projection with the needed columns alone."""
        kept = sorted(needed)
        if len(kept) == len(node.schema):
            return node, kept
        chosen = tuple(node.expressions[i] for i in kept)
        schema = Schema(tuple(node.schema[i] for i in kept))
        return self.pruned(replace(node, schema=schema, expressions=chosen)), kept

    def _behind_watermark(self, node: n.WatermarkAssigner, needed: set[int]) -> Narrowed:
        used = needed | {node.column} | (columns_used(node.watermark) if node.watermark else set())
        below, kept = self._narrowed(node.input, used)
        place = _places(kept)
        mark = None if node.watermark is None else shifted(node.watermark, place)
        schema = Schema(tuple(node.schema[i] for i in kept))
        narrow = replace(
            node, schema=schema, input=below, column=place(node.column), watermark=mark
        )
        return _same(node, below, kept) or (narrow, kept)

    def _ranked(self, node: n.Rank | n.Deduplicate, needed: set[int]) -> Narrowed:
        width = len(node.input.schema)
        if isinstance(node, n.Rank):
            own = {*node.partition, *(k.index for k in node.order), *(node.window or ())}
            own |= {*(node.rising or ())}
        else:
            own = {*node.keys, node.order}
        below, kept = self._kept_of(node.input, own | {i for i in needed if i < width})
        if below is node.input:
            return node, list(range(len(node.schema)))
        place = _places(kept)
        kept = [*kept, *range(width, len(node.schema))]
        schema = Schema(tuple(node.schema[i] for i in kept))
        if isinstance(node, n.Deduplicate):
            keys, order = _moved(node.keys, place), place(node.order)
            return replace(node, schema=schema, input=below, keys=keys, order=order), kept
        ranked = replace(
            node,
            schema=schema,
            input=below,
            partition=_moved(node.partition, place),
            order=tuple(_moved_key(k, place) for k in node.order),
            window=None if node.window is None else (place(node.window[0]), place(node.window[1])),
            rising=None if node.rising is None else _moved(node.rising, place),
        )
        return ranked, kept

    def _joined(self, node: Join, needed: set[int]) -> Narrowed:
        width = len(node.left.schema)
        used = needed | (set() if node.condition is None else columns_used(node.condition))
        own = {*node.left_keys}, {*node.right_keys}
        if isinstance(node, IntervalJoin):
            own[0].add(node.bounds.left_time)
            own[1].add(node.bounds.right_time)
        left, left_kept = self._kept_of(node.left, own[0] | {i for i in used if i < width})
        right, right_kept = self._kept_of(
            node.right, own[1] | {i - width for i in used if i >= width}
        )
        if left is node.left and right is node.right:
            return node, list(range(len(node.schema)))
        kept = [*left_kept, *(width + i for i in right_kept)]
        narrow = replace(
            node,
            schema=Schema(tuple(node.schema[i] for i in kept if i < len(node.schema))),
            left=left,
            right=right,
            condition=None if node.condition is None else shifted(node.condition, _places(kept)),
            left_keys=_moved(node.left_keys, _places(left_kept)),
            right_keys=_moved(node.right_keys, _places(right_kept)),
        )
        shown = [i for i in kept if i < len(node.schema)]
        return _timed(narrow, _places(left_kept), _places(right_kept)), shown

    def _kept_of(self, side: n.Node, used: set[int]) -> Narrowed:
        """An input without what is not used of it, even if its own node cannot leave that out.

        A join keeps its own keys: nothing comes between it and the one above, with which it may
        become one operator.
        """
        below, kept = self._narrowed(side, used)
        if set(kept) == used or type(below) is Join:
            return below, kept
        place, kept = _places(kept), sorted(used)
        columns = [below.schema.column(place(i)) for i in kept]
        return n.Project.of(below, columns, [side.schema[i].name for i in kept]), kept


def _picked(node: n.Node, needed: set[int]) -> Narrowed:
    """Some columns of a node, which keeps all."""
    kept = sorted(needed)
    if len(kept) == len(node.schema):
        return node, kept
    columns = [node.schema.column(i) for i in kept]
    return n.Project.of(node, columns, [node.schema[i].name for i in kept]), kept


def _timed(node: Join, left: Callable[[int], int], right: Callable[[int], int]) -> Join:
    """The columns of time by which rows are joined have moved as well."""
    if isinstance(node, IntervalJoin):
        b = node.bounds
        moved = replace(b, left_time=left(b.left_time), right_time=right(b.right_time))
        return replace(node, bounds=moved)
    if isinstance(node, WindowJoin):
        first, second = node.windows
        windows = first.attached(left(first.time)), second.attached(right(second.time))
        return replace(node, windows=windows)
    return node


def _same(node: n.OneInput, below: n.Node, kept: list[int]) -> Narrowed | None:
    return (node, kept) if below is node.input else None


def _used(expressions: Iterable[object]) -> set[int]:
    return {i for e in expressions for i in columns_used(e)}  # type: ignore[arg-type]


def _places(kept: list[int]) -> Callable[[int], int]:
    """Where columns are now."""
    return {old: new for new, old in enumerate(kept)}.__getitem__


def _moved(columns: tuple[int, ...], place: Callable[[int], int]) -> tuple[int, ...]:
    return tuple(place(i) for i in columns)


def _moved_key(key: SortKey, place: Callable[[int], int]) -> SortKey:
    return replace(key, index=place(key.index))
