"""A program in writing: Flink's JSON plan, and a text with levels, vertices and partitioning."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from headrace.graph.job_graph import JobGraph, JobVertex, build_job_graph
from headrace.graph.partitioning import KeyBy
from headrace.graph.physical_graph import build_physical_graph
from headrace.graph.specs import SinkSpec
from headrace.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


def plan_json(graph: StreamGraph) -> str:
    """Nodes with id, type, pact, contents, parallelism and predecessors, sinks last.

    As in PyFlink, what computes the keys of `key_by()` is a node of its own, and so are the writer
    and the committer of a sink.
    """
    plan = _JsonPlan(graph)
    for node in sorted(graph.nodes.values(), key=lambda n: n.is_sink):
        plan.add(node)
    return json.dumps({"nodes": plan.nodes}, indent=2, separators=(",", " : "))


class _JsonPlan:
    def __init__(self, graph: StreamGraph) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._graph = graph
        self._more_ids = count(max(graph.nodes, default=0) + 1)
        self._keys: dict[tuple[Any, ...], int] = {}

    def add(self, node: StreamNode) -> None:
        inputs = [(self._origin(e), e.partitioning.ship_strategy) for e in node.in_edges]
        parts = node.spec.parts if isinstance(node.spec, SinkSpec) else ()
        if not parts:
            pact = "Data Source" if node.is_source else "Data Sink" if node.is_sink else "Operator"
            self._node(node.id, node.name, node, inputs, pact)
            return
        # A sink that has no name is called after its writer.
        own_name = node.name.removeprefix("Sink: ")
        prefix = "Sink" if own_name == parts[0] else own_name
        part_id: int = node.id
        for part in parts:
            self._node(part_id, f"{prefix}: {part}", node, inputs)
            inputs = [(part_id, "FORWARD")]
            part_id = next(self._more_ids)

    def _origin(self, edge: StreamEdge) -> int:
        """The node that records come from: the one that computes their keys, if there is one."""
        if not isinstance(edge.partitioning, KeyBy):
            return edge.source
        which = (edge.source, edge.tag and edge.tag.tag_id, id(edge.partitioning))
        if which not in self._keys:
            self._keys[which] = next(self._more_ids)
            source = self._graph.nodes[edge.source]
            inputs = [(int(edge.source), "FORWARD")]
            self._node(self._keys[which], "_stream_key_by_map_operator", source, inputs)
        return self._keys[which]

    def _node(
        self,
        node_id: int,
        name: str,
        node: StreamNode,
        inputs: list[tuple[int, str]],
        pact: str = "Operator",
    ) -> None:
        described: dict[str, Any] = {
            "id": node_id,
            "type": name,
            "pact": pact,
            "contents": node.description if name == node.name and node.description else name,
            "parallelism": node.parallelism,
        }
        if inputs:
            described["predecessors"] = [
                {"id": origin, "ship_strategy": strategy, "side": "second"}
                for origin, strategy in inputs
            ]
        self.nodes.append(described)


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
