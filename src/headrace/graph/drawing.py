"""A job graph as boxes and arrows for a terminal."""

from __future__ import annotations

from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobEdge, JobGraph, JobVertex

__all__ = ["drawing_of"]

_WIDEST = 96


def drawing_of(job_graph: JobGraph) -> str:
    """Vertices as boxes from top to bottom.

    An arrow leads from the box above; what comes from further up is written beside it.
    """
    numbers = {v.id: f"[{n}]" for n, v in enumerate(job_graph.vertices, 1)}
    titles = {v.id: _title(numbers[v.id], v) for v in job_graph.vertices}
    width = min(max(map(len, titles.values())), _WIDEST)
    lines: list[str] = []
    above: JobVertex | None = None
    for vertex in job_graph.vertices:
        lines += _arrows(vertex, above, numbers, width)
        lines.append("┌" + "─" * (width + 2) + "┐")
        title = titles[vertex.id]
        lines += [f"│ {part.ljust(width)} │" for part in _folded(title, width)]
        lines.append("└" + "─" * (width + 2) + "┘")
        above = vertex
    return "\n".join(lines)


def _title(number: str, vertex: JobVertex) -> str:
    return f"{number} {vertex.name}  x{vertex.parallelism}"


def _folded(text: str, width: int) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]


def _arrows(
    vertex: JobVertex, above: JobVertex | None, numbers: dict[VertexId, str], width: int
) -> list[str]:
    if not vertex.in_edges:
        return [] if above is None else [""]
    middle = " " * (width // 2 + 1)
    direct = [e for e in vertex.in_edges if above is not None and e.source_vertex == above.id]
    others = [e for e in vertex.in_edges if e not in direct]
    texts = [_way(e, "") for e in direct]
    texts += [_way(e, f" from {numbers[e.source_vertex]}") for e in others]
    stem = "│" if direct else "╷"
    return [f"{middle}{stem} {text}" for text in texts] + [f"{middle}▼"]


def _way(edge: JobEdge, source: str) -> str:
    side = "" if edge.tag is None else f", side output {edge.tag.tag_id!r}"
    return f"{edge.partitioning.ship_strategy.lower()}{source}{side}"
