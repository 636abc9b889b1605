"""A program in writing: Flink's JSON plan, and a text with levels, vertices and partitioning."""

from __future__ import annotations

import json
from typing import Any

from headrace.graph.job_graph import JobGraph, JobVertex, build_job_graph
from headrace.graph.physical_graph import build_physical_graph
from headrace.graph.stream_graph import StreamGraph, StreamNode


def plan_json(graph: StreamGraph) -> str:
    """Nodes with id, type, pact, contents, parallelism and predecessors, sinks last."""
    nodes = sorted(graph.nodes.values(), key=lambda n: n.is_sink)
    return json.dumps({"nodes": [_node_json(n) for n in nodes]}, indent=2, separators=(",", " : "))


def _node_json(node: StreamNode) -> dict[str, Any]:
    pact = "Data Source" if node.is_source else "Data Sink" if node.is_sink else "Operator"
    described: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": pact,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if node.in_edges:
        described["predecessors"] = [
            {"id": e.source, "ship_strategy": e.partitioning.ship_strategy, "side": "second"}
            for e in node.in_edges
        ]
    return described


def plan_text(graph: StreamGraph) -> str:
    """The job as it will run: a level is a Spark stage, a line in it is a vertex."""
    job_graph = build_job_graph(graph)
    physical = build_physical_graph(job_graph)
    level_of = {p.vertex: level for level, ps in enumerate(physical.levels) for p in ps}
    names = {v.id: f"[{number}]" for number, v in enumerate(job_graph.vertices, 1)}
    operators = sum(len(v.operators) for v in job_graph.vertices)
    lines = [
        f"Job {graph.job_name!r}: {operators} operators in {len(job_graph.vertices)} vertices, "
        f"{sum(v.parallelism for v in job_graph.vertices)} subtasks in {physical.slots} slots, "
        f"{len(physical.levels)} levels"
    ]
    for level in range(len(physical.levels)):
        lines.append(f"Level {level}")
        for vertex in job_graph.vertices:
            if level_of[vertex.id] == level:
                lines += _vertex_lines(job_graph, vertex, names)
    return "\n".join(lines)


def _vertex_lines(job_graph: JobGraph, vertex: JobVertex, names: dict[Any, str]) -> list[str]:
    group = vertex.slot_sharing_group
    where = "" if group == "default" else f", slot sharing group {group!r}"
    lines = [f"  {names[vertex.id]} {vertex.name}  (x{vertex.parallelism}{where})"]
    for edge in vertex.in_edges:
        source = job_graph.vertex(edge.source_vertex)
        side = "" if edge.tag is None else f", side output {edge.tag.tag_id!r}"
        which = f", input {edge.input_index + 1}" if _inputs(vertex) > 1 else ""
        lines.append(
            f"      <- {edge.partitioning.ship_strategy.lower()} from {names[source.id]} "
            f"(x{source.parallelism}){which}{side}"
        )
    uids = [o.uid for o in vertex.operators if o.uid]
    if uids:
        lines.append(f"      uids: {', '.join(uids)}")
    return lines


def _inputs(vertex: JobVertex) -> int:
    return len({e.input_index for e in vertex.in_edges})
