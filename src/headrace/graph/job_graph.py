"""The job graph: vertices, each a chain of operators that pass records by a function call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import GraphError
from headrace.graph.ids import NodeId, OperatorId, VertexId
from headrace.graph.partitioning import Forward, Partitioning
from headrace.graph.specs import OperatorSpec
from headrace.graph.stream_graph import StreamEdge, StreamGraph, StreamNode, rescaled
from headrace.graph.transformation import Chaining


@dataclass(frozen=True)
class ChainedOperator:
    """An operator inside a vertex, with what the runtime must know about it."""

    node: NodeId
    operator_id: OperatorId
    uid: str | None
    name: str
    spec: OperatorSpec
    convert_to: Any
    keyed: bool


@dataclass(frozen=True)
class ChainedEdge:
    """A function call from one operator of the chain to another."""

    source: NodeId
    target: NodeId
    tag: Any = None


@dataclass(frozen=True)
class JobEdge:
    """An exchange between two vertices."""

    index: int
    source_vertex: VertexId
    source_node: NodeId
    target_vertex: VertexId
    input_index: int
    partitioning: Partitioning
    tag: Any = None


@dataclass(frozen=True)
class JobVertex:
    """What is scheduled: a chain of operators, at one parallelism.

    `operators[0]` is the head of the chain, the rest follow in topological order.
    """

    id: VertexId
    name: str
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    operators: tuple[ChainedOperator, ...]
    chained_edges: tuple[ChainedEdge, ...]
    in_edges: tuple[JobEdge, ...]
    out_edges: tuple[JobEdge, ...]
    batch: bool = False
    object_reuse: bool = False

    @property
    def is_source(self) -> bool:
        return not self.in_edges


@dataclass(frozen=True)
class JobGraph:
    """All vertices of a job, in topological order."""

    job_name: str
    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]
    stream_graph: StreamGraph | None = field(default=None, repr=False, compare=False)

    def vertex(self, vertex_id: VertexId) -> JobVertex:
        """The vertex with this id."""
        return next(v for v in self.vertices if v.id == vertex_id)

    def rescaled(self, parallelism: int) -> JobGraph:
        """The same job at another default parallelism; vertices may differ, operator ids do not."""
        if self.stream_graph is None:
            raise GraphError(f"job {self.job_name!r} was not built from a program")
        if self.stream_graph.batch:
            raise GraphError(
                f"job {self.job_name!r} runs in batch mode, where there is nothing to continue "
                "from: run it again with another parallelism"
            )
        return build_job_graph(rescaled(self.stream_graph, parallelism))


def is_chainable(graph: StreamGraph, edge: StreamEdge) -> bool:
    """Whether both ends of the edge share a vertex."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return (
        graph.chaining_enabled
        and isinstance(edge.partitioning, Forward)
        and source.parallelism == target.parallelism
        and source.slot_sharing_group == target.slot_sharing_group
        and len(target.in_edges) == 1
        and target.chaining is Chaining.ALWAYS
        and source.chaining is not Chaining.NEVER
    )


def build_job_graph(graph: StreamGraph) -> JobGraph:
    """Chain what can be chained."""
    head_of: dict[NodeId, NodeId] = {}
    for node in graph.nodes.values():
        chained_to = next((e for e in node.in_edges if is_chainable(graph, e)), None)
        head_of[node.id] = head_of[chained_to.source] if chained_to else node.id
    members: dict[NodeId, list[StreamNode]] = {}
    for node in graph.nodes.values():
        members.setdefault(head_of[node.id], []).append(node)
    edges = _job_edges(graph, head_of)
    vertices = tuple(_vertex(graph, chain, edges) for chain in members.values())
    return JobGraph(graph.job_name, vertices, edges, graph)


def _vertex_id(graph: StreamGraph, head: NodeId) -> VertexId:
    return VertexId(graph.operator_ids[head])


def _job_edges(graph: StreamGraph, head_of: dict[NodeId, NodeId]) -> tuple[JobEdge, ...]:
    crossing = [
        e for n in graph.nodes.values() for e in n.in_edges if head_of[e.target] == e.target
    ]
    return tuple(
        JobEdge(
            index,
            _vertex_id(graph, head_of[e.source]),
            e.source,
            _vertex_id(graph, e.target),
            e.input_index,
            e.partitioning,
            e.tag,
        )
        for index, e in enumerate(crossing)
    )


def _vertex(graph: StreamGraph, chain: list[StreamNode], edges: tuple[JobEdge, ...]) -> JobVertex:
    head = chain[0]
    vertex_id = _vertex_id(graph, head.id)
    inside = {n.id for n in chain}
    chained = tuple(
        ChainedEdge(e.source, e.target, e.tag)
        for n in chain
        if n is not head
        for e in n.in_edges
        if e.source in inside
    )
    return JobVertex(
        id=vertex_id,
        name=_vertex_name(chain, chained),
        parallelism=head.parallelism,
        max_parallelism=head.max_parallelism,
        slot_sharing_group=head.slot_sharing_group,
        operators=tuple(
            ChainedOperator(
                n.id,
                graph.operator_ids[n.id],
                n.uid,
                n.name,
                n.spec,
                n.output_type if n.converts else None,
                n.keyed,
            )
            for n in chain
        ),
        chained_edges=chained,
        in_edges=tuple(e for e in edges if e.target_vertex == vertex_id),
        out_edges=tuple(e for e in edges if e.source_vertex == vertex_id),
        batch=graph.batch,
        object_reuse=graph.object_reuse,
    )


def _vertex_name(chain: list[StreamNode], edges: tuple[ChainedEdge, ...]) -> str:
    """Flink's form: `a -> b`, and `a -> (b, c -> d)` where a chain forks."""
    by_source: dict[NodeId, list[NodeId]] = {}
    for edge in edges:
        by_source.setdefault(edge.source, []).append(edge.target)
    names: dict[NodeId, str] = {}
    for node in reversed(chain):
        tails = [names[t] for t in by_source.get(node.id, [])]
        if not tails:
            names[node.id] = node.name
        elif len(tails) == 1:
            names[node.id] = f"{node.name} -> {tails[0]}"
        else:
            names[node.id] = f"{node.name} -> ({', '.join(tails)})"
    return names[chain[0].id]
