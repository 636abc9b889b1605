"""A job graph as a picture (SVG), for notebooks and pages."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass

from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobEdge, JobGraph, JobVertex

__all__ = ["svg_of"]

_CHARACTERS = 26
_CHARACTER_PX = 7.3
_LINE_PX = 17
_PAD_PX = 10
_BOX_PX = int(_CHARACTERS * _CHARACTER_PX) + 2 * _PAD_PX
_BETWEEN_PX = 110
_GAP_PX = 22
_MARGIN_PX = 6

_ARROW = (
    '<marker id="headrace-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker>'
)


@dataclass(frozen=True)
class _Box:
    """Where a chain of operators is drawn, and what is written in it."""

    x: int
    y: int
    lines: tuple[str, ...]

    @property
    def height(self) -> int:
        return len(self.lines) * _LINE_PX + 2 * _PAD_PX

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


def svg_of(job_graph: JobGraph) -> str:
    """Chains as boxes from left to right, with what is between them on the arrows.

    It takes the colour of the text around it, so that it is fine on light and on dark pages.
    """
    boxes = _placed(job_graph)
    width = max(box.x for box in boxes.values()) + _BOX_PX + _MARGIN_PX
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN_PX
    edges = [(e, boxes[v.id]) for v in job_graph.vertices for e in v.in_edges]
    drawn = [_arrow(boxes[e.source_vertex], target, e) for e, target in edges]
    drawn += [_drawn(box) for box in boxes.values()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13" role="img" '
        f'aria-label="{_text(job_graph.job_name)}"><defs>{_ARROW}</defs>{"".join(drawn)}</svg>'
    )


def _placed(job_graph: JobGraph) -> dict[VertexId, _Box]:
    """Each box right of all that it reads from; those of a column below each other."""
    columns: dict[VertexId, int] = {}
    bottoms: dict[int, int] = {}
    boxes: dict[VertexId, _Box] = {}
    for vertex in job_graph.vertices:
        column = max((columns[e.source_vertex] + 1 for e in vertex.in_edges), default=0)
        columns[vertex.id] = column
        top = bottoms.get(column, _MARGIN_PX)
        box = _Box(_MARGIN_PX + column * (_BOX_PX + _BETWEEN_PX), top, _lines(vertex))
        boxes[vertex.id] = box
        bottoms[column] = top + box.height + _GAP_PX
    return boxes


def _lines(vertex: JobVertex) -> tuple[str, ...]:
    names = [textwrap.shorten(o.name, 2 * _CHARACTERS, placeholder="~") for o in vertex.operators]
    folded = [line for name in names for line in textwrap.wrap(name, _CHARACTERS) or [""]]
    return (*folded, f"parallelism {vertex.parallelism}")


def _drawn(box: _Box) -> str:
    last = len(box.lines) - 1
    lines = "".join(
        f'<text x="{box.x + _PAD_PX}" y="{box.y + _PAD_PX + 13 + n * _LINE_PX}" '
        f'fill="currentColor"{" opacity=" + chr(34) + "0.65" + chr(34) if n == last else ""}>'
        f"{_text(line)}</text>"
        for n, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{_BOX_PX}" height="{box.height}" rx="6" '
        f'fill="none" stroke="currentColor"/>{lines}'
    )


def _arrow(source: _Box, target: _Box, edge: JobEdge) -> str:
    x1, y1, x2, y2 = source.x + _BOX_PX, source.middle, target.x, target.middle
    bend = (x2 - x1) // 2
    words = edge.partitioning.ship_strategy.lower()
    if edge.tag is not None:
        words += f", {edge.tag.tag_id}"
    return (
        f'<path d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}" fill="none" '
        'stroke="currentColor" marker-end="url(#headrace-arrow)"/>'
        f'<text x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2 - 6}" text-anchor="middle" '
        f'font-size="11" fill="currentColor">{_text(words)}</text>'
    )


def _text(text: str) -> str:
    return html.escape(text)
